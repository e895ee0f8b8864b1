"""What the arbiter makes of the reports of monitors: who is distrusted, and for whom nobody answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rt_sched.messages import ArbiterState, Command, SensorHealth, SensorTrust, SensorView, TrustState
from rt_sched.messages.e2e import E2EState, protect
from rt_sched.ports import JobContext, SensorDescription, StageContext
from safety.arbiter import ArbiterInputs, ArbiterMemory, ArbiterPolicy, PathInput, arbitrate
from safety.arbiter_stage import Arbiter
from safety.vouching import Vouching

MS = 1_000_000
SOURCE = "watch.health"
NOBODY: frozenset[str] = frozenset()
BOTH = frozenset({"front", "top"})


def report(at_ms: int, number: int, front: TrustState = TrustState.TRUSTED, source: str = SOURCE) -> SensorHealth:
    monitor = "black" if front is TrustState.DISTRUSTED else None
    sensors = (SensorTrust("front", front, monitor), SensorTrust("top", TrustState.TRUSTED))
    return protect(SensorHealth(at_ms * MS, sensors), source=source, counter=number, stamp_ns=at_ms * MS)


def vouching(grace_ms: int = 0) -> Vouching:
    return Vouching(SOURCE, 60 * MS, grace_ms * MS, 20 * MS, ("front", "top"))


def test_trusted_sensors_stay_so_until_the_report_is_too_old() -> None:
    one = vouching()
    assert one.look(report(100, 0), 110 * MS) == (NOBODY, NOBODY)
    assert one.look(report(100, 0), 160 * MS) == (NOBODY, NOBODY)
    assert one.look(report(100, 0), 160 * MS + 1) == (NOBODY, BOTH)
    assert one.look(report(170, 5), 175 * MS) == (NOBODY, NOBODY)


def test_a_distrusted_sensor_stays_so_while_nobody_reports() -> None:
    one = vouching()
    assert one.look(report(100, 0, TrustState.DISTRUSTED), 110 * MS) == ({"front"}, NOBODY)
    assert one.look(None, 300 * MS) == ({"front"}, BOTH)


def test_a_sensor_whose_monitors_begin_anew_is_not_vouched_for() -> None:
    one = vouching()
    assert one.look(report(100, 0, TrustState.STARTING), 110 * MS) == (NOBODY, {"front"})


def test_nothing_is_missed_in_the_grace() -> None:
    one = vouching(grace_ms=500)
    assert one.look(None, 0) == (NOBODY, NOBODY)
    assert one.look(report(100, 0, TrustState.STARTING), 110 * MS) == (NOBODY, NOBODY)
    assert one.look(report(490, 1, TrustState.STARTING), 500 * MS) == (NOBODY, {"front"})
    silent = vouching(grace_ms=500)
    silent.look(None, 0)
    assert silent.look(None, 500 * MS) == (NOBODY, BOTH)


@pytest.mark.parametrize(
    "other",
    [
        replace(report(150, 1), capture_time_ns=151 * MS),
        report(150, 1, source="somebody.health"),
        replace(report(150, 1), header=None),
        report(150, -1),
        "no report",
    ],
    ids=["changed", "of another source", "without a header", "out of sequence", "of another type"],
)
def test_what_is_no_good_report_keeps_nothing_alive(other: object) -> None:
    one = vouching()
    one.look(report(100, 0), 110 * MS)
    assert one.look(other, 161 * MS) == (NOBODY, BOTH)


def test_a_report_from_the_future_counts_no_more_than_an_old_one() -> None:
    assert vouching().look(report(200, 0), 110 * MS) == (NOBODY, BOTH)


POLICY = ArbiterPolicy(
    view_age_limit_ns={"front": 200 * MS},
    forward_sensors=("front",),
    backup_sensors=("top",),
    startup_grace_ns=0,
    minimal_risk_after_ns=10_000 * MS,
    recovery_commands=2,
)


def decided(distrusted: frozenset[str], unvouched: frozenset[str]) -> tuple[ArbiterState, str, tuple[str, ...], str]:
    """After two good commands of each path: state, whose command, stale sensors, reason."""
    memory = ArbiterMemory()
    for number in range(3):
        now_ns = number * 33 * MS
        views = (SensorView("front", now_ns),)
        first = Command(now_ns, "primary", number, 0.0, False, None, True, views)
        second = Command(now_ns, "backup", number, -0.5, False, None, True)
        inputs = ArbiterInputs(PathInput(first, E2EState.OK), PathInput(second, E2EState.OK))
        if number == 2:
            inputs = replace(inputs, distrusted=distrusted, unvouched=unvouched)
        memory, decision = arbitrate(memory, inputs, now_ns, POLICY)
    return decision.state, decision.selected, decision.stale_sensors, decision.reason


def test_the_arbiter_takes_another_path_when_monitors_distrust_what_one_rests_on() -> None:
    assert decided(NOBODY, NOBODY)[:3] == (ArbiterState.NOMINAL, "primary", ())
    state, selected, stale, reason = decided(frozenset({"front"}), NOBODY)
    assert (state, selected, stale) == (ArbiterState.BACKUP, "backup", ("front",))
    assert "fresh and trusted" in reason
    assert decided(frozenset({"top"}), NOBODY)[:2] == (ArbiterState.NOMINAL, "primary")
    assert decided(BOTH, NOBODY)[:2] == (ArbiterState.DEGRADED, "hold")


def test_the_primary_path_goes_on_degraded_when_nobody_vouches_for_its_views() -> None:
    assert decided(NOBODY, BOTH)[:3] == (ArbiterState.DEGRADED, "primary", ("front",))


def test_the_stage_asks_for_reports_only_where_they_come_in() -> None:
    sensors = {"front": SensorDescription("front", "camera", 33 * MS)}

    def last_state(sources: dict[str, str]) -> ArbiterState:
        stage = Arbiter(startup_grace_ms=0, health_age_limit_ms=60, recovery_commands=1)
        stage.start(StageContext("arbiter", Path(), sensors, sources=sources))
        for number in range(4):
            now_ns = number * 33 * MS
            command = Command(now_ns, "primary", number, 0.0, False, None, True, (SensorView("front", now_ns),))
            sent = protect(command, source="control.command", counter=number, stamp_ns=now_ns)
            job = JobContext("arbiter", number, now_ns, now_ns, now_ns, now_ns + 33 * MS)
            decision = stage.process(job, {"primary": sent})["decision"]
        return decision.state  # type: ignore[no-any-return]

    assert last_state({"primary": "control.command"}) is ArbiterState.NOMINAL
    assert last_state({"primary": "control.command", "health": SOURCE}) is ArbiterState.DEGRADED


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"health_age_limit_ms": 0}, "health_age_limit_ms: 0 is out of range; valid: from 1 to 10000"),
        ({"recovery_samples": 0}, "recovery_samples: 0 is out of range; valid: from 1 to 1000"),
    ],
)
def test_limits_out_of_range_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match="^" + words):
        Arbiter(**parameters)  # type: ignore[arg-type]
