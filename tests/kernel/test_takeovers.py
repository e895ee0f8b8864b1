"""Tasks that move and vary, kept frames, arrivals at once and returns, on schedules worked by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from agreement import disagreement
from by_hand import cpu, events, run, schedule, statuses, system, task

from rt_sched.errors import ConfigError
from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    ExtraArrivalRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    MachineInput,
    ModeChangeRow,
    OverrunAction,
    Policy,
    Protocol,
    ResourceRow,
    Role,
    RouteChangeRow,
    Samples,
    SectionRow,
    SuspensionRow,
    TaskChangeRow,
    TaskRow,
    TimeSlice,
)
from rt_sched.sim import Simulation
from rt_sched.trace import Trace
from rt_sched.trace.checker import check_trace
from rt_sched.trace.records import EventKind

TWO = (cpu(name="a"), cpu(name="b"))


def to(time_ns: int, number: int, row: TaskRow, **differs: Any) -> TaskChangeRow:
    """A move to processor b, or to that in `differs`."""
    return TaskChangeRow(time_ns, number, replace(row, **{"processor": 1, **differs}), moved=True)


def vary(time_ns: int, number: int, row: TaskRow, **differs: Any) -> TaskChangeRow:
    return TaskChangeRow(time_ns, number, replace(row, **differs), moved=False)


def checked(given: MachineInput) -> Trace:
    """The trace, on which oracle and checker agree."""
    assert disagreement(given) is None
    trace = run(given)
    assert [str(one) for one in check_trace(trace).violations] == []
    return trace


def samples(*rows: tuple[int, int, int]) -> Samples:
    return Samples(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


def lost(time_ns: int, target: int = 0, until_ns: int | None = None) -> FaultRow:
    return FaultRow(time_ns, FaultTarget.PROCESSOR, target, until_ns)


def test_a_task_that_moves_aborts_its_jobs_and_goes_on_elsewhere() -> None:
    seen, other = task("seen", 6, 0, 1, 10, 20), task("other", 3, 12, processor=1, level=1)
    trace = checked(system((seen, other), TWO, task_changes=(to(4, 0, seen, level=0, demand_ns=4),)))
    assert schedule(trace, 0) == "seen 0-4"
    assert schedule(trace, 1) == "seen2 10-14, other 14-17, seen3 20-24"
    assert statuses(trace, "seen") == ["ABORTED", "ABORTED", "COMPLETED", "COMPLETED"]
    assert events(trace) == [(4, "TASK_MOVED", "seen", 0), *[(4, "ABORT", "seen", -1)] * 2]


def test_a_move_brings_another_level_and_another_key() -> None:
    seen, other = task("seen", 6, 0, 10, deadline_ns=30), task("other", 5, 9, processor=1, level=2, deadline_ns=40)
    moved = {
        policy: checked(
            system((seen, other), (cpu(name="a"), cpu(policy, name="b")), task_changes=(to(4, 0, seen, level=3),))
        )
        for policy in (Policy.FIXED_PRIORITY, Policy.EDF)
    }
    assert schedule(moved[Policy.FIXED_PRIORITY], 1) == "other 9-14, seen1 14-20"
    assert schedule(moved[Policy.EDF], 1) == "other 9-10, seen1 10-16, other 16-20"


def test_several_cores_take_in_what_moves() -> None:
    seen, first, second = task("seen", 6, 0, 10), task("x", 9, 5, processor=1), task("y", 9, 6, processor=1, level=1)
    trace = checked(
        system((seen, first, second), (cpu(name="a"), cpu(name="b", cores=2)), task_changes=(to(4, 0, seen),))
    )
    assert schedule(trace, 1) == "x 5-14, y 14-19"
    assert schedule(trace, 2) == "y 6-10, seen1 10-16"


def test_what_is_lost_stays_lost_and_what_comes_once_more_is_done() -> None:
    seen = task("seen", 3, 0, 10, 20)
    given = system(
        (seen,),
        TWO,
        faults=(lost(2),),
        task_changes=(to(12, 0, seen),),
        extra_arrivals=(ExtraArrivalRow(15, 0), ExtraArrivalRow(20, 0)),
    )
    trace = checked(given)
    assert statuses(trace, "seen") == ["LOST", "LOST", "COMPLETED", "COMPLETED", "COMPLETED"]
    assert schedule(trace, 1) == "seen2 15-18, seen3 20-23, seen4 23-26"
    assert trace.jobs.arrival_ns.tolist() == [0, 10, 15, 20, 20]


def test_the_cycle_goes_on_and_distances_are_drawn_with_the_next_number() -> None:
    seen = task("seen", 1, period_ns=10)
    trace = checked(system((seen,), TWO, task_changes=(to(14, 0, seen),), extra_arrivals=(ExtraArrivalRow(17, 0),)))
    assert trace.jobs.arrival_ns.tolist() == [0, 10, 17, *range(20, 100, 10)]
    sporadic = task("seen", 1, period_ns=10, extra_separation_ns=7)
    checked(system((sporadic,), TWO, extra_arrivals=(ExtraArrivalRow(5, 0), ExtraArrivalRow(31, 0)), seed=3))


def frames(kind: EdgeKind, *rows: tuple[int, int, int], **more: Any) -> MachineInput:
    """A detector whose processor is lost at 5 and which goes on elsewhere at 13, its last frame once more."""
    detect = task("detect", 3, rate_hz=None, explicit_arrivals_ns=None)
    edge = EdgeRow(0, "image", kind, Role.EACH, sensor=0)
    return system(
        (detect,),
        TWO,
        sensors=("camera",),
        edges=(edge,),
        samples=samples(*rows),
        **{
            "faults": (lost(5),),
            "task_changes": (to(13, 0, detect),),
            "extra_arrivals": (ExtraArrivalRow(13, 0),),
            **more,
        },
    )


@pytest.mark.parametrize("kind", EdgeKind)
def test_the_kept_frame_is_done_once_more(kind: EdgeKind) -> None:
    trace = checked(frames(kind, (0, 0, 0), (10, 0, 9), (20, 0, 19)))
    assert statuses(trace, "detect") == ["COMPLETED", "LOST", "COMPLETED", "COMPLETED"]
    assert trace.jobs.arrival_ns.tolist() == [0, 10, 13, 20]
    assert trace.jobs.inputs[2].tolist() == [-3]
    assert trace.jobs.capture_ns.tolist() == [0, 9, 9, 19]
    assert schedule(trace, 1) == "detect2 13-16, detect3 20-23"


@pytest.mark.parametrize("kind", EdgeKind)
def test_a_frame_that_has_made_a_job_is_kept_as_well(kind: EdgeKind) -> None:
    trace = checked(frames(kind, (0, 0, 0)))
    assert statuses(trace, "detect") == ["COMPLETED", "COMPLETED"]
    assert trace.jobs.inputs.tolist() == [[-2], [-2]]


def test_no_frame_is_done_again_when_a_new_one_comes_or_none_ever_came() -> None:
    assert checked(frames(EdgeKind.QUEUE, (10, 0, 9), (13, 0, 12))).jobs.arrival_ns.tolist() == [10, 13]
    assert checked(frames(EdgeKind.QUEUE, (20, 0, 19))).jobs.arrival_ns.tolist() == [20]
    gone = frames(EdgeKind.QUEUE, (10, 0, 9), mode_changes=(ModeChangeRow(13, removed=(0,)),))
    assert checked(gone).jobs.arrival_ns.tolist() == [10]


def joined(role: Role, *rows: tuple[int, int, int]) -> Trace:
    fuse = task("fuse", 1, rate_hz=None, explicit_arrivals_ns=None, tolerance_ns=3)
    given = system(
        (fuse,),
        TWO,
        sensors=("left", "right"),
        edges=tuple(EdgeRow(0, name, EdgeKind.QUEUE, role, sensor=i, depth=4) for i, name in enumerate("lr")),
        samples=samples(*rows),
        task_changes=(to(13, 0, fuse),),
        extra_arrivals=(ExtraArrivalRow(13, 0),),
    )
    return checked(given)


def test_a_kept_pair_are_the_last_messages_if_they_are_partners() -> None:
    trace = joined(Role.PAIRED, (1, 0, 1), (2, 1, 2), (9, 0, 4), (20, 1, 5))
    assert trace.jobs.arrival_ns.tolist() == [2, 13, 20]
    assert trace.jobs.inputs.tolist() == [[-2, -3], [-4, -3], [-4, -5]]
    assert trace.jobs.capture_ns.tolist() == [1, 2, 4]
    assert joined(Role.PAIRED, (1, 0, 1), (2, 1, 2), (9, 0, 8)).jobs.arrival_ns.tolist() == [2]
    assert joined(Role.PAIRED, (1, 0, 1)).jobs.arrival_ns.tolist() == []


def test_of_several_activating_inputs_the_message_captured_last_is_done_again() -> None:
    trace = joined(Role.EACH, (1, 0, 1), (5, 1, 5), (6, 0, 4))
    assert trace.jobs.inputs.tolist()[3:] == [[-4, -3]]
    assert trace.jobs.capture_ns.tolist() == [1, 5, 4, 5]
    assert joined(Role.EACH, (1, 0, 2), (5, 1, 2)).jobs.inputs.tolist()[2:] == [[-2, -3]]


@pytest.mark.parametrize("protocol", [Protocol.PRIORITY_INHERITANCE, Protocol.NONE, Protocol.MSRP])
def test_a_lock_is_freed_when_its_owner_moves(protocol: Protocol) -> None:
    owner = task("owner", 9, 0, sections=(SectionRow(0, 0, 8),))
    waiter = task("waiter", 4, 1, processor=2, sections=(SectionRow(0, 1, 3),))
    given = system(
        (owner, waiter),
        (*TWO, cpu(name="c")),
        resources=(ResourceRow("bus", protocol),),
        task_changes=(to(5, 0, owner),),
    )
    trace = checked(given)
    assert (5, "OWNER_DEAD", "owner", 0) in events(trace)
    assert (5, "LOCK", "waiter", 0) in events(trace)
    assert schedule(trace, 2).endswith("waiter 5-8")


def test_a_waiting_job_that_moves_asks_no_more() -> None:
    owner = task("owner", 9, 0, sections=(SectionRow(0, 0, 8),), level=1)
    waiter = task("waiter", 4, 1, 20, sections=(SectionRow(0, 1, 3),))
    given = system(
        (owner, waiter),
        TWO,
        resources=(ResourceRow("bus", Protocol.PRIORITY_INHERITANCE),),
        task_changes=(to(5, 1, waiter),),
    )
    trace = checked(given)
    assert statuses(trace, "waiter") == ["ABORTED", "COMPLETED"]
    assert schedule(trace, 0) == "owner 0-1, waiter 1-2, owner 2-10"


def test_what_was_said_to_the_next_job_is_forgotten() -> None:
    late = task("late", 5, 0, 10, deadline_ns=3, deadline_action=DeadlineAction.SKIP_NEXT)
    assert statuses(checked(system((late,), TWO)), "late") == ["COMPLETED", "SUPPRESSED"]
    moved = system((late,), TWO, task_changes=(to(7, 0, late),))
    assert statuses(checked(moved), "late") == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
def test_a_server_begins_anew(policy: Policy) -> None:
    served = task(
        "served", 5, 0, 8, 30, deadline_ns=20, budget_ns=3, separation_ns=20, overrun_action=OverrunAction.THROTTLE
    )
    given = system((served,), (cpu(Policy.EDF, name="a"), cpu(policy, name="b")), task_changes=(to(7, 0, served),))
    trace = checked(given)
    paid = [row for row in events(trace, EventKind.REPLENISH) if row[0] >= 7]
    assert paid[0] == ((11, "REPLENISH", "served", 48) if policy is Policy.EDF else (30, "REPLENISH", "served", 2))


def test_high_mode_of_the_old_and_of_the_new_processor() -> None:
    """The last job leaves a processor in HI mode, a LO task comes to one."""
    brake = task("brake", 8, 0, high_criticality=True, low_budget_ns=2)
    music = task("music", 2, 1, 12, 21, processor=1, level=1)
    other = task("other", 9, 10, processor=1, high_criticality=True, low_budget_ns=2)
    trace = checked(system((brake, music, other), TWO, task_changes=(to(5, 0, brake, level=3),)))
    assert events(trace, EventKind.HIGH, EventKind.LOW) == [
        (2, "HIGH", "0", -1),
        (5, "LOW", "0", -1),
        (12, "HIGH", "1", -1),
        (19, "LOW", "1", -1),
    ]
    assert statuses(trace, "music") == ["COMPLETED", "SUPPRESSED", "COMPLETED"]


def test_let_outputs_survive_a_move_and_go_with_a_loss() -> None:
    writer = task("writer", 2, 0, 20, deadline_ns=10, let=True)
    given = system((writer,), TWO, task_changes=(to(5, 0, writer),))
    assert (10, "LET_PUBLISH", "writer", -1) in events(checked(given))
    lost_before = checked(replace(given, faults=(lost(5, 0),)))
    assert events(lost_before, EventKind.LET_PUBLISH) == [(30, "LET_PUBLISH", "writer", -1)]
    lost_after = checked(replace(given, faults=(lost(7, 1),)))
    assert events(lost_after, EventKind.LET_PUBLISH) == []
    kept = checked(replace(given, faults=(lost(7, 0),)))
    assert (10, "LET_PUBLISH", "writer", -1) in events(kept)


def test_offsets_and_demands_are_those_of_the_new_place() -> None:
    seen = task("seen", 6, 0, 20, suspensions=(SuspensionRow(2, 3, 3),), memory_ns=1)
    moved = to(10, 0, seen, demand_ns=9, memory_ns=5, suspensions=(SuspensionRow(4, 3, 3),))
    given = system((seen,), (cpu(name="a", frequency_khz=2), cpu(name="b", frequency_khz=2)), task_changes=(moved,))
    assert schedule(checked(given)) == "seen 0-2, seen 5-9, seen1 20-24, seen1 27-32"
    slower = replace(given, frequency_changes=(FrequencyChangeRow(0, 1, 1),))
    assert schedule(checked(slower), 1) == "seen1 20-28, seen1 31-36"


def test_a_variant_is_for_later_jobs_and_leaves_some_out() -> None:
    seen = task("seen", 8, 0, 3, 10, 20, 30, 40)
    trace = checked(system((seen,), task_changes=(vary(4, 0, seen, demand_ns=2, every=2),)))
    assert schedule(trace) == "seen 0-8, seen1 8-16, seen2 16-18, seen4 30-32"
    assert statuses(trace, "seen")[2:] == ["COMPLETED", "SUPPRESSED", "COMPLETED", "SUPPRESSED"]
    assert events(trace, EventKind.SUPPRESS) == [(20, "SUPPRESS", "seen", 2), (40, "SUPPRESS", "seen", 2)]


def test_a_job_that_goes_on_keeps_its_memory_bound_part() -> None:
    seen = task("seen", 8, 0, 10, memory_ns=4)
    given = system(
        (seen,),
        cpu(frequency_khz=2),
        task_changes=(vary(1, 0, seen, memory_ns=0),),
        frequency_changes=(FrequencyChangeRow(2, 0, 1),),
    )
    assert checked(given).jobs.demand_ns.tolist() == [10, 16]


def test_every_counts_from_the_change_on() -> None:
    seen = task("seen", 1, *range(0, 90, 10), every=3)
    done = [i for i, status in enumerate(statuses(checked(system((seen,))), "seen")) if status == "COMPLETED"]
    assert done == [0, 3, 6]
    changed = checked(system((seen,), task_changes=(vary(15, 0, seen, every=2),)))
    done = [i for i, status in enumerate(statuses(changed, "seen")) if status == "COMPLETED"]
    assert done == [0, 2, 4, 6, 8]


def test_processors_sensors_and_links_return() -> None:
    tasks = (task("seen", 4, 0, 8, 12, 20), task("sink", 1, rate_hz=None, explicit_arrivals_ns=None, processor=1))
    given = system(
        tasks,
        TWO,
        edges=(EdgeRow(1, "in", EdgeKind.QUEUE, Role.EACH, task=0, link=0, size_bytes=3),),
        links=(LinkRow("wire", Fraction(10**9)),),
        faults=(lost(2, 0, 12), FaultRow(17, FaultTarget.LINK, 0, 20)),
    )
    trace = checked(given)
    assert statuses(trace, "seen") == ["LOST", "LOST", "COMPLETED", "COMPLETED"]
    assert trace.transfers.delivered_ns.tolist() == [-1, 27]
    assert events(trace, EventKind.LINK_LOST, EventKind.LINK_RETURNED) == [
        (17, "LINK_LOST", "-1", 0),
        (20, "LINK_RETURNED", "-1", 0),
    ]


def test_a_link_is_free_when_it_returns() -> None:
    tasks = (task("seen", 1, 0, 6), task("sink", 1, rate_hz=None, explicit_arrivals_ns=None))
    given = system(
        tasks,
        edges=(EdgeRow(1, "in", EdgeKind.QUEUE, Role.EACH, task=0, link=0, size_bytes=50),),
        links=(LinkRow("wire", Fraction(10**9)),),
        faults=(FaultRow(2, FaultTarget.LINK, 0, 4),),
    )
    assert checked(given).transfers.start_ns.tolist() == [1, 7]


def test_what_is_on_its_way_arrives_by_the_old_route() -> None:
    tasks = (task("seen", 1, 0, 2, 5, 8), task("sink", 1, rate_hz=None, explicit_arrivals_ns=None, level=1))
    given = system(
        tasks,
        edges=(EdgeRow(1, "in", EdgeKind.QUEUE, Role.EACH, task=0, depth=2, link=0, size_bytes=6),),
        links=(LinkRow("slow", Fraction(10**9)), LinkRow("fast", Fraction(2 * 10**9))),
        route_changes=(RouteChangeRow(3, 0, 1), RouteChangeRow(8, 0, None)),
    )
    trace = checked(given)
    assert trace.transfers.delivered_ns.tolist() == [7, 6, 9]
    assert trace.jobs.arrival_ns[trace.jobs.task == 1].tolist() == [6, 7, 9, 9]
    assert trace.jobs.inputs[trace.jobs.task == 1, 0].tolist() == [1, 0, 5, 2]


def test_a_processor_returns_into_the_next_slice_of_its_cycle() -> None:
    tasks = (task("x", 30, 0, 11), task("y", 30, 0, 11))
    slices = (TimeSlice(4, (0,), 1), TimeSlice(6, (1,)))
    given = system(tasks, cpu(Policy.TIME_SLICED, slices=slices), horizon_ns=24, faults=(lost(2, 0, 11),))
    assert schedule(checked(given)) == "x 1-2, y1 14-20, x1 21-24"


def test_a_lost_arrival_uses_up_what_was_said_to_it() -> None:
    late = task("late", 5, 0, 10, 20, deadline_ns=3, deadline_action=DeadlineAction.SKIP_NEXT)
    trace = checked(system((late,), faults=(lost(7, 0, 12),)))
    assert statuses(trace, "late") == ["COMPLETED", "LOST", "COMPLETED"]


JOB = task("work", 3, 0)
GOOD = system((JOB,), TWO, resources=(ResourceRow("r", Protocol.PRIORITY_CEILING),))
WIRED = {
    "edges": (EdgeRow(0, "in", EdgeKind.LATEST, Role.READ, task=0),),
    "links": (LinkRow("wire", Fraction(10**9)),),
}
SLICED = (cpu(name="a"), cpu(Policy.TIME_SLICED, name="b", slices=(TimeSlice(9, ()),)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"faults": (lost(3, 0, 3),)}, "faults[0].until_ns: 3 is outside 4"),
        ({"faults": (lost(3, 0, 5), lost(5, 0))}, "faults[1].time_ns: it is lost already, or returns only now"),
        ({"faults": (lost(3, 0), lost(7, 0))}, "faults[1].time_ns: it is lost already"),
        ({"tasks": (replace(JOB, every=0),)}, "tasks[0] (work).every: 0 is outside 1"),
        ({"task_changes": (to(-1, 0, JOB),)}, "task_changes[0].time_ns: -1 is outside"),
        ({"task_changes": (to(1, 4, JOB),)}, "task_changes[0].task: 4 is not one of the 1 that exist"),
        (
            {"task_changes": (to(1, 0, JOB, processor=7),)},
            "task_changes[0].row (work).processor: 7 is not one of the 2",
        ),
        ({"task_changes": (to(1, 0, JOB, deadline_ns=7),)}, "task_changes[0].row.deadline_ns: it changes by no change"),
        (
            {"task_changes": (vary(1, 0, JOB, level=7),)},
            "task_changes[0].row.level: it changes only when the task moves",
        ),
        ({"task_changes": (to(1, 0, JOB), to(1, 0, JOB))}, "task_changes[1]: the task changes twice at one instant"),
        ({"task_changes": (to(1, 0, JOB),), "processors": SLICED}, "no task comes to or leaves them"),
        (
            {"task_changes": (to(1, 0, JOB, sections=(SectionRow(0, 1, 2),)),)},
            "the resources [] stay the same, and so does their order",
        ),
        (
            {
                "tasks": (replace(JOB, sections=(SectionRow(0, 1, 2),)),),
                "task_changes": (to(1, 0, replace(JOB, sections=(SectionRow(0, 1, 2),)), processor=0),),
            },
            "the users of a priority_ceiling resource stay where they are",
        ),
        ({"route_changes": (RouteChangeRow(1, 0, None),)}, "route_changes[0].edge: 0 is not one of the 0"),
        ({"route_changes": (RouteChangeRow(-1, 0, 0),)} | WIRED, "route_changes[0].time_ns: -1 is outside"),
        ({"route_changes": (RouteChangeRow(1, 0, 3),)} | WIRED, "route_changes[0].link: 3 is not one of the 1"),
        ({"route_changes": (RouteChangeRow(1, 0, None),) * 2} | WIRED, "the edge gets two routes at one instant"),
        ({"extra_arrivals": (ExtraArrivalRow(-1, 0),)}, "extra_arrivals[0].time_ns: -1 is outside"),
        ({"extra_arrivals": (ExtraArrivalRow(1, 3),)}, "extra_arrivals[0].task: 3 is not one of the 1"),
        ({"extra_arrivals": (ExtraArrivalRow(1, 0),) * 2}, "extra_arrivals[1]: there is one at this instant already"),
    ],
)
def test_what_the_kernel_could_not_take_is_refused_by_name(wrong: dict, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Simulation(replace(GOOD, **wrong))
    assert message in str(refusal.value)
