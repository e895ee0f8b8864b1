"""Messages are protected where a job publishes them and checked where a job reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from rt_sched.messages.authentication import Authenticator
from rt_sched.messages.control import Command
from rt_sched.messages.e2e import E2EState, intact_header, protect
from rt_sched.model import Edge, EdgeKind, ExecutionTime, Input, OnMessage, Task
from rt_sched.model.task import Join
from rt_sched.ports import JobContext, StageBase
from rt_sched.runtime.protection import InputGuard
from rt_sched.runtime.stage_graph import NoData, Outputs, run_job


class Forward(StageBase):
    """Publishes the command it reads, or a calm one, with a counter of its own."""

    inputs: ClassVar[Mapping[str, type]] = {"command": Command}
    outputs: ClassVar[Mapping[str, type]] = {"command": Command}

    def __init__(self) -> None:
        self.read: list[Any] = []

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        self.read.append(inputs["command"])
        return {"command": plain(job.number)}


class Judge(Forward):
    checks_e2e: ClassVar[bool] = True


def plain(counter: int) -> Command:
    return Command(5, "x", counter, -1.0, False, None, True)


def task(name: str = "reader", *, required: bool = True, edge: EdgeKind = EdgeKind.QUEUE) -> Task:
    given = Input("command", "writer", "command", Edge(edge), required)
    return Task(
        name=name,
        stage="m:C",
        parameters=(),
        pe=("d", "p"),
        activation=OnMessage(Join.ANY),
        inputs=(given,),
        execution=ExecutionTime(1, 1, (1, 1)),
        deadline_ns=10,
        separation_ns=10,
    )


def context(number: int) -> JobContext:
    return JobContext("reader", number, 10 * number, 10 * number + 1, 10 * number + 3, 10 * number + 10)


def sent(counter: int, source: str = "writer.command") -> Command:
    return protect(plain(counter), source=source, counter=counter, stamp_ns=counter)


def read(stage: Forward, *messages: Any, keeps_memory: bool = True, **options: Any) -> list[Outputs | NoData]:
    reader = task(**options)
    guard = InputGuard(reader, keeps_memory=keeps_memory)
    return [
        run_job(reader, stage, guard, context(number), {0: Outputs({"command": message})})
        for number, message in enumerate(messages)
    ]


def checks(results: list[Outputs | NoData]) -> list[E2EState]:
    return [check.state for result in results for check in result.checks]


def test_what_a_job_publishes_carries_its_number_and_its_finish() -> None:
    (result,) = read(Forward(), sent(0))
    assert isinstance(result, Outputs)
    header = intact_header(result.ports["command"], "reader.command")
    assert header is not None
    assert (header.counter, header.stamp_ns) == (0, 3)


def test_the_digest_of_outputs_does_not_depend_on_when_they_were_sent() -> None:
    reader, guard = task(), InputGuard(task(), keeps_memory=False)
    late = dataclasses.replace(context(0), finish_ns=9)
    given = {0: Outputs({"command": sent(0)})}
    early, later = (run_job(reader, Forward(), guard, when, given) for when in (context(0), late))
    assert isinstance(early, Outputs)
    assert isinstance(later, Outputs)
    assert early.digest == later.digest
    assert early.ports != later.ports


DAMAGED = [
    pytest.param(plain(1), id="without a header"),
    pytest.param(dataclasses.replace(sent(1), acceleration_m_s2=3.0), id="changed on its way"),
    pytest.param(sent(1, "other.command"), id="from another task"),
]


@pytest.mark.parametrize("message", DAMAGED)
def test_a_damaged_message_is_never_read(message: Command) -> None:
    stage = Forward()
    first, second = read(stage, message, sent(2))
    assert first == NoData("input", "command: damaged or not from writer.command", first.checks)
    assert isinstance(second, Outputs)
    assert checks([first, second]) == [E2EState.ERROR, E2EState.OK]
    assert stage.read == [plain(2)]


@pytest.mark.parametrize("message", DAMAGED)
def test_a_damaged_message_at_an_input_that_is_not_required_counts_as_none(message: Command) -> None:
    stage = Forward()
    (result,) = read(stage, message, required=False)
    assert isinstance(result, Outputs)
    assert stage.read == [None]


@pytest.mark.parametrize("message", DAMAGED)
def test_a_stage_that_checks_itself_gets_what_came(message: Command) -> None:
    stage = Judge()
    (result,) = read(stage, message)
    assert stage.read == [message]
    assert result.checks == ()


@pytest.mark.parametrize(
    ("edge", "keeps_memory", "expected"),
    [
        (EdgeKind.QUEUE, True, [E2EState.OK, E2EState.REPEATED, E2EState.OK, E2EState.WRONG_SEQUENCE]),
        (EdgeKind.LATEST, True, [E2EState.OK, E2EState.NO_NEW_DATA, E2EState.OK, E2EState.WRONG_SEQUENCE]),
        (EdgeKind.QUEUE, False, [E2EState.OK] * 4),
    ],
)
def test_sequence_is_judged_where_jobs_come_in_order(
    edge: EdgeKind, keeps_memory: bool, expected: list[E2EState]
) -> None:
    stage = Forward()
    results = read(stage, sent(3), sent(3), sent(9000), sent(8), keeps_memory=keeps_memory, edge=edge)
    assert checks(results) == expected
    assert len(stage.read) == 4


def test_with_a_key_what_lacks_it_is_damaged_and_what_is_published_carries_it() -> None:
    keyed = Authenticator(bytes(32), frozenset({"Command"}))
    reader, stage = task(), Forward()
    guard = InputGuard(reader, keeps_memory=True, authenticator=keyed)
    signed = [
        protect(plain(number), source="writer.command", counter=number, stamp_ns=number, authenticator=keyed)
        for number in range(3)
    ]
    given = (signed[0], sent(1), signed[2], signed[0])
    results = [
        run_job(reader, stage, guard, context(number), {0: Outputs({"command": message})})
        for number, message in enumerate(given)
    ]
    good, bad = E2EState.OK, E2EState.ERROR
    assert checks(results) == [good, bad, good, bad]
    assert [isinstance(result, Outputs) for result in results] == [True, False, True, False]
    first = results[0]
    assert isinstance(first, Outputs)
    assert intact_header(first.ports["command"], "reader.command", keyed) is not None
    assert intact_header(first.ports["command"], "reader.command") is None
