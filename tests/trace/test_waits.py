"""Jobs and frames in parts: without a gap on any trace, and with the right names on small ones worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from checked_systems import SYSTEMS, job_of, one, periodic, task, traced
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_systems import ALL_FEATURES, random_system
from takeover_systems import takeover_system

from rt_sched.lowering.machine_input import DeadlineAction, MachineInput, ModeChangeRow
from rt_sched.sim import Simulation
from rt_sched.trace import Trace
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.job_names import message_name
from rt_sched.trace.waits import FateKind, Part, PartKind, Schedule, job_parts, journey
from rt_sched.trace.waits.endings import ending

#: Parts in which a job has a core.
ON_CORE = (PartKind.EXECUTION, PartKind.SWITCH, PartKind.SPIN)


def run(seed: int) -> Trace:
    return simulated(random_system(seed, ALL_FEATURES))


def simulated(given: MachineInput) -> Trace:
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


def assert_without_gap(parts: Iterator[Part], start_ns: int, end_ns: int) -> None:
    at_ns = start_ns
    for part in parts:
        assert part.start_ns == at_ns < part.end_ns
        at_ns = part.end_ns
    assert at_ns == end_ns


def cores_at(trace: Trace, instant_ns: int) -> dict[int, int]:
    """Job -> core, as the slices say."""
    inside = (trace.slices.start_ns <= instant_ns) & (trace.slices.end_ns > instant_ns)
    return dict(zip(trace.slices.job[inside].tolist(), trace.slices.processor[inside].tolist(), strict=True))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_rule_leaves_no_gap(name: str) -> None:
    check_jobs(traced(name))


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_parts_of_jobs_are_what_the_slices_say(seed: int) -> None:
    check_jobs(run(seed))


@given(st.integers(0, 10**6))
@example(19)
@settings(max_examples=25, deadline=None)
def test_nor_do_takeovers_leave_a_gap(seed: int) -> None:
    check_jobs(simulated(takeover_system(seed)))


def check_jobs(trace: Trace) -> None:
    schedule = Schedule(trace)
    at = [cores_at(trace, instant_ns) for instant_ns in range(trace.horizon_ns)]
    for job in range(len(trace.jobs)):
        parts, arrival_ns = job_parts(schedule, job), int(trace.jobs.arrival_ns[job])
        assert_without_gap(iter(parts), arrival_ns, max(arrival_ns, schedule.end_ns(job)))
        executed_ns = sum(part.length_ns for part in parts if part.kind is PartKind.EXECUTION)
        assert executed_ns == trace.jobs.executed_ns[job]
        for part in parts:
            assert part.kind is not PartKind.UNEXPLAINED
            for instant_ns in range(part.start_ns, part.end_ns):
                assert (job in at[instant_ns]) == (part.kind in ON_CORE)
            if part.kind is PartKind.CORE and not any(cause.resources for cause in part.causes):
                busy = [one for one, core in at[part.start_ns].items() if core in schedule.cores(job)]
                assert sorted(cause.message for cause in part.causes) == sorted(busy)


def paths_from(trace: Trace, path: list[str]) -> Iterator[list[str]]:
    for edge in trace.edges:
        if edge.source == path[-1] and edge.target not in path and len(path) < 4:
            yield [*path, edge.target]
            yield from paths_from(trace, [*path, edge.target])


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_way_of_a_frame_is_as_long_as_its_measured_latency(seed: int) -> None:
    check_ways(run(seed))


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_so_is_it_when_messages_take_other_links_meanwhile(seed: int) -> None:
    check_ways(simulated(takeover_system(seed)))


def check_ways(trace: Trace) -> None:
    schedule = Schedule(trace)
    for index, sensor in enumerate(trace.sensor_names):
        for path in list(paths_from(trace, [sensor]))[:4]:
            measured = measure_chain(trace, path)
            latency_ns = dict(zip(measured.latency_sample_number.tolist(), measured.latency_ns.tolist(), strict=True))
            for row in np.flatnonzero(trace.samples.sensor == index).tolist()[:8]:
                way = journey(schedule, path, row)
                parts = [part for step in way.steps for part in step.parts]
                number = int(trace.samples.number[row])
                if way.end_ns is None:
                    assert number not in latency_ns
                    assert way.lost
                    continue
                assert_without_gap(iter(parts), way.capture_ns, way.end_ns)
                assert latency_ns.get(number, way.end_ns - way.capture_ns) == way.end_ns - way.capture_ns
                assert way.used != row or not way.lost


def told(trace: Trace, task: str, number: int = 0) -> list[tuple[str, int, list[tuple[str, str]]]]:
    """The parts of a job as (kind, length, [(who, why)])."""
    parts = job_parts(Schedule(trace), job_of(trace, task, number))
    return [
        (
            part.kind.value,
            part.length_ns,
            [(message_name(trace, cause.message), cause.reason.value) for cause in part.causes],
        )
        for part in parts
    ]


#: Parts of jobs 0 as worked out by hand: kind, length, who and why.
BY_HAND = {
    ("preemption", "low"): "core 1 high#0 higher_priority | execution 8 | core 2 high#1 higher_priority | execution 8"
    " | core 2 high#2 higher_priority | execution 6",
    ("edf", "late"): "execution 2 | core 3 soon#0 earlier_deadline | execution 7",
    ("fifo", "second"): "core 7 first#0 earlier_release | core 3 third#0 earlier_release | execution 3",
    ("points", "high"): "core 2 low#0 non_preemptive | switch 1 | execution 2",
    ("cores", "c"): "switch 1 | execution 1 | core 5 b#0 higher_priority, a#0 higher_priority | switch 1 | execution 4"
    " | core 5 b#1 higher_priority, a#1 higher_priority | switch 1 | execution 4",
    ("slices", "right"): "window 1 | window 5 left#0 slice | window 1 | execution 3 | window 1 | window 2 left#0 slice"
    " | window 3 | window 1 | execution 2",
    ("table", "left"): "window 1 | execution 4 | window 1 | window 2 right#0 entry | window 1 | window 2 | execution 2",
    ("inheritance", "high"): "execution 1 | lock 3 low#0 owner | execution 3",
    ("inheritance", "middle"): "core 3 low#0 lock_held | core 3 high#0 higher_priority | execution 6",
    ("ceiling", "short"): "core 3 long#0 ceiling | execution 3",
    ("spin", "z"): "execution 2 | spin 2 x#0 owner | spin 2 y#0 owner | execution 4",
    ("server", "served"): "execution 3 | core 5 other#0 budget | execution 6",
    ("throttle", "served"): "execution 3 | budget 9 | execution 2",
    ("criticality", "music"): "core 3 brake#0 higher_priority",
    ("suspension", "low"): "core 2 camera#0 higher_priority | execution 6 | core 4 camera#0 higher_priority"
    " | execution 2",
    ("frequency", "work"): "execution 4 | execution 6",
    ("chain", "act"): "",
}


@pytest.mark.parametrize(("system", "task"), BY_HAND)
def test_who_ran_and_why(system: str, task: str) -> None:
    trace = traced(system)
    parts = job_parts(Schedule(trace), job_of(trace, task))
    assert " | ".join(in_words(trace, part) for part in parts) == BY_HAND[system, task]


def in_words(trace: Trace, part: Part) -> str:
    causes = ", ".join(f"{message_name(trace, cause.message)} {cause.reason.value}" for cause in part.causes)
    return f"{part.kind.value} {part.length_ns} {causes}".strip()


def test_locks_and_frequencies_are_named() -> None:
    trace = traced("inheritance")
    parts = job_parts(Schedule(trace), job_of(trace, "middle"))
    assert parts[0].causes[0].resources == ("bus",)
    assert [part.resource for part in job_parts(Schedule(trace), job_of(trace, "high"))] == [None, "bus", None]
    trace = traced("frequency")
    parts = job_parts(Schedule(trace), job_of(trace, "work"))
    assert [part.frequency_khz for part in parts] == [4, 2]


def test_an_earlier_job_is_waited_for_to_its_end() -> None:
    # No arrival after that at 24 pays for the rest of job 1, which therefore never ends.
    trace = traced("throttle")
    parts = job_parts(Schedule(trace), job_of(trace, "served", 2))
    assert [in_words(trace, part) for part in parts] == ["earlier_job 36 served#1 before"]


def test_why_jobs_ended() -> None:
    given = MachineInput(
        processors=one(),
        sensors=(),
        tasks=(
            task("late", 9, (0,), deadline_ns=7, deadline_action=DeadlineAction.ABORT),
            task("next", 9, (0, 10, 20), deadline_ns=12, deadline_action=DeadlineAction.SKIP_NEXT, level=1),
            periodic("day", 3, 30, level=2),
        ),
        edges=(),
        horizon_ns=60,
        mode_changes=(ModeChangeRow(31, removed=(2,)),),
    )
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    schedule = Schedule(trace)
    assert [ending(schedule, job_of(trace, *job)) for job in (("late",), ("next", 0), ("next", 2), ("day", 1))] == [
        "its deadline passed",
        None,
        "an earlier job of its task had overrun or was late",
        "a change of mode, or a takeover, removed its task",
    ]


def test_a_frame_that_a_newer_one_replaced_is_followed_by_the_newer_one() -> None:
    trace = traced("chain")
    schedule = Schedule(trace)
    way = journey(schedule, ["camera", "detect", "act"], 0)
    assert [message_name(trace, step.message) for step in way.steps] == ["camera#0", "detect#0", "act#1"]
    assert [in_words(trace, part) for step in way.steps for part in step.parts] == [
        "sensor 1",
        "execution 3",
        "sampling 5",
        "execution 2",
    ]
    assert (way.capture_ns, way.end_ns, way.lost) == (5, 16, ())
    # The camera is lost at 20, so what it sees at 24 never comes.
    way = journey(schedule, ["camera", "detect", "act"], 2)
    assert (way.end_ns, [fate.kind for fate in way.lost]) == (None, [FateKind.NOT_DELIVERED])
