"""Whatever a system declares and a paced run would leave out is refused, all of it at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.refusal import left_out, refuse
from rt_sched.trace.setup import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    ExtraArrivalRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    ModeChangeRow,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    Role,
    RouteChangeRow,
    SectionRow,
    Setup,
    SuspensionRow,
    TaskChangeRow,
    TaskRow,
)

TASK = TaskRow("brake", 0, 50, 10, rate_hz=Fraction(10), budget_ns=12)
EDGE = EdgeRow(0, "image", EdgeKind.LATEST, Role.READ, sensor=0)
PLAIN = Setup((ProcessorRow("ecu.cpu", Policy.FIXED_PRIORITY, True),), ("camera",), (TASK,), (EDGE,))
#: What is declared of the task, and the words that name it.
OF_TASKS = [
    ({"preemption_points_ns": (5,)}, "preemption points"),
    ({"deadline_action": DeadlineAction.ABORT}, "deadline_action abort"),
    ({"deadline_action": DeadlineAction.SKIP_NEXT}, "deadline_action skip_next"),
    ({"overrun_action": OverrunAction.THROTTLE}, "overrun action throttle"),
    ({"low_budget_ns": 4, "high_criticality": True}, "wcet_lo"),
    ({"active": False}, "first mode"),
    ({"every": 3}, "every 3th"),
    ({"rate_hz": None, "explicit_arrivals_ns": (1, 2)}, "listed arrivals"),
]
OF_PROCESSORS = [
    ({"policy": Policy.TIME_SLICED}, "time_sliced"),
    ({"policy": Policy.TABLE}, "table"),
    ({"cores": 2}, "partitioned"),
]
OF_RUNS = [
    ({"faults": (FaultRow(1, FaultTarget.SENSOR, 0),)}, "faults"),
    ({"mode_changes": (ModeChangeRow(1),)}, "changes of mode"),
    ({"frequency_changes": (FrequencyChangeRow(1, 0, 2),)}, "changes of frequency"),
    ({"task_changes": (TaskChangeRow(1, 0, TASK, True),)}, "changes of the plan"),
    ({"extra_arrivals": (ExtraArrivalRow(1, 0),)}, "changes of the plan"),
    ({"route_changes": (RouteChangeRow(1, 0, None),)}, "changes of the plan"),
]
USING = replace(TASK, sections=(SectionRow(0, 1, 2),))
NESTED = replace(TASK, sections=(SectionRow(0, 1, 9), SectionRow(1, 2, 3)))
OTHER_WAY = replace(TASK, name="steer", sections=(SectionRow(1, 1, 9), SectionRow(0, 2, 3)))
EDF = replace(PLAIN.processors[0], policy=Policy.EDF)
CEILING, BOTH = (
    ResourceRow("bus", Protocol.PRIORITY_CEILING),
    (ResourceRow("bus", Protocol.NONE), ResourceRow("map", Protocol.NONE)),
)
OF_RESOURCES = [
    ({"tasks": (USING,), "resources": (ResourceRow("bus", Protocol.MSRP),)}, "msrp of bus"),
    ({"tasks": (USING,), "resources": (CEILING,), "processors": (EDF,)}, "the ceiling of bus under edf on ecu.cpu"),
    ({"tasks": (NESTED, OTHER_WAY), "resources": BOTH}, "bus and map that are nested in both orders"),
]
LINKED = replace(PLAIN, links=(LinkRow("ethernet", Fraction(1)),), edges=(replace(EDGE, link=0),))
SETUPS = [
    *((replace(PLAIN, tasks=(replace(TASK, **given),)), words) for given, words in OF_TASKS),
    *((replace(PLAIN, processors=(replace(PLAIN.processors[0], **given),)), words) for given, words in OF_PROCESSORS),
    *((replace(PLAIN, **given), words) for given, words in (*OF_RUNS, *OF_RESOURCES)),
]


@pytest.mark.parametrize(("setup", "words"), SETUPS, ids=[words for _, words in SETUPS])
def test_what_is_not_carried_out_is_refused(setup: Setup, words: str) -> None:
    with pytest.raises(DeploymentError, match=words):
        refuse(setup)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"overrun_action": OverrunAction.ABORT},
        {"overrun_action": OverrunAction.FAIL_OVER},
        {"let": True},
        {"overrun_action": OverrunAction.SKIP_NEXT},
        {"budget_ns": None, "overrun_action": OverrunAction.THROTTLE},
        {"jitter_ns": 3, "extra_separation_ns": 4, "weakly_hard": (1, 2), "high_criticality": True},
    ],
)
def test_everything_else_is_let_in(given: dict[str, object]) -> None:
    setup = replace(PLAIN, tasks=(replace(TASK, **given),), resources=(ResourceRow("bus", Protocol.NONE),))
    assert left_out(setup) == []
    refuse(setup)


READER = replace(TASK, name="follow")
ACTIVATED = EdgeRow(1, "road", EdgeKind.QUEUE, Role.EACH, task=0)


@pytest.mark.parametrize(
    ("edge", "tier", "words"),
    [
        (ACTIVATED, Tier.FIFO, None),
        (ACTIVATED, Tier.DEADLINE, None),
        (replace(ACTIVATED, role=Role.READ), Tier.FIFO, "queue of input road of follow from brake"),
        (replace(ACTIVATED, role=Role.PAIRED), Tier.FIFO, "queue of input road of follow from brake"),
        (replace(ACTIVATED, role=Role.READ, kind=EdgeKind.LATEST), Tier.DEADLINE, None),
    ],
)
def test_what_dated_messages_cannot_do_is_refused(edge: EdgeRow, tier: Tier, words: str | None) -> None:
    let = replace(PLAIN, tasks=(replace(TASK, let=True), READER), edges=(EDGE, edge))
    refuse(replace(let, tasks=(TASK, READER)), tier=tier)
    if words is None:
        refuse(let, tier=tier)
    else:
        with pytest.raises(DeploymentError, match=words):
            refuse(let, tier=tier)


SUSPENDING = replace(TASK, suspensions=(SuspensionRow(1, 1, 2),))


@pytest.mark.parametrize(
    ("given", "tier", "words"),
    [
        ({}, Tier.FIFO, None),
        ({}, Tier.DEADLINE, "suspensions of brake in the tier deadline"),
        ({}, Tier.USER, "suspensions of brake, as one job at a time is on ecu.cpu"),
        ({"processors": (replace(PLAIN.processors[0], preemptive=False),)}, Tier.FIFO, "one job at a time"),
        ({"tasks": (replace(SUSPENDING, sections=USING.sections),)}, Tier.FIFO, "told from its waits for bus"),
    ],
)
def test_waits_are_let_in_where_they_can_be_measured(given: dict[str, Any], tier: Tier, words: str | None) -> None:
    setup = replace(PLAIN, **{"tasks": (SUSPENDING,), "resources": (ResourceRow("bus", Protocol.NONE),), **given})
    if words is None:
        refuse(setup, tier=tier)
    else:
        with pytest.raises(DeploymentError, match=words):
            refuse(setup, tier=tier)


def test_without_the_count_of_the_kernel_waits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rt_sched.runtime.paced.refusal.waits_are_known", lambda: False)
    with pytest.raises(DeploymentError, match="schedstat"):
        refuse(replace(PLAIN, tasks=(SUSPENDING,)))


@pytest.mark.parametrize("tier", Tier)
def test_links_are_carried_in_every_tier(tier: Tier) -> None:
    refuse(LINKED, tier=tier)
    assert left_out(LINKED) == []


def test_commands_to_the_actuators_side_have_no_date() -> None:
    let = replace(PLAIN, tasks=(replace(TASK, let=True),))
    refuse(let, commands_of="another")
    with pytest.raises(DeploymentError, match="actuators' side"):
        refuse(let, commands_of=TASK.name)


@pytest.mark.parametrize(
    "given",
    [
        {"tasks": (USING,), "resources": (ResourceRow("bus", Protocol.PRIORITY_INHERITANCE),)},
        {"tasks": (USING,), "resources": (CEILING,)},
        {"tasks": (USING,), "resources": (CEILING,), "processors": (replace(EDF, preemptive=False),)},
        {"tasks": (NESTED, replace(NESTED, name="steer")), "resources": BOTH},
        {"resources": (ResourceRow("bus", Protocol.MSRP),)},
        {"tasks": (replace(TASK, overrun_action=OverrunAction.DEGRADE, degraded_demand_ns=3),)},
    ],
)
def test_sections_and_less_work_are_carried_out(given: dict[str, object]) -> None:
    assert left_out(replace(PLAIN, **given)) == []  # type: ignore[arg-type]


def test_all_of_it_is_named_at_once() -> None:
    tasks = tuple(
        replace(TASK, name=f"task{index}", **given)
        for index, (given, _) in enumerate(OF_TASKS)  # type: ignore[arg-type]
    )
    with pytest.raises(DeploymentError) as raised:
        changes = {key: value for given, _ in OF_RUNS for key, value in given.items()}
        refuse(replace(PLAIN, tasks=tasks, **changes), tier=Tier.DEADLINE)
    told = str(raised.value)
    for index, (_, words) in enumerate(OF_TASKS):
        assert words in told and f"task{index}" in told
    assert all(words in told for _, words in OF_RUNS)
