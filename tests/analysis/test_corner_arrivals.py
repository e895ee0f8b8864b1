"""Runs of a few jobs whose arrivals, ties or switches delay more than a quick look tells, against the bounds.

Each case is simulated; the response that it shows is more than an analysis finds that overlooks the matter.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hand_made import bound, element, jobs_of, planned, samples, section, task, worst

from rt_sched.analysis.batch import Status, fp_response_times
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.analysis.theory.mixed_criticality import DualTiming, amc_rtb
from rt_sched.model import (
    Budget,
    Communication,
    CriticalityLevel,
    Edge,
    EdgeKind,
    Input,
    Join,
    OnMessage,
    OverrunAction,
    Periodic,
    Policy,
    Protocol,
    Sensor,
    SensorKind,
    Task,
)

EDF = Policy.EDF


def _sensor(name: str, period: int, jitter: int = 0) -> Sensor:
    return Sensor(
        name, SensorKind.CAMERA, Fraction(10**9, period), ("d",), (f"/{name}",), latency_ns=jitter, jitter_ns=jitter
    )


def _on(name: str, wcet: int, period: int, sources: tuple[str, ...], tolerance: int | None = None, **more: Any) -> Task:
    """A task that one message activates, or a pair whose stamps differ by at most `tolerance`."""
    inputs = tuple(
        Input(f"in{i}", source, "out" if source.startswith("t") else None, Edge(EdgeKind.QUEUE, 8))
        for i, source in enumerate(sources)
    )
    join = OnMessage(Join.LATEST, "in0") if tolerance is None else OnMessage(Join.ALL, None, tolerance)
    return task(name, wcet, period, activation=join, inputs=inputs, **more)


def test_an_output_at_the_deadline_comes_without_a_bound_on_the_response() -> None:
    tasks = [
        task("busy", 5, 8, pe="q", sections=(section(0, 1),)),
        task("tlet", 2, 20, pe="q", sections=(section(0, 2),), communication=Communication.LET),
        _on("after", 4, 20, ("tlet",)),
        task("low", 5, 50),
    ]
    system, plan = planned([element(), element("q")], tasks, {"r": Protocol.NONE})
    assert bound(system, plan, "tlet") is None
    jobs = jobs_of(system, plan, arrivals={"busy": [], "tlet": [0, 20, 40], "low": [20, 70]})
    assert worst(jobs, "low") == 5 + 4
    assert worst(jobs, "low") <= (bound(system, plan, "low") or 0)
    assert worst(jobs, "after") <= (bound(system, plan, "after") or 0)


def test_pairs_are_stamped_like_their_oldest_message() -> None:
    sensors = [_sensor("a", 40), _sensor("b", 40), _sensor("c", 40)]
    tasks = [_on("tpair", 1, 40, ("a", "b"), 10, pe="q"), _on("both", 3, 40, ("tpair", "c"), 10)]
    system, plan = planned([element(), element("q")], tasks, sensors=sensors)
    # Stamps of the first pair: 10, 0, and its third message 0; of the second: 50, 50, 60.
    given = samples((1, 0, 0), (2, 0, 0), (0, 10, 10), (0, 50, 50), (1, 50, 50), (2, 60, 60))
    (mode,) = mode_loads(system, plan)
    (stream,) = mode_bounds(mode, METHODS)[1].streams
    arrivals = [arrival for arrival, _ in jobs_of(system, plan, given=given)["both"]]
    assert len(arrivals) == 2
    assert stream.period_ns == 40
    assert abs(arrivals[1] - arrivals[0] - 40) <= stream.jitter_ns


@pytest.mark.parametrize("first", range(3))
def test_joins_of_joins_keep_to_their_streams(first: int) -> None:
    rng = np.random.default_rng(40 + first)
    sensors = [_sensor(name, 40) for name in "abc"]
    met = 0
    for _ in range(12):
        tolerance = [int(rng.integers(0, 15)) for _ in range(2)]
        tasks = [
            _on("tpair", 1, 40, ("a", "b"), tolerance[0], pe="q"),
            _on("both", 3, 40, ("tpair", "c"), tolerance[1]),
            task("low", 9, 400),
        ]
        system, plan = planned([element(), element("q")], tasks, sensors=sensors)
        shift = rng.integers(-10, 11, 3)
        rows = [(s, 100 + 40 * k + int(shift[s]), 100 + 40 * k + int(shift[s])) for k in range(6) for s in range(3)]
        given = samples(*sorted(rows, key=lambda row: row[2]))
        jobs = jobs_of(system, plan, 600, arrivals={"low": [0, 400]}, given=given)
        (mode,) = mode_loads(system, plan)
        for index, name in ((0, "tpair"), (1, "both")):
            (stream,) = mode_bounds(mode, METHODS)[index].streams
            late = [arrival - 40 * number for number, (arrival, _) in enumerate(jobs[name])]
            assert max(late, default=0) - min(late, default=0) <= stream.jitter_ns
            met += len(late) > 1
    assert met > 4


def test_a_throttled_server_may_let_others_pass_when_messages_come_early() -> None:
    task_of = _on("tserved", 5, 20, ("a",), budget_ns=5, budget=Budget(1, OverrunAction.THROTTLE))
    tasks = [task_of, task("other", 15, 40, 25)]
    system, plan = planned([element(policy=EDF)], tasks, sensors=[_sensor("a", 20, 10)])
    given = samples((0, 0, 20), (0, 20, 21))
    seen = worst(jobs_of(system, plan, arrivals={"other": [20]}, given=given), "tserved")
    logged = replace(task_of, budget=Budget(1, OverrunAction.LOG))
    free, _ = planned([element(policy=EDF)], [logged, tasks[1]], sensors=[_sensor("a", 20, 10)])
    assert seen == 24
    assert seen > (bound(free, plan, "tserved") or 0)
    assert bound(system, plan, "tserved") is None


@pytest.mark.parametrize("levels", [{"first": 0, "second": 1}, {"first": 1, "second": 0}])
def test_ties_of_deadlines_go_by_the_order_of_the_system(levels: dict[str, int]) -> None:
    rate = Periodic(Fraction(10**9, 10))
    tasks = [task("first", 2, 10, activation=rate), task("second", 3, 10, activation=rate)]
    system, plan = planned([element(policy=EDF)], tasks, levels=levels)
    jobs = jobs_of(system, plan)
    assert (worst(jobs, "first"), worst(jobs, "second")) == (2, 5)
    assert bound(system, plan, "first", "offset_simulation") == 2
    assert bound(system, plan, "second", "offset_simulation") == 5


@pytest.mark.parametrize("preemptive", [True, False])
def test_a_load_of_exactly_one_never_makes_up_for_a_delay(preemptive: bool) -> None:
    rng = np.random.default_rng(41)
    unending = plain = 0
    for _ in range(60):
        period = int(rng.integers(2, 9))
        share = int(rng.integers(1, period))
        late = int(rng.integers(0, 2) * rng.integers(0, period))
        tasks = [task("high", share, period), task("low", 2 * (period - share), 2 * period)]
        tasks[0] = replace(tasks[0], activation=replace(tasks[0].activation, jitter_ns=late))
        system, plan = planned([element(preemptive=preemptive)], tasks)
        columns = [[share, 2 * (period - share)]], [[period, 2 * period]], None, [[late, 0]]
        result = fp_response_times(*columns, preemptive=preemptive)
        begun = late + 1
        arrivals = {"high": [begun - late + k * period for k in range(30)], "low": range(begun, 300, 2 * period)}
        jobs = jobs_of(system, plan, 300, arrivals=arrivals, jitters={"high": [late]})
        for column, name in enumerate(("high", "low")):
            if Status(int(result.status[0, column])) is Status.OK:
                assert worst(jobs, name) <= result.response_ns[0, column]
                plain += column
            else:
                unending += 1
                assert result.response_ns[0, column] == -1
    assert plain > 10
    assert unending > 10


def _high(name: str, low: int, wcet: int, period: int, deadline: int | None = None) -> Task:
    one = task(name, wcet, period, deadline, level=CriticalityLevel.HI)
    return replace(one, execution=replace(one.execution, wcet_lo_ns=low))


def test_a_high_task_that_misses_in_low_mode_delays_longer_across_the_switch() -> None:
    tasks = [task("low", 4, 6), _high("missing", 3, 6, 13, 1), _high("mine", 1, 1, 30)]
    system, plan = planned([element()], tasks)
    arrivals = {"low": [0, 6, 12, 18], "missing": [0, 13], "mine": [0]}
    seen = worst(jobs_of(system, plan, arrivals=arrivals), "mine")
    assert seen == 21
    # As if `missing` were done by its deadline: the job that the switch meets costs its HI time, the one before not.
    assert seen > 2 * 4 + (3 + 6) + 1
    assert bound(system, plan, "mine", "amc_max") is None
    assert seen <= (bound(system, plan, "mine", "amc_rtb") or 0)


def test_a_low_job_that_holds_a_lock_goes_on_after_the_switch() -> None:
    tasks = [_high("high", 1, 10, 50), task("low", 6, 50, sections=(section(0, 6),))]
    system, plan = planned([element()], tasks, {"r": Protocol.PRIORITY_CEILING})
    seen = worst(jobs_of(system, plan, arrivals={"low": [0], "high": [1]}), "low")
    assert seen == 6 + 10
    assert seen > (amc_rtb([DualTiming(1, 50, 50, 10), DualTiming(6, 50, 50)])[1].worst_ns or 0)
    for method in ("amc_rtb", "amc_max"):
        assert bound(system, plan, "low", method) is None
    assert seen <= (bound(system, plan, "low") or 0)
