"""Contention between elements of a device: bounds count it, declared times alone prove misses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.contention import stretched
from rt_sched.analysis.loads.resolve import mode_loads, setups_of
from rt_sched.analysis.result import Verdict
from rt_sched.config import load_system_text
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.trace.setup import SectionRow, SuspensionRow

MS = 1_000_000


def _system(contention: str = "", cpu_wcet: str = "4ms", gpu: bool = True) -> System:
    busy = "  g: {runs_on: ecu.gpu, activation: {rate: 100Hz}, execution: {wcet: 2ms}}\n" if gpu else ""
    return load_system_text(
        "rt_sched: 1\nname: s\ndevices:\n"
        f"  ecu: {{{contention}processing_elements: {{cpu: {{kind: cpu}}, gpu: {{kind: gpu}}, dla: {{kind: dla}}}}}}\n"
        "tasks:\n"
        f"  a: {{runs_on: ecu.cpu, activation: {{rate: 100Hz}}, execution: {{bcet: 1ms, wcet: {cpu_wcet}}}}}\n"
        "  b: {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 3ms}}\n" + busy,
        file_name="s", base_dir=".", stages=None,
    )  # fmt: skip


def _bounds(system: System) -> dict[str, int]:
    report = analyze(system, make_plan(system))
    return {one.task: one.bound.value_ns for one in report.modes[0].tasks if one.bound is not None}


FACTORS = "contention: {cpu: {gpu: 1.25, dla: 2}, gpu: {cpu: 1.5}}, "


def test_jobs_take_longer_where_another_element_works() -> None:
    assert _bounds(_system()) == {"a": 4 * MS, "b": 7 * MS, "g": 2 * MS}
    # Nothing runs on the DLA, so it slows nobody down.
    assert _bounds(_system(FACTORS)) == {"a": 5 * MS, "b": 5 * MS + 3_750_000, "g": 3 * MS}
    assert _bounds(_system(FACTORS, gpu=False)) == {"a": 4 * MS, "b": 7 * MS}


def test_factors_multiply_and_best_cases_stay() -> None:
    system = _system("contention: {cpu: {gpu: 1.25, dla: 2}}, ")
    dla = replace(system.tasks[2], name="d", pe=("ecu", "dla"))
    system = replace(system, tasks=(*system.tasks, dla))
    assert _bounds(system)["a"] == 10 * MS
    (mode,) = mode_loads(system, make_plan(system))
    (task,) = (one for load in mode.loads for one in load.tasks if one.name == "a")
    assert (task.bcet_ns, task.wcet_ns) == (MS, 10 * MS)


def test_the_assumption_tells_it() -> None:
    texts = [one.text for one in analyze(_system(FACTORS), make_plan(_system())).assumptions if one.key == "execution"]
    assert texts == [
        "no job executes longer than its declared worst case, times the declared factors of the other elements of its "
        "device while those work"
    ]


def test_a_miss_that_needs_the_stretch_is_not_proven() -> None:
    slow = _system(FACTORS, cpu_wcet="8.5ms")
    report = analyze(slow, make_plan(slow))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert {one.task: one.verdict for one in report.modes[0].tasks}["a"] is Verdict.INCONCLUSIVE
    alone = _system(cpu_wcet="8ms")
    assert analyze(alone, make_plan(alone)).verdict is Verdict.SCHEDULABLE
    over = _system(FACTORS, cpu_wcet="9.5ms")
    report = analyze(over, make_plan(over))
    assert report.verdict is Verdict.UNSCHEDULABLE
    assert {one.task: one.verdict for one in report.modes[0].tasks}["b"] is Verdict.UNSCHEDULABLE


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=6, unique=True).map(sorted),
    st.fractions(1, 3, max_denominator=1000),
)
def test_no_part_of_a_job_gets_shorter_than_its_stretch(places: list[int], factor: Fraction) -> None:
    system = _system("contention: {cpu: {gpu: 2}}, ")
    gpu_by = replace(system.devices[0].contention[0], factor=factor)
    system = replace(system, devices=(replace(system.devices[0], contention=(gpu_by,)),))
    plan = make_plan(system)
    setup, _ = setups_of(replace(system, devices=(replace(system.devices[0], contention=()),)), plan)
    sections = tuple(SectionRow(0, start, end) for start, end in zip(places[::2], places[1::2], strict=False))
    waits = (SuspensionRow(places[-1] + 1, 1, 2),)
    row = replace(
        setup.tasks[0], demand_ns=1002, sections=sections, suspensions=waits, preemption_points_ns=tuple(places)
    )
    got = stretched(system, plan, replace(setup, tasks=(row, *setup.tasks[1:]))).tasks[0]
    before = [0, *places, places[-1] + 1, 1002]
    after = [0, *(got.preemption_points_ns or ()), got.suspensions[0].offset_ns, got.demand_ns]
    for i in range(len(before)):
        for j in range(i + 1, len(before)):
            assert after[j] - after[i] >= (before[j] - before[i]) * factor
    assert got.demand_ns <= 1002 * factor + len(before)
    for was, now in zip(sections, got.sections, strict=True):
        assert now.end_ns - now.start_ns >= (was.end_ns - was.start_ns) * factor


SERVED = """
rt_sched: 1
name: s
devices:
  ecu:
    contention: {cpu: {gpu: 1.5}, gpu: {cpu: 2}}
    processing_elements: {cpu: {kind: cpu}, gpu: {kind: gpu, frequency: 1GHz}}
tasks:
  a:
    {runs_on: ecu.cpu, activation: {rate: 20Hz}, execution: {wcet: 4ms},
     suspensions: [{after: 1ms, max: 30ms, on: ecu.gpu, service: 3ms}]}
  b: {runs_on: ecu.cpu, activation: {rate: 10Hz}, execution: {wcet: 2ms}}
modes: {fast: {}, slow: {frequencies: {ecu.gpu: 500MHz}}, back: {frequencies: {ecu.gpu: 1GHz}}}
"""


def test_an_element_that_serves_waits_works_and_is_slowed_down() -> None:
    system = load_system_text(SERVED, file_name="s", base_dir=".", stages=None)
    report = analyze(system, make_plan(system))
    (first, *_) = report.modes
    # The job of 6 ms with its wait of 30 ms; the other job, of 3 ms, can be delayed by one of it. A place inside a job
    # is rounded up by 1 ns.
    assert {one.task: one.bound and one.bound.value_ns for one in first.tasks} == {"a": 36 * MS + 1, "b": 9 * MS + 1}
    # Twice as long beside the CPU, and twice that at half the frequency; a request before it has begun.
    waits = {mode.name: mode.waits[0].waited_ns for mode in report.modes}
    assert waits == {"fast": 12 * MS - 1, "slow": 24 * MS - 1, "back": 12 * MS - 1}
