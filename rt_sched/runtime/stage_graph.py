"""Stage code as a data-flow graph: one node per job and per sensor sample that a job reads.

The schedule decides which message each job reads; this module only follows it. A job is computed when the schedule
says that it completed, from the inputs it had when the schedule started it.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError, DeploymentError, RtSchedError
from rt_sched.messages import Authenticator, canonical_digest
from rt_sched.messages.control import InputCheck
from rt_sched.messages.e2e import E2EState, is_protectable, without_header
from rt_sched.model import System, Task
from rt_sched.ports import JobContext, JobStopped, RecordedMessage, Rejected, Stage
from rt_sched.ports.sections import ModelledSections
from rt_sched.runtime.dataflow import Dataflow, Node
from rt_sched.runtime.protection import InputGuard, protected_outputs
from rt_sched.trace.records import message_of_sample, sample_of

_NO_MESSAGE = -1


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a job published or a sample holds, by port; samples use the port None.

    `digest`: of all ports, for jobs, without what protects them on their way. `checks`: of the job's inputs.
    """

    ports: Mapping[Any, Any]
    digest: bytes = b""
    checks: tuple[InputCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class NoData:
    """Nothing to publish. `source`: "decode" and "stage" where the data was refused, "input" where it was missing."""

    source: str
    reason: str
    checks: tuple[InputCheck, ...] = ()


class StageFailure(RtSchedError):
    """Stage code raised something it should not have: a defect of the stage, not of the user's input."""

    is_defect = True

    def __init__(self, task: str, stage: str, job: int, error: Exception) -> None:
        super().__init__(f"stage {stage} of task {task} failed in job {job}: {type(error).__name__}: {error}")
        self.__cause__ = error


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A computed job: its row in the job table, its task's index, its times and what it published."""

    job: int
    task: int
    context: JobContext
    result: Outputs | NoData


@dataclass(frozen=True, slots=True)
class FinishedSample:
    """A decoded sample: its row in the sample table, when the first job read it, and what it holds."""

    sample: int
    read_ns: int
    result: Outputs | NoData


Finished = FinishedJob | FinishedSample


class StageGraph:
    """Builds and computes the nodes of one run. `decode` turns a recorded message into a message type.

    `successors`: the stage of a task, by its index, in each life of it but the first, for stateful ones.
    `authenticator`: of the messages that must carry a tag.
    """

    def __init__(
        self,
        system: System,
        stages: Sequence[Stage],
        dataflow: Dataflow,
        decode: Callable[[RecordedMessage], Any],
        successors: Mapping[tuple[int, int], Stage] = MappingProxyType({}),
        authenticator: Authenticator | None = None,
    ) -> None:
        self._tasks = system.tasks
        everyone = {(index, 0): stage for index, stage in enumerate(stages)} | dict(successors)
        self._served = {
            key: (
                stage,
                InputGuard(system.tasks[key[0]], keeps_memory=stage.stateful, authenticator=authenticator),
            )
            for key, stage in everyone.items()
        }
        self._dataflow = dataflow
        self._decode = decode
        self._nodes: dict[int, Node] = {}
        self._samples: dict[int, Node] = {}
        self._bound: dict[int, dict[int, Node]] = {}
        self._last_of_task: dict[tuple[int, int], Node] = {}
        self._outbox: deque[tuple[Node, Callable[[Outputs | NoData], Finished]]] = deque()

    def add_sample(self, sample: int, capture_ns: int, message: RecordedMessage) -> None:
        """Makes a delivered sample known; it is decoded when the first job reads it."""
        self._samples[message_of_sample(sample)] = Node(lambda _: self._decoded(message, capture_ns), ())

    def bind(self, job: int, inputs: npt.NDArray[np.int64], now_ns: int) -> None:
        """Keeps hold of the messages that `job` reads; called at its start."""
        read = enumerate(inputs.tolist())
        self._bound[job] = {slot: self._node(message, now_ns) for slot, message in read if message != _NO_MESSAGE}

    def discard(self, job: int) -> None:
        """Lets go of a job that will not complete."""
        self._bound.pop(job, None)

    def complete(self, job: int, task_index: int, context: JobContext, life: int = 0) -> None:
        """Starts the computation of a completed job as soon as its inputs are computed; `life`: of its task."""
        task, key = self._tasks[task_index], (task_index, life)
        stage, guard = self._served.get(key) or self._served[task_index, 0]
        bound = self._bound.pop(job, {})
        needs = [bound[slot] for slot in sorted(bound)]
        slots = sorted(bound)
        before = self._last_of_task.get(key) if stage.stateful else None
        node = Node(
            lambda results: run_job(task, stage, guard, context, dict(zip(slots, results, strict=False))),
            needs if before is None else [*needs, before],
        )
        if stage.stateful:
            self._last_of_task[key] = node
        self._nodes[job] = node
        self._outbox.append((node, lambda result: FinishedJob(job, task_index, context, result)))
        self._dataflow.submit(node)

    def finished(self, *, wait: bool) -> Iterator[Finished]:
        """Computed jobs and samples, in the order of the schedule; all that are left when `wait`."""
        while self._outbox and (wait or self._outbox[0][0].done):
            node, finished = self._outbox.popleft()
            yield finished(self._dataflow.wait(node))

    def forget_except(self, live: npt.NDArray[np.int64]) -> None:
        """Drops every message that no edge holds any more; `live`: message ids in registers and queues."""
        keep = {int(message) for message in live}
        self._nodes = {message: node for message, node in self._nodes.items() if message in keep}
        self._samples = {message: node for message, node in self._samples.items() if message in keep}

    def _node(self, message: int, now_ns: int) -> Node:
        node = self._nodes.get(message)
        if node is None:
            node = self._nodes[message] = self._samples.pop(message)
            sample = sample_of(message)
            self._outbox.append((node, lambda result: FinishedSample(sample, now_ns, result)))
            self._dataflow.submit(node)
        return node

    def _decoded(self, message: RecordedMessage, capture_ns: int) -> Outputs | NoData:
        try:
            decoded = self._decode(message)
        except DataError as error:
            return NoData("decode", str(error))
        return Outputs({None: dataclasses.replace(decoded, capture_time_ns=capture_ns)})


def samples_read(inputs: npt.NDArray[np.int64]) -> list[int]:
    """Rows of the sample table among the message ids that a job read."""
    rows = sample_of(inputs)
    return [int(row) for row in rows[rows >= 0]]


def run_job(
    task: Task,
    stage: Stage,
    guard: InputGuard,
    context: JobContext,
    results: Mapping[int, Outputs | NoData],
    finished_ns: Callable[[], int] | None = None,
) -> Outputs | NoData:
    """One job: gather and check inputs, run the stage's lifecycle for a job, digest and protect what it publishes.

    `finished_ns` tells when the stage has done, where `context` cannot know that beforehand. Then nothing is digested,
    as no other run will have the same outputs.
    """
    if context.sections is None and getattr(stage, "enters_sections", False):
        held = frozenset(section.resource for section in task.sections)
        context = dataclasses.replace(context, sections=ModelledSections(task.name, held))
    values: dict[str, Any] = {}
    checks: list[InputCheck] = []
    self_checking = getattr(stage, "checks_e2e", False)
    for slot, port in enumerate(task.inputs):
        result = results.get(slot)
        value = result.ports[port.port] if isinstance(result, Outputs) else None
        reason = result.reason if isinstance(result, NoData) else "no message"
        if not self_checking and is_protectable(value):
            check = InputCheck(port.name, guard.state(slot, value))
            checks.append(check)
            if check.state is E2EState.ERROR:
                value, reason = None, f"damaged or not from {guard.source(slot)}"
            else:
                value = without_header(value)  # what a stage passes on is its own word, under its own header
        if value is None and port.required:
            return NoData("input", f"{port.name}: {reason}", tuple(checks))
        values[port.name] = value
    try:
        outputs = stage.process(context, stage.preprocess(context, values))
        if outputs.keys() != stage.outputs.keys():
            raise TypeError(f"published {sorted(outputs)}, declared {sorted(stage.outputs)}")
        stage.postprocess(context, outputs)
    except (Rejected, DataError) as error:
        return NoData("stage", str(error), tuple(checks))
    except (DeploymentError, JobStopped):
        raise  # the system file or the machine is at fault, and the message says what to change; or somebody asked
    except Exception as error:
        raise StageFailure(task.name, task.stage, context.number, error) from error
    if finished_ns is not None:
        context = dataclasses.replace(context, finish_ns=finished_ns())
        return Outputs(protected_outputs(task.name, context, outputs, guard.authenticator), b"", tuple(checks))
    published = protected_outputs(task.name, context, outputs, guard.authenticator)
    return Outputs(published, outputs_digest(outputs), tuple(checks))


def outputs_digest(outputs: Mapping[str, Any]) -> bytes:
    """Of what a job published, by port, without what protects it on its way."""
    hasher = hashlib.sha256()
    for name in sorted(outputs):
        hasher.update(name.encode() + b"=" + canonical_digest(outputs[name]))
    return hasher.digest()
