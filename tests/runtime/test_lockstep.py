"""The executor lets go of what no job can read any more, and tells the user's mistakes from defects of a stage."""

import weakref
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from rt_sched.errors import DeploymentError
from rt_sched.lowering.machine_input import MachineInput, Samples
from rt_sched.model import Edge, EdgeKind, ExecutionTime, Input, OnMessage, Task
from rt_sched.model.task import Join
from rt_sched.ports import JobContext, RecordedMessage, Rejected, StageBase
from rt_sched.runtime.dataflow import Dataflow
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.stage_graph import NoData, Outputs, StageFailure, StageGraph
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleTable

FIRST_SAMPLE = -2
CONTEXT = JobContext("task", 0, 0, 0, 1, 2)


class Payload:
    """Something that a weak reference can point to."""


class CountingFeed:
    """Hands out messages and knows how many of them somebody still holds."""

    def __init__(self):
        self.position = 0
        self.alive = weakref.WeakSet()
        self.most_alive = 0

    def next(self):
        self.position += 1
        payload = Payload()
        self.alive.add(payload)
        self.most_alive = max(self.most_alive, len(self.alive))
        return RecordedMessage("/topic", self.position, 0, 0, payload)


def test_samples_that_nobody_reads_are_not_kept():
    """A slow reader, or none at all, must not make a long recording pile up in memory."""
    count = 2000
    arrival_ns, zeros = np.arange(count, dtype=np.int64) * 1000, np.zeros(count, np.int64)
    given = MachineInput(
        processors=(),
        sensors=("camera",),
        tasks=(),
        edges=(),
        horizon_ns=count * 1000,
        seed=0,
        samples=Samples(arrival_ns, zeros, arrival_ns),
        faults=(),
    )
    samples = SampleTable(zeros.astype(np.int32), np.arange(count), arrival_ns, arrival_ns, zeros.astype(np.int8))
    feed = CountingFeed()
    with Dataflow(1, in_flight=8) as dataflow:
        graph = StageGraph(SimpleNamespace(tasks=()), (), dataflow, decode=None)
        assert list(execute(Simulation(given), (), samples, graph, feed, lambda _: None)) == []
    assert feed.position == count
    assert feed.most_alive < 200


def graph_of_one(process, dataflow):
    """A graph with one task that reads one sensor and whose stage does `process`."""

    class OneStage(StageBase):
        outputs: ClassVar = {"out": int}

        def process(self, job, inputs):
            return process(inputs)

    task = Task(
        name="task",
        stage="some:Stage",
        parameters=(),
        pe=("box", "cpu"),
        activation=OnMessage(Join.LATEST, "image"),
        inputs=(Input("image", "camera", None, Edge(EdgeKind.QUEUE)),),
        execution=ExecutionTime(1, 2, ()),
        deadline_ns=10,
        separation_ns=10,
    )
    return StageGraph(SimpleNamespace(tasks=(task,)), (OneStage(),), dataflow, decode=lambda message: message)


def result_of(process):
    """What a job that reads one sample gives."""
    with Dataflow(1, in_flight=8) as dataflow:
        graph = graph_of_one(process, dataflow)
        graph.add_sample(0, 5, RecordedMessage("/topic", 0, 0, 0, b""))
        graph.bind(0, np.array([FIRST_SAMPLE]), 0)
        graph.complete(0, 0, CONTEXT)
        sample, job = graph.finished(wait=True)
    assert (sample.sample, sample.result.ports[None].capture_time_ns) == (0, 5)
    return job.result


def test_a_job_gets_the_sample_with_its_capture_time_on_the_time_line_of_the_run():
    assert result_of(lambda inputs: {"out": inputs["image"].capture_time_ns}).ports == {"out": 5}


def test_a_refusal_is_data_that_is_missing():
    def refuse(_):
        raise Rejected("too dark")

    assert result_of(refuse) == NoData("stage", "too dark")


def test_a_stage_that_names_a_wrong_set_up_is_believed():
    def complain(_):
        raise DeploymentError("set input_width to 300")

    with pytest.raises(DeploymentError, match=r"^set input_width to 300$"):
        result_of(complain)


def test_anything_else_that_a_stage_raises_is_its_defect():
    with pytest.raises(StageFailure, match="stage some:Stage of task task failed in job 0: KeyError"):
        result_of(lambda inputs: {"out": inputs["no such input"]})


def test_outputs_that_were_not_declared_are_a_defect():
    with pytest.raises(StageFailure, match=r"published \['other'\], declared \['out'\]"):
        result_of(lambda _: {"other": 1})


def test_equal_outputs_have_equal_digests_and_others_do_not():
    first, again, other = (result_of(lambda _, value=value: {"out": value}) for value in (1, 1, 2))
    assert isinstance(first, Outputs)
    assert first.digest == again.digest != other.digest


def test_in_a_new_life_a_stateful_stage_and_its_guard_begin_anew():
    class Counting(StageBase):
        outputs: ClassVar = {"out": int}
        stateful: ClassVar = True

        def __init__(self):
            self.seen = 0

        def process(self, job, inputs):
            self.seen += 1
            return {"out": self.seen}

    task = Task(
        name="task",
        stage="some:Stage",
        parameters=(),
        pe=("box", "cpu"),
        activation=OnMessage(Join.LATEST, "image"),
        inputs=(),
        execution=ExecutionTime(1, 2, ()),
        deadline_ns=10,
        separation_ns=10,
    )
    with Dataflow(2, in_flight=8) as dataflow:
        graph = StageGraph(SimpleNamespace(tasks=(task,)), (Counting(),), dataflow, None, {(0, 1): Counting()})
        for job, life in enumerate((0, 0, 1, 1, 1)):
            graph.bind(job, np.array([], np.int64), 0)
            graph.complete(job, 0, CONTEXT, life)
        seen = [finished.result.ports["out"] for finished in graph.finished(wait=True)]
    assert seen == [1, 2, 1, 2, 3]
