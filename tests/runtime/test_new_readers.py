"""A stage that sends changes only is told that a reader has begun anew elsewhere, in time for its next message."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from rt_sched.config import load_system_text
from rt_sched.lowering import lower, nominal_samples
from rt_sched.model import Fault, FaultKind, Placement, PlanChange, Takeover
from rt_sched.planner import make_plan
from rt_sched.ports import Rejected, StageBase
from rt_sched.runtime.dataflow import Dataflow
from rt_sched.runtime.lives import lives_of
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.stage_graph import NoData, StageGraph
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleTable

MS = 1_000_000
END = 300 * MS
SYSTEM = """
rt_sched: 1
name: telling
devices:
  a: {processing_elements: {cpu: {kind: cpu}}}
  b: {processing_elements: {cpu: {kind: cpu}}}
  c: {processing_elements: {cpu: {kind: cpu}}}
tasks:
  tell: {runs_on: b.cpu, activation: {rate: 100Hz}, execution: {bcet: 1ms, wcet: 3ms}}
  hear: {runs_on: a.cpu, candidates: [c.cpu], inputs: {changes: tell}, execution: {wcet: 1ms}}
"""


class Tell(StageBase):
    """Counts up; sends the difference, or everything to those who are new."""

    outputs: ClassVar = {"out": tuple}
    stateful: ClassVar = True

    def __init__(self):
        self.count, self.new_readers = 0, 0

    def process(self, job, inputs):
        full = self.count == 0 or job.new_readers > self.new_readers
        self.new_readers, self.count = job.new_readers, self.count + 1
        return {"out": (full, self.count if full else 1)}


class Hear(StageBase):
    """Knows the count."""

    outputs: ClassVar = {"out": int}
    stateful: ClassVar = True

    def __init__(self):
        self.count = None

    def process(self, job, inputs):
        full, number = inputs["changes"]
        if self.count is None and not full:
            raise Rejected("never heard of it")
        self.count = number if full else self.count + number
        return {"out": self.count}


def heard(*faults: Fault, changes: tuple[PlanChange, ...] = ()) -> list[tuple[int, int | None]]:
    """When each job of `hear` arrived, and what it knew then; None where it refused."""
    system = load_system_text(SYSTEM, file_name="telling.yaml", base_dir=".", stages=None)
    tell, hear = system.tasks
    system = replace(system, tasks=(tell, replace(hear, inputs=(replace(hear.inputs[0], port="out"),))))
    plan = make_plan(system)
    lives = lives_of(system, plan, changes, faults)
    given = lower(
        system, plan, nominal_samples(system, END, 0), horizon_ns=END, seed=3, faults=faults, plan_changes=changes
    )
    none = np.zeros(0, np.int64)
    samples = SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))
    later = {(task, life): (Tell, Hear)[task]() for task in (0, 1) for life in (1, 2, 3)}
    with Dataflow(1, in_flight=8) as dataflow:
        graph = StageGraph(system, (Tell(), Hear()), dataflow, None, later)
        feed = SimpleNamespace(position=0)
        done = list(execute(Simulation(given), ("tell", "hear"), samples, graph, feed, lambda _: None, lives))
    return [
        (one.context.arrival_ns, None if isinstance(one.result, NoData) else one.result.ports["out"])
        for one in done
        if one.task == 1
    ]


def at_c(time_ms: int) -> PlanChange:
    """`hear` goes on at c from then on."""
    return PlanChange(time_ms * MS, Takeover(("device:a",), (Placement("hear", 2, 5),)))


def test_a_reader_that_never_moves_hears_differences() -> None:
    assert [count for _, count in heard()] == list(range(1, 31))


# Before a job of `tell`, at its very begin, while it may be executing, and after it.
@pytest.mark.parametrize("switch_ms", [95, 100, 101, 102, 103])
def test_a_reader_that_begins_elsewhere_knows_all_from_the_next_message_on(switch_ms: int) -> None:
    fault = Fault(FaultKind.DEVICE, "a", 90 * MS)
    known = heard(fault, changes=(at_c(switch_ms),))
    assert all(count is not None for _, count in known)
    assert [count for at_ns, count in known if at_ns >= switch_ms * MS][-1] == 30
    first = next(at_ns for at_ns, _ in known if at_ns >= switch_ms * MS)
    assert first <= (switch_ms + 10 + 3) * MS


def test_so_does_one_that_is_back_and_one_whose_device_restarted_unnoticed() -> None:
    fault = Fault(FaultKind.DEVICE, "a", 90 * MS, 150 * MS)
    for moved in ((at_c(111), PlanChange(201 * MS, None)), ()):
        known = heard(fault, changes=moved)
        assert all(count is not None for _, count in known)
        assert known[-1][1] == 30
