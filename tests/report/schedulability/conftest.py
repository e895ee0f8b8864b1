"""Two small systems and the documents of their reports: one that is sound and has everything, one that is late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.report.job import ReportRequest, report_document

REVIEWED = (Path(__file__).parent / "reviewed.yaml").read_text()

LATE = """
rt_sched: 1
name: late
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 2}}}}
tasks:
  quick: {runs_on: ecu.cpu, core: 0, activation: {period: 10ms}, execution: {wcet: 4ms}}
  slow: {runs_on: ecu.cpu, core: 0, activation: {period: 20ms}, execution: {wcet: 9ms}, deadline: 14ms}
  spare: {runs_on: ecu.cpu, core: 1, activation: {period: 10ms}, execution: {wcet: 2ms}}
"""

Report = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def report_on(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The document on a system given as text, in a file of always the same name."""
    folder = tmp_path_factory.mktemp("systems")

    def make(text: str, **request: Any) -> dict[str, Any]:
        path = folder / "system.yaml"
        path.write_text(text, encoding="utf-8")
        return report_document(ReportRequest(str(path), **{"margins": False, **request}), lambda _: None)

    return make


@pytest.fixture(scope="session")
def reviewed_text() -> str:
    return REVIEWED


@pytest.fixture(scope="session")
def reviewed(report_on: Report) -> dict[str, Any]:
    return report_on(REVIEWED)


@pytest.fixture(scope="session")
def late(report_on: Report) -> dict[str, Any]:
    return report_on(LATE, margins=True)
