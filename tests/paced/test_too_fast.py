"""A rate that this machine cannot keep: samples come late, which is counted; time goes on as asked, in order."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.trace.records import JobStatus, SampleStatus

from .conftest import Ended, Running

RATE = "40"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return Running(tmp_path_factory.mktemp("fast") / "run", "--tier", "user", "--rate", RATE).end()


def test_what_came_late_is_counted_and_the_run_is_not_ok(ended: Ended) -> None:
    feed = ended.summary["feed"]
    assert feed["late"] > 0 and feed["max_ns"] > feed["late_above_ns"]
    assert feed["published"] + feed["missing"] >= feed["late"]
    assert ended.code == 1 and ended.summary["status"] == "deadline_miss"
    assert ended.summary["rate"] == RATE


def test_time_is_not_stretched(ended: Ended) -> None:
    """Jobs of the clock arrive at its instants; what could not be served was left out, and says so."""
    arbiter = ended.jobs("arbiter")
    period_ns = int(np.diff(arbiter["arrival_ns"]).min())
    assert (arbiter["arrival_ns"] % period_ns == 0).all()
    assert (np.diff(arbiter["arrival_ns"]) == period_ns).all()
    left_out = arbiter["status"] == JobStatus.SUPPRESSED
    assert 0 < np.count_nonzero(left_out) < len(left_out)


def test_what_comes_keeps_its_order(ended: Ended) -> None:
    with np.load(ended.folder / "trace.npz") as file:
        columns = {key.removeprefix("samples."): file[key] for key in file.files if key.startswith("samples.")}
    delivered = columns["status"] == SampleStatus.DELIVERED
    for sensor in np.unique(columns["sensor"]):
        mine = delivered & (columns["sensor"] == sensor)
        assert (np.diff(columns["number"][mine]) > 0).all()
        assert (np.diff(columns["capture_ns"][mine]) > 0).all()
