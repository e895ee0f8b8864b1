"""Where and on what a piece of evidence was made."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numba
import numpy as np

#: Folders with anything that results depend on.
SOURCES = (
    "rt_sched",
    "safety",
    "sensors",
    "pipelines",
    "hw",
    "examples",
    "replay_data",
    "tests",
    "benchmarks/evidence",
)


def commit_of(root: Path) -> str:
    """The commit, with `-dirty` when tracked files among `SOURCES` differ from it."""
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *SOURCES)
    return commit + ("-dirty" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def describe_run(root: Path) -> dict[str, object]:
    """Commit, time and machine, as entries of a result."""
    return {
        "commit": commit_of(root),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "processor": _processor_name(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
    }


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
