"""The kernels as plain Python give what they give compiled, without a warning about an integer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from agreement_rows import rows

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("error")
sys.path.insert(0, sys.argv[1])
from agreement_rows import rows
print(json.dumps(rows()))
"""


def test_plain_python_agrees() -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(here)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=here.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == rows()
