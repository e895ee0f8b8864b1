"""The status of a run names the worst that happened, and nothing that is missing passes as ok."""

import pytest

from rt_sched.app.runs.status import LateJobs, Losses, run_status

MS = 1_000_000
AFTER_NS = 33 * MS


def chain(**changes):
    row = {"name": "brake", "path": ["front", "detect", "brake"], "outputs": 100, "unreflected": 1}
    for kind in ("reaction", "latency", "data_age"):
        row |= {f"{kind}_max_ns": 40 * MS, f"{kind}_limit_ns": 50 * MS}
    return row | {"open_reaction_ns": 60 * MS, "judged_until_ns": None} | changes


def fault(**changes):
    return {"fault": "camera:front@1s", "recovered_after_ns": 80 * MS, "recovery_limit_ns": 100 * MS} | changes


def status_of(
    *,
    tasks=None,
    limited=(),
    chains=None,
    faults=(),
    losses=None,
    trace_check=None,
    arbiter_states=("NOMINAL",),
    **more,
):
    return run_status(
        late=[LateJobs(name, jobs) for name, jobs in (tasks or {}).items()] + list(limited),
        chains=[chain()] if chains is None else chains,
        faults=faults,
        trace_check=trace_check or {"violations": [], "violation_counts": {}},
        losses=losses or Losses(),
        arbiter_states=arbiter_states,
        after_recording_ns=AFTER_NS,
        **{"violated": None, "tripped": None} | more,
    )


def test_an_arbiter_that_died_is_never_ok():
    status, reason = status_of(arbiter_states=("NOMINAL", "SILENT"), faults=[fault()])
    assert status == "deadline_miss"
    assert "no command any more" in reason


def test_a_chain_that_a_fault_broke_before_its_first_output_is_not_incomplete():
    assert status_of(chains=[chain(outputs=0, judged_until_ns=0)], faults=[fault()])[0] == "ok"


def test_a_trace_that_breaks_a_rule_is_a_defect_before_anything_else():
    violation = {"rule": "priority", "where": "cpu.0", "time_ns": 3 * MS, "expected": "the more urgent job runs"}
    found = {"violations": [violation], "violation_counts": {"priority": 2}}
    status, reason = status_of(tasks={"late": 3}, trace_check=found)
    assert status == "failed"
    assert "the scheduling rules 2 times, first cpu.0 at 3.000 ms: the more urgent job runs" in reason


def test_an_exceeded_bound_comes_before_a_miss_and_a_broken_assumption_after_it():
    assert status_of(tasks={"late": 3}, violated="a #1: too long") == ("bound_violated", "a #1: too long")
    assert status_of(tasks={"late": 3}, tripped="jitter broke")[0] == "deadline_miss"
    assert status_of(tripped="jitter broke") == ("assumption_violated", "jitter broke")
    status, reason = status_of(losses=Losses(messages=2), tripped="jitter broke")
    assert status == "incomplete"
    assert reason.endswith("could not be decoded; jitter broke")


def test_minimal_risk_is_never_ok_unless_a_fault_was_injected():
    risk = ("STARTING", "MINIMAL_RISK")
    status, reason = status_of(arbiter_states=risk)
    assert status == "incomplete"
    assert "MINIMAL_RISK without an injected fault" in reason
    assert status_of(arbiter_states=risk, faults=[fault()])[0] == "ok"


def test_ok_when_nothing_is_late_and_nothing_is_missing():
    assert status_of(faults=[fault()])[0] == "ok"


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"tasks": {"a": 1, "b": 3}}, "deadline_miss", "4 jobs missed their deadline, 3 of them of task b"),
        (
            {"chains": [chain(latency_max_ns=51 * MS)]},
            "deadline_miss",
            "chain brake: latency 51.000 ms is over its limit of 50.000 ms",
        ),
        (
            {"chains": [chain(open_reaction_ns=500 * MS, unreflected=14)]},
            "deadline_miss",
            "chain brake: no reaction for the last 467.000 ms; the limit is 50.000 ms",
        ),
        (
            {"faults": [fault(recovered_after_ns=None)]},
            "deadline_miss",
            "fault camera:front@1s: not recovered; the limit is 100.000 ms",
        ),
        (
            {"faults": [fault(recovered_after_ns=101 * MS)]},
            "deadline_miss",
            "fault camera:front@1s: recovered after 101.000 ms; the limit is 100.000 ms",
        ),
        ({"losses": Losses(damage="torn")}, "incomplete", "the recording is damaged: torn"),
        ({"losses": Losses(messages=2)}, "incomplete", "2 recorded messages were dropped or could not be decoded"),
        (
            {"losses": Losses(quarantined=3)},
            "incomplete",
            "3 recorded messages were quarantined, as their stamps jump or step back",
        ),
        (
            {"losses": Losses(messages=2, quarantined=3)},
            "incomplete",
            "2 recorded messages were dropped or could not be decoded, 3 were quarantined",
        ),
        ({"losses": Losses(dropped_outputs=3)}, "incomplete", "3 messages between tasks were dropped"),
        (
            {"losses": Losses(refused_jobs=4)},
            "incomplete",
            "4 jobs published nothing, as a stage refused its input",
        ),
        (
            {"chains": [chain(outputs=0, open_reaction_ns=None)]},
            "incomplete",
            "no output on chain brake",
        ),
        (
            {"chains": [chain(open_reaction_ns=500 * MS, unreflected=0)]},
            "incomplete",
            "front delivered nothing in the last 467.000 ms, more than chain brake allows",
        ),
    ],
)
def test_what_is_wrong_is_named(changes, status, reason):
    assert status_of(**changes) == (status, reason)


def limited(**changes):
    return LateJobs(**{"task": "log", "jobs": 7, "limit": (1, 5), "most": 1} | changes)


def test_misses_within_a_limit_are_no_miss():
    status, reason = status_of(limited=[limited()])
    assert status == "ok"
    assert reason.endswith("every chain limit was met, and 7 misses are within miss limits")


def test_a_broken_miss_limit_is_a_miss_and_comes_after_tasks_that_may_not_miss_at_all():
    over = limited(most=3, first_over=9)
    reason = "task log: 3 of 5 consecutive jobs missed their deadline, and 1 may; first over that is job 9"
    assert status_of(limited=[limited(task="other"), over]) == ("deadline_miss", reason)
    status, reason = status_of(tasks={"a": 2}, limited=[over])
    assert (status, reason) == ("deadline_miss", "2 jobs missed their deadline, 2 of them of task a")


def test_a_miss_comes_before_what_is_missing():
    assert status_of(tasks={"a": 1}, losses=Losses(messages=1))[0] == "deadline_miss"


@pytest.mark.parametrize(
    "changes",
    [
        {"open_reaction_ns": 50 * MS + AFTER_NS},
        {"open_reaction_ns": 5000 * MS, "judged_until_ns": 1000 * MS},
        {"open_reaction_ns": 5000 * MS, "reaction_limit_ns": None},
    ],
    ids=["exactly at the limit", "broken by a fault", "no limit"],
)
def test_waiting_at_the_end_that_no_limit_forbids_is_ok(changes):
    assert status_of(chains=[chain(**changes)])[0] == "ok"
