"""A takeover that cannot be carried out is rewatchd with the offender's name; each rule alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from rt_sched.lowering import check_plan
from rt_sched.model import (
    CriticalSection,
    ExecutionTime,
    Link,
    PEKind,
    Periodic,
    Placement,
    Plan,
    Policy,
    ProcessingElement,
    Protocol,
    SharedResource,
    System,
    Takeover,
    TimeSlice,
    Variant,
)

#: Processors of the plan: orin-1.cpu.0, orin-1.cpu.1, orin-1.gpu.0, orin-2.cpu.0, as the last ones of other systems.
HOME, GPU, AWAY = 1, 2, 3
GOOD = Takeover(
    losses=("device:orin-1",),
    moves=(Placement("decode", AWAY, 7), Placement("detect", AWAY, 8)),
    dropped=("watch",),
    redone=("decode",),
    at_once=(("fuse", 5),),
    variants=(("detect", "light"),),
    weights=(("top", Fraction(1, 2)),),
)
LIGHT = Variant("light", ExecutionTime(10, 20, ()), ((PEKind.CPU, ExecutionTime(10, 20, ())),), every=2)


@pytest.fixture
def movable(system: System) -> System:
    """The system with tasks that may go to the other device, in a variant."""
    away = (("orin-2", "cpu"),)
    times = ((PEKind.CPU, ExecutionTime(100, 400, ())), (PEKind.GPU, ExecutionTime(100, 400, ())))
    decode, detect, *others = system.tasks
    return replace(
        system,
        tasks=(
            replace(decode, candidates=away),
            replace(detect, candidates=away, execution_by_kind=times, variants=(LIGHT,)),
            *others,
        ),
    )


def problems(system: System, plan: Plan, *takeovers: Takeover) -> list[str]:
    return check_plan(system, replace(plan, takeovers=takeovers))


def test_a_takeover_that_fits_has_no_problems(movable: System, plan: Plan) -> None:
    assert problems(movable, plan, GOOD) == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"losses": ()}, "takeover of nothing: it names no loss"),
        (
            {"losses": ("device:orin-9",)},
            "takeover of device:orin-9: device:orin-9 is nothing that can be lost; "
            "there are: camera:front, device:orin-1, device:orin-2, lidar:top",
        ),
        ({"losses": ("camera:front", "camera:front")}, "camera:front is lost 2 times"),
        ({"losses": ("lidar:top", "camera:front")}, "its losses are not in order"),
        ({"weights": (("top", Fraction(1)), ("top", Fraction(2)))}, "sensor top has 2 weights"),
        ({"weights": (("tip", Fraction(1)),)}, "sensor tip has a weight, but there is no such sensor"),
        ({"weights": (("top", Fraction(-1, 2)),)}, "sensor top has the weight -1/2"),
        ({"moves": (*GOOD.moves, Placement("dekode", AWAY, 9))}, "task dekode is moved, but there is no such task"),
        ({"moves": (*GOOD.moves, Placement("decode", AWAY, 9))}, "task decode is moved 2 times"),
        ({"dropped": ("fuze",)}, "task fuze is dropped, but there is no such task"),
        ({"redone": ("decode", "decode")}, "task decode is redone 2 times"),
        ({"at_once": (("wach", 5),)}, "task wach is at once, but there is no such task"),
        ({"variants": (("detekt", "light"),)}, "task detekt is in a variant, but there is no such task"),
        ({"moves": (GOOD.moves[0], Placement("detect", 9, 8))}, "task detect moves to processor 9 of 4"),
        (
            {"moves": (*GOOD.moves, Placement("fuse", GPU, 5)), "losses": ("lidar:top",)},
            "task fuse belongs on orin-2.cpu, not on orin-1.gpu.0",
        ),
        ({"losses": ("device:orin-2",), "at_once": ()}, "task decode moves to orin-2.cpu.0, which is lost"),
        (
            {"moves": (Placement("decode", HOME, 9), GOOD.moves[1]), "losses": ("camera:front",)},
            "task decode moves to orin-1.cpu.1, where it is",
        ),
        (
            {"moves": (Placement("decode", 0, 9), GOOD.moves[1]), "losses": ("camera:front",)},
            "task decode is bound to core 1, not to orin-1.cpu.0",
        ),
        (
            {"moves": (GOOD.moves[0], Placement("detect", AWAY, 1))},
            "tasks pair and detect share level 1 on orin-2.cpu.0",
        ),
        (
            {"moves": (GOOD.moves[0], Placement("detect", AWAY, 7))},
            "tasks decode and detect share level 7 on orin-2.cpu.0",
        ),
        (
            {"moves": (GOOD.moves[0], Placement("detect", AWAY, -1))},
            "task detect has the level -1; levels count from 0",
        ),
        ({"dropped": ("detect", "watch"), "variants": ()}, "task detect is dropped and moved"),
        ({"dropped": ("watch", "fuse")}, "task fuse is dropped and at once"),
        ({"dropped": ("pair",), "variants": (), "redone": ("decode", "pair")}, "task pair is dropped and redone"),
        ({"redone": ("pair",)}, "task pair is redone, but does not move"),
        ({"at_once": (("pair", 5),)}, "task pair is at once, but messages activate it; that is what redone is for"),
        ({"at_once": (("fuse", -5),)}, "task fuse is at once 5 ns before the switch"),
        ({"variants": (("detect", "cheap"),)}, "task detect has no variant cheap; there are: light"),
    ],
)
def test_each_rule_names_the_offender(movable: System, plan: Plan, wrong: dict, problem: str) -> None:
    found = problems(movable, plan, replace(GOOD, **wrong))
    assert [text for text in found if text.endswith(problem)], found


def test_the_level_of_a_task_that_leaves_or_is_dropped_is_free(movable: System, plan: Plan) -> None:
    levels = {placement.task: placement.level for placement in plan.placements}
    reused = replace(GOOD, moves=(GOOD.moves[0], Placement("detect", AWAY, levels["watch"])))
    assert problems(movable, plan, reused) == []


def test_one_takeover_answers_a_set_of_losses(movable: System, plan: Plan) -> None:
    assert problems(movable, plan, GOOD, replace(GOOD, dropped=())) == ["2 takeovers answer the loss of device:orin-1"]


Change = Callable[[System], System]


def task(position: int, **change: object) -> Change:
    def changed(system: System) -> System:
        tasks = list(system.tasks)
        tasks[position] = replace(tasks[position], **change)
        return replace(system, tasks=tuple(tasks))

    return changed


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            task(1, execution_by_kind=()),
            "task detect has no execution time on a cpu, as orin-2.cpu.0 is",
        ),
        (
            task(1, variants=(replace(LIGHT, execution_by_kind=()),)),
            "variant light of task detect has no execution time on orin-2.cpu.0",
        ),
        (
            task(1, variants=(replace(LIGHT, every=0),)),
            "variant light of task detect does one of 0 arrivals",
        ),
        (
            task(1, variants=(replace(LIGHT, execution=ExecutionTime(10, 20, (), wcet_lo_ns=15)),)),
            "variant light of task detect has a C_LO; that of a task never changes",
        ),
        (
            task(0, activation=Periodic(Fraction(30))),
            "task decode is redone, but no message activates it",
        ),
    ],
)
def test_each_rule_about_tasks_names_the_offender(movable: System, plan: Plan, change: Change, problem: str) -> None:
    assert f"takeover of device:orin-1: {problem}" in problems(change(movable), plan, GOOD)


def test_users_of_a_ceiling_stay(movable: System, plan: Plan) -> None:
    system = task(0, sections=(CriticalSection("bus", 1, 2),))(movable)
    system = replace(system, resources=(SharedResource("bus", Protocol.PRIORITY_CEILING),))
    (problem,) = problems(system, plan, GOOD)
    assert "task decode holds bus, whose priority_ceiling works on one core" in problem


def test_cycles_are_neither_left_nor_entered(movable: System, plan: Plan) -> None:
    sliced = ProcessingElement(
        "cpu", PEKind.CPU, 2, Policy.TIME_SLICED, True, slices=(TimeSlice(10, ("pair", "watch", "fuse")),)
    )
    devices = (movable.devices[0], replace(movable.devices[1], processing_elements=(sliced,)))
    processors = (*plan.processors[:3], replace(plan.processors[3], policy=Policy.TIME_SLICED))
    found = problems(replace(movable, devices=devices), replace(plan, processors=processors), GOOD)
    assert found == [
        "takeover of device:orin-1: task decode moves to orin-2.cpu.0, which is time_sliced: its cycle is fixed",
        "takeover of device:orin-1: task detect moves to orin-2.cpu.0, which is time_sliced: its cycle is fixed",
    ]


def test_tasks_of_a_lost_device_may_stay_and_be_lost(movable: System, plan: Plan) -> None:
    assert problems(movable, plan, Takeover(("device:orin-1",))) == []


def test_messages_need_a_way_to_where_tasks_go(movable: System, plan: Plan) -> None:
    link = Link("eth", Fraction(10**9), between=("orin-1", "orin-3"))
    linked = replace(movable, links=(link,))
    apart = replace(GOOD, moves=GOOD.moves[:1], variants=())
    assert problems(linked, plan, replace(apart, losses=("lidar:top",))) == [
        "takeover of lidar:top: task detect: input frame comes from decode on orin-2, and no link leads from there to "
        "orin-1"
    ]
    assert problems(linked, plan, apart) == [], "what is lost needs no way"


def test_what_is_ready_to_take_over_needs_memory(movable: System, plan: Plan) -> None:
    system = task(1, memory_bytes=700)(task(2, memory_bytes=400)(movable))
    devices = (system.devices[0], replace(system.devices[1], memory_bytes=1000))
    assert problems(replace(system, devices=devices), plan) == []
    assert problems(replace(system, devices=devices), plan, GOOD) == [
        "device orin-2: its tasks and those that are ready to take over need 1100 bytes of memory, and it has 1000"
    ]
