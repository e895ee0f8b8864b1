"""Where a plan cannot be written, that is said before anything is searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.app.plan.job import PlanRequest, planned_document
from rt_sched.errors import DeploymentError


def _refused(request: PlanRequest) -> str:
    told: list[str] = []
    with pytest.raises(DeploymentError) as refused:
        planned_document(request, told.append)
    assert told == []
    return str(refused.value)


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    nowhere, there = tmp_path / "no" / "plan.yaml", tmp_path / "plan.yaml"
    there.write_text("mine")
    assert f"{nowhere.parent} is no folder to write to" in _refused(PlanRequest("quad_orin", output=nowhere))
    assert "is a folder" in _refused(PlanRequest("quad_orin", output=tmp_path, force=True))
    assert "exists already; give another name, or --force" in _refused(PlanRequest("quad_orin", output=there))
    tables = PlanRequest("quad_orin", tables="all", tables_output=nowhere)
    assert "is no folder to write to" in _refused(tables)
    assert there.read_text() == "mine"
