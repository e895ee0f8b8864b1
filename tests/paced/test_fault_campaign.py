"""What benchmarks/evidence/paced_faults.py strikes: every kind that paced runs carry out, at what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from paced_faults import SYSTEM, scripts
from paced_kills import STAGES

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system_text
from rt_sched.faults.kinds import KINDS
from rt_sched.faults.script_file import load_script


def test_every_kind_is_in_one_of_its_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "busy_stages.py").write_text(STAGES)
    monkeypatch.syspath_prepend(str(tmp_path))
    system = load_system_text(SYSTEM, file_name="struck.yaml", base_dir=tmp_path, stages=ImportedStages())
    struck: set[str] = set()
    for number, text in enumerate(scripts(0, 0)):
        path = tmp_path / f"script{number}.yaml"
        path.write_text(text)
        struck |= {fault.kind_name for fault in load_script(path, system).faults}
    assert struck == {kind.name for kind in KINDS if kind.paced}
