"""A plan that does not fit its system is refused with the offender's name."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rt_sched.lowering import check_plan
from rt_sched.model import Join, OnMessage, Placement, Plan, Policy, System


def test_a_fitting_plan_has_no_problems(system: System, plan: Plan) -> None:
    assert check_plan(system, plan) == []


def place(position: int, **change: object) -> Callable[[Plan], Plan]:
    def changed(plan: Plan) -> Plan:
        placements = list(plan.placements)
        placements[position] = replace(placements[position], **change)
        return replace(plan, placements=tuple(placements))

    return changed


def processor(position: int, **change: object) -> Callable[[Plan], Plan]:
    def changed(plan: Plan) -> Plan:
        processors = list(plan.processors)
        processors[position] = replace(processors[position], **change)
        return replace(plan, processors=tuple(processors))

    return changed


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda plan: replace(plan, system="other"), "the plan was made for system other, not for small"),
        (place(0, processor=0), "task decode is bound to core 1, not to orin-1.cpu.0"),
        (place(1, processor=3, level=5), "task detect belongs on orin-1.gpu, not on orin-2.cpu.0"),
        (place(1, processor=9), "task detect is on processor 9 of 4"),
        (place(2, level=0), "tasks pair and fuse share level 0 on orin-2.cpu.0"),
        (place(4, level=-1), "task watch has the level -1; levels count from 0"),
        (place(4, task="wach"), "not placed: watch; unknown: wach"),
        (
            lambda plan: replace(plan, placements=plan.placements[::-1]),
            "placements do not stand in the order of the system's tasks, one each",
        ),
        (
            lambda plan: replace(plan, placements=(*plan.placements, Placement("fuse", 3, 7))),
            "placements do not stand in the order of the system's tasks, one each",
        ),
        (processor(0, core=2), "processor orin-1.cpu.2: orin-1.cpu has cores 0 ... 1"),
        (
            processor(0, pe="dla"),
            "processor orin-1.dla.0 is on no processing element of the system; "
            "there are: orin-1.cpu, orin-1.gpu, orin-2.cpu",
        ),
        (processor(2, preemptive=True), "processor orin-1.gpu.0 is planned as preemptive, but the element is not"),
        (processor(2, policy=Policy.EDF), "processor orin-1.gpu.0 is planned as edf, but it is fifo"),
        (processor(0, core=1), "processor orin-1.cpu.1 stands in the plan 2 times"),
    ],
)
def test_each_misfit_is_named(system: System, plan: Plan, change: Callable[[Plan], Plan], problem: str) -> None:
    assert check_plan(system, change(plan)) == [problem]


def test_every_misfit_is_reported(system: System, plan: Plan) -> None:
    wrong = place(0, processor=0)(place(1, processor=9)(replace(plan, system="other")))
    assert len(check_plan(system, wrong)) == 3


def test_a_task_that_nothing_activates_is_named(system: System, plan: Plan) -> None:
    watch = replace(system.tasks[4], activation=OnMessage(Join.ANY))
    lost = replace(system.tasks[1], inputs=(replace(system.tasks[1].inputs[0], source="dcode"),))
    wrong = replace(system, tasks=(system.tasks[0], lost, *system.tasks[2:4], watch))
    assert check_plan(wrong, plan) == [
        "task detect: input frame comes from dcode, which does not exist",
        "task watch is activated by messages, but none of its inputs activates it",
    ]
