"""The fault `link.loss` in a paced run of the example with a network: what is lost, who notices it, what goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import EventKind, JobStatus
from rt_sched.units import NS_PER_MS

from .conftest import ROOT, Ended, lacking, require
from .test_faults import Faulted
from .test_links import columns

SCRIPT = """
rt_sched_faults: 1
faults: {cable: {kind: link.loss, target: ethernet, at: 1.2s, for: 800ms}}
"""
BEGIN_NS, END_NS = 1200 * NS_PER_MS, 2000 * NS_PER_MS
#: What is sent until then is delivered before the run ends.
LAST_NS = 2800 * NS_PER_MS


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Ended:
    require(tiers, "fifo")
    folder: Path = tmp_path_factory.mktemp("cut")
    (folder / "system.yaml").write_text((ROOT / "examples" / "host_linked.yaml").read_text())
    (folder / "script.yaml").write_text(SCRIPT)
    found = Faulted(folder, "--tier", "fifo", "--duration", "3s").end()
    assert found.code in (0, 1, 3), found.errors
    return found


def _row(ended: Ended) -> dict[str, Any]:
    (row,) = ended.summary["faults"]
    return row  # type: ignore[no-any-return]


def test_the_signs_of_life_over_the_link_stay_away(ended: Ended) -> None:
    row = _row(ended)
    assert row["verdict"] in ("detected", "late") and row["detected_by"] == "heartbeat"
    assert 0 <= row["begin_ns"] - BEGIN_NS < 100 * NS_PER_MS
    assert row["end_ns"] - row["begin_ns"] == END_NS - BEGIN_NS
    assert row["worst_case_ns"] == 21_300_000


def test_the_summary_has_the_last_sign(ended: Ended) -> None:
    (link,) = json.loads((ended.folder / "summary.json").read_text())["links"]
    begin_ns = _row(ended)["begin_ns"]
    first = next(one for one in link["notices"] if one["noticed_ns"] >= begin_ns)
    # What was on its way may be handed on late where others use the host.
    assert first["last_sign_ns"] < min(begin_ns + 100 * NS_PER_MS, first["noticed_ns"])
    assert link["messages"] > link["delivered"] > 0


def test_the_summary_tells_of_the_earliest_notice(ended: Ended) -> None:
    summary = json.loads((ended.folder / "summary.json").read_text())
    ((link,), (fault,)) = summary["links"], summary["faults"]
    first_ns = min(one["noticed_ns"] for one in link["notices"] if one["noticed_ns"] >= fault["time_ns"])
    assert fault["fault"] == "link:ethernet" and fault["detected_by"] == "heartbeat"
    assert fault["detected_after_ns"] == first_ns - fault["time_ns"]


def test_nothing_goes_over_it_meanwhile_and_everything_afterwards(ended: Ended) -> None:
    begin_ns, end_ns = _row(ended)["begin_ns"], _row(ended)["end_ns"]
    sent = columns(ended.folder, "transfers")
    during = (begin_ns <= sent["queued_ns"]) & (sent["queued_ns"] < end_ns)
    assert during.any() and (sent["start_ns"][during] == -1).all()
    there = sent["delivered_ns"][sent["delivered_ns"] >= 0]
    assert not ((begin_ns <= there) & (there < end_ns)).any()
    assert (there < begin_ns).any()
    after = (end_ns <= sent["queued_ns"]) & (sent["queued_ns"] < LAST_NS)
    assert after.any(), lacking(ended.folder, last_sent_ns=int(sent["queued_ns"].max()), end_ns=end_ns)
    assert (sent["delivered_ns"][after] >= sent["end_ns"][after]).all(), sent["delivered_ns"][after]
    infer = _names(ended).index("infer_front_wide")
    jobs = columns(ended.folder, "jobs")
    arrivals = jobs["arrival_ns"][jobs["task"] == infer]
    assert not ((begin_ns <= arrivals) & (arrivals < end_ns)).any()
    assert (arrivals >= end_ns).any(), lacking(ended.folder, last_arrival_ns=int(arrivals.max()), end_ns=end_ns)


def test_the_trace_tells_when_it_was_lost(ended: Ended) -> None:
    events = columns(ended.folder, "events")
    for kind, time_ns in ((EventKind.LINK_LOST, "begin_ns"), (EventKind.LINK_RETURNED, "end_ns")):
        assert events["time_ns"][events["kind"] == kind].tolist() == [_row(ended)[time_ns]]


def test_the_backup_goes_on(ended: Ended) -> None:
    jobs, backup = columns(ended.folder, "jobs"), _names(ended).index("backup")
    finished = jobs["finish_ns"][(jobs["task"] == backup) & (jobs["status"] == JobStatus.COMPLETED)]
    during = (finished > _row(ended)["begin_ns"]) & (finished < _row(ended)["end_ns"])
    assert during.any() and np.median(np.diff(finished)) < 200 * NS_PER_MS


def _names(ended: Ended) -> list[str]:
    return [row["name"] for row in json.loads((ended.folder / "summary.json").read_text())["tasks"]]
