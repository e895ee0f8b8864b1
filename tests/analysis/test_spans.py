"""Runs with changes of mode beside the bounds of each of their parts: none is exceeded, and what is wrong is found."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hand_made import element, planned, task
from random_transition_checks import transition_case

from rt_sched import model
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.measured.after_change import after_change
from rt_sched.analysis.measured.observed import exceeded_in
from rt_sched.analysis.measured.spans import Span, jobs_in, spans_of
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.model import Frequency, FrequencyChange, Mode, ModeChange, Periodic, Plan, System
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace


def _run(system: System, plan: Plan, horizon_ns: int, *changes: ModeChange, seed: int = 0, **more: object) -> Trace:
    samples = nominal_samples(system, horizon_ns, seed)
    given = lower(system, plan, samples, horizon_ns=horizon_ns, seed=seed, mode_changes=changes, **more)  # type: ignore[arg-type]
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


def test_no_part_of_a_run_exceeds_its_bounds() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(60):
        system, plan = transition_case(seed)
        if check_plan(system, plan):
            continue
        rng = random.Random(seed)  # noqa: S311 - reproducible test data
        modes = mode_loads(system, plan)
        slowest_ns = max(one.separation_ns for one in system.tasks)
        for run in range(2):
            instants = sorted(rng.sample(range(1, 24 * slowest_ns), 3))
            changes = [ModeChange(at, rng.choice(system.modes).name) for at in instants]
            trace = _run(system, plan, 30 * slowest_ns, *changes, seed=seed + 1000 * run)
            for span in spans_of(trace, modes)[1:]:
                kinds["steady" if span.old is None else "change"] += int(jobs_in(trace, span).sum())
                found = after_change(trace, span, modes)
                assert found.exceeded == []
                assert all(one.holds for one in found.monitors), (seed, [m for m in found.monitors if not m.holds])
    assert kinds["steady"] > 500
    assert kinds["change"] > 500


def _three_modes() -> tuple[System, Plan]:
    """`base` in all modes; `light` and `heavy` beside it in one each; together they are too much."""
    tasks = (
        task("light", 2, 10, activation=Periodic(Fraction(10**8))),
        task("heavy", 6, 20, activation=Periodic(Fraction(5 * 10**7))),
        task("base", 4, 20, 40, activation=Periodic(Fraction(5 * 10**7))),
    )
    system, plan = planned([element()], tasks)
    modes = (Mode("calm", ("light", "base")), Mode("busy", ("heavy", "base")), Mode("both", ("light", "heavy", "base")))
    return replace(system, modes=modes), plan


def test_a_run_is_cut_at_changes_and_where_nothing_is_left_of_them() -> None:
    system, plan = _three_modes()
    modes = mode_loads(system, plan)
    trace = _run(system, plan, 400, ModeChange(101, "busy"), ModeChange(205, "calm"))
    # At 101 `base` has all its 4 left and `heavy` comes first with 6: done at 111. At 205 the second job of `heavy` is
    # aborted, `light` comes first with 2, and `base` has 3 left: done at 210.
    assert spans_of(trace, modes) == [
        Span(0, 101, "calm"),
        Span(101, 112, "busy", "calm"),
        Span(112, 205, "busy"),
        Span(205, 211, "calm", "busy"),
        Span(211, 401, "calm"),
    ]


def test_a_second_change_before_the_first_is_over_ends_what_is_covered() -> None:
    system, plan = _three_modes()
    modes = mode_loads(system, plan)
    trace = _run(system, plan, 400, ModeChange(101, "busy"), ModeChange(104, "calm"))
    assert spans_of(trace, modes) == [Span(0, 101, "calm"), Span(101, 104, "busy", "calm")]


def test_a_frequency_that_is_that_of_no_mode_ends_what_is_covered() -> None:
    system, plan = planned([element(frequency_hz=10**9)], (task("a", 2, 10),))
    trace = _run(system, plan, 200, frequency_changes=(FrequencyChange(55, Frequency("d", "p", 5 * 10**8)),))
    assert spans_of(trace, mode_loads(system, plan)) == [Span(0, 55, "nominal")]


def test_jobs_that_exceed_a_bound_after_a_change_are_found() -> None:
    system, plan = _three_modes()
    trace = _run(system, plan, 400, ModeChange(101, "busy"))
    parts = spans_of(trace, mode_loads(system, plan))
    assert [one.old for one in parts] == [None, "calm", None]
    for span in parts:
        mine = jobs_in(trace, span) & (trace.jobs.task == 2)
        longest = int((trace.jobs.finish_ns - trace.jobs.arrival_ns)[mine].max())
        assert exceeded_in(trace, span, {"base": longest}) == []
        found = exceeded_in(trace, span, {"base": longest - 1})
        assert {(one.who, one.value_ns, one.bound_ns) for one in found} == {("base", longest, longest - 1)}


def test_every_job_is_in_at_most_one_part() -> None:
    system, plan = _three_modes()
    trace = _run(system, plan, 400, ModeChange(101, "busy"), ModeChange(203, "both"))
    parts = spans_of(trace, mode_loads(system, plan))
    covered = np.sum([jobs_in(trace, span) for span in parts], axis=0)
    finished = trace.jobs.finish_ns >= 0
    assert (covered[finished] == 1).all()


def test_a_job_that_needs_too_much_after_a_change_trips_its_monitor() -> None:
    system, plan = _three_modes()
    real = replace(
        system,
        tasks=(system.tasks[0], replace(system.tasks[1], execution=model.ExecutionTime(8, 8, (8, 8))), system.tasks[2]),
    )
    modes = mode_loads(system, plan)
    trace = _run(real, plan, 400, ModeChange(101, "busy"))
    found = [after_change(trace, span, modes) for span in spans_of(trace, modes)[1:]]
    assert [{one.key for one in part.monitors if not one.holds} for part in found] == [{"execution"}, {"execution"}]
