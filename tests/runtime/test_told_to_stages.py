"""What jobs of a lockstep run tell their stages: that they are to do less, and the sections that they may enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from rt_sched.errors import DeploymentError
from rt_sched.lowering.machine_input import MachineInput, ModeChangeRow, Samples
from rt_sched.model import CriticalSection, ExecutionTime, Periodic, Task
from rt_sched.ports import JobContext, StageBase
from rt_sched.runtime.dataflow import Dataflow
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.stage_graph import FinishedJob, Outputs, StageGraph
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleTable
from rt_sched.trace.setup import OverrunAction, Policy, ProcessorRow, TaskRow

MS = 10**6
NONE = np.zeros(0, np.int64)
SAMPLES = SampleTable(NONE.astype(np.int32), NONE, NONE, NONE, NONE.astype(np.int8))
ROW = TaskRow("task", 0, 10 * MS, 2 * MS, rate_hz=Fraction(100))
OVERRUNNING = TaskRow(
    "task",
    0,
    20 * MS,
    4 * MS,
    rate_hz=Fraction(100),
    budget_ns=5 * MS,
    overrun_action=OverrunAction.DEGRADE,
    degraded_demand_ns=3 * MS,
    explicit_demands_ns=(4 * MS, 12 * MS, 4 * MS, 4 * MS, 9 * MS),
)


class Telling(StageBase):
    """Puts out what `tell` says of the job."""

    outputs: ClassVar[Mapping[str, type]] = {"out": int}
    enters_sections: ClassVar[bool] = True

    def __init__(self, tell: Callable[[JobContext], int]) -> None:
        self._tell = tell

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"out": self._tell(job)}


def told(row: TaskRow, tell: Callable[[JobContext], int], **changes: Any) -> list[int]:
    """What each of the first seven jobs said."""
    task = Task(
        name="task",
        stage="some:Stage",
        parameters=(),
        pe=("box", "cpu"),
        activation=Periodic(Fraction(100)),
        inputs=(),
        execution=ExecutionTime(1, 2, ()),
        deadline_ns=10 * MS,
        separation_ns=10 * MS,
        sections=(CriticalSection("bus", 0, MS),),
    )
    given = MachineInput(
        processors=(ProcessorRow("box.cpu", Policy.FIXED_PRIORITY, True),),
        sensors=(),
        tasks=(row,),
        edges=(),
        horizon_ns=75 * MS,
        seed=0,
        samples=Samples(NONE, NONE, NONE),
        faults=(),
        **changes,
    )
    feed = SimpleNamespace(position=0)
    with Dataflow(1, in_flight=8) as dataflow:
        graph = StageGraph(SimpleNamespace(tasks=(task,)), (Telling(tell),), dataflow, decode=None)  # type: ignore[arg-type]
        done = list(execute(Simulation(given), ("task",), SAMPLES, graph, feed, lambda _: None))  # type: ignore[arg-type]
    results = [one.result for one in done if isinstance(one, FinishedJob)]
    return [one.ports["out"] for one in results if isinstance(one, Outputs)]


def test_the_first_job_to_arrive_after_an_overrun_is_told_to_do_less() -> None:
    """Job 1 overruns at 15 ms, before job 2 arrives; job 4 at 45 ms."""
    assert told(OVERRUNNING, lambda job: int(job.degraded)) == [0, 0, 1, 0, 0, 1, 0, 0]


def test_a_task_that_begins_anew_has_forgotten_it() -> None:
    anew = ModeChangeRow(17 * MS, removed=(0,), added=(0,))
    assert told(OVERRUNNING, lambda job: int(job.degraded), mode_changes=(anew,))[:3] == [0, 0, 0]


def test_sections_take_nothing_where_they_are_modelled() -> None:
    def enter(job: JobContext) -> int:
        with job.section("bus") as is_abandoned:
            return int(is_abandoned)

    assert told(ROW, enter) == [0] * 8


def test_a_section_that_the_task_does_not_declare_is_refused() -> None:
    def enter(job: JobContext) -> int:
        with job.section("map"):
            return 1

    with pytest.raises(DeploymentError, match=r"task task enters a section of 'map', which .* it has: bus"):
        told(ROW, enter)


def test_a_context_without_a_run_enters_any() -> None:
    with JobContext("task", 0, 0, 0, 1, 2).section("anything") as is_abandoned:
        assert not is_abandoned
