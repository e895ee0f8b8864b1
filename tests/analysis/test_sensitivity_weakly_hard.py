"""Margins where some deadlines may be missed: up to them the verdict holds, and a nanosecond more breaks a promise."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.sensitivity import MILLION, sensitivity
from rt_sched.analysis.sensitivity.execution import task_margin
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.config import load_system_text
from rt_sched.model import System
from rt_sched.planner import make_plan

MS = 1_000_000
SYSTEM = """
rt_sched: 1
name: weakly_hard
devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}
tasks:
  load: {runs_on: ecu.cpu, activation: {period: 30ms}, execution: {wcet: 6ms}, priority: 0}
  control: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 5ms}, priority: 1, miss_limit: LIMIT}
"""


def loaded(text: str) -> System:
    return load_system_text(text, file_name="w.yaml", base_dir=".", stages=None)


def verdict_with(system: System, name: str, more_ns: int) -> Verdict:
    """With longer jobs of one task."""

    def longer(times_ns: int) -> int:
        return times_ns + more_ns

    tasks = tuple(
        replace(
            task,
            execution=replace(
                task.execution,
                wcet_ns=longer(task.execution.wcet_ns),
                profile_ns=(task.execution.bcet_ns, longer(task.execution.wcet_ns)),
            ),
        )
        if task.name == name
        else task
        for task in system.tasks
    )
    changed = replace(system, tasks=tasks)
    return analyze(changed, make_plan(changed)).verdict


def test_a_task_that_may_be_late_has_a_margin_up_to_one_more_late_job() -> None:
    system = loaded(SYSTEM.replace("LIMIT", "1 of 3"))
    (mode,) = mode_loads(system, make_plan(system))
    found = sensitivity(mode, METHODS)
    assert found.broken is None
    # The job at 0 is late anyway. That at 10 ms ends after 6 + 2 * 5 ms, of which 4 are left to its deadline.
    assert {one.task: (one.margin_ns, one.limited_by) for one in found.tasks} == {
        "load": (4 * MS, "miss limit of control"),
        "control": (2 * MS, "miss limit of control"),
    }
    assert found.scaling.ppm == 20 * MILLION // 16
    assert found.scaling.limited_by == "miss limit of control"
    (frequency,) = found.frequencies
    assert (frequency.smallest_hz, frequency.limited_by) == (800_000_000, "miss limit of control")


def test_where_too_many_jobs_are_late_there_is_a_smaller_factor() -> None:
    system = loaded(SYSTEM.replace("LIMIT", "1 of 4"))
    (mode,) = mode_loads(system, make_plan(system))
    found = sensitivity(mode, METHODS)
    assert found.broken == "miss limit of control"
    assert found.tasks == ()
    # No job is late once the first one, 6 + 5 ms, takes 10.
    assert found.scaling.ppm == 10 * MILLION // 11


def test_margins_are_kept_and_used_up_in_random_sets() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        rng = random.Random(seed)  # noqa: S311 - reproducible test data
        rows = []
        for number in range(2):
            period, offset = rng.choice((10, 20)), rng.randint(0, 9)
            times = f"{{wcet: {rng.randint(1, period // 3)}ms}}, deadline: {rng.randint(period // 2, period)}ms"
            limit = f", miss_limit: {rng.choice(('1 of 2', '1 of 3', '2 of 5'))}" if number else ""
            arrivals = f"{{period: {period}ms, offset: {offset}ms}}"
            rows.append(
                f"  t{number}: {{runs_on: ecu.cpu, activation: {arrivals}, execution: {times},"
                f" priority: {number}{limit}}}"
            )
        system = loaded(SYSTEM[: SYSTEM.index("  load:")] + "\n".join(rows) + "\n")
        (mode,) = mode_loads(system, make_plan(system))
        promises = Promises(mode, METHODS)
        if promises.broken_now is not None:
            continue
        for index in promises.bounds:
            one = task_margin(mode, promises, index)
            assert verdict_with(system, one.task, one.margin_ns) is Verdict.SCHEDULABLE, (seed, one)
            assert verdict_with(system, one.task, one.margin_ns + 1) is not Verdict.SCHEDULABLE, (seed, one)
            seen[(one.limited_by or "").split()[0]] += 1
    assert seen["miss"] > 2
