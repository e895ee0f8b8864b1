"""Before a paced run: the first moments of the recording, in lockstep, in the process that workers are forked from.

So everything is compiled and loaded that stages need, every worker has an example of its job to warm up with, and it is
known how large messages are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.model import System
from rt_sched.ports import JobContext, RecordedMessage, Stage
from rt_sched.runtime.dataflow import Dataflow
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.paced.codec import Encoded
from rt_sched.runtime.stage_graph import FinishedJob, NoData, Outputs, StageGraph
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleTable, message_of_sample


@dataclass(frozen=True, slots=True)
class Example:
    """A job that was computed: its times, and what it read on each input slot."""

    job: JobContext
    read: Mapping[int, Outputs | NoData]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`examples`: by task, the last job of each that had one. `bytes_of`: (sensor or task, port) -> largest message."""

    examples: Mapping[str, Example]
    bytes_of: Mapping[tuple[str, str | None], int]


def rehearse(
    system: System,
    stages: Sequence[Stage],
    given: MachineInput,
    samples: SampleTable,
    feed: SampleFeed,
    decode: Callable[[RecordedMessage], Any],
) -> Rehearsal:
    """Runs `given` to its horizon. `stages`: started, one per task. Raises what they raise."""
    results: dict[int, Outputs | NoData] = {}
    last: dict[int, FinishedJob] = {}
    bytes_of: dict[tuple[str, str | None], int] = defaultdict(int)
    simulation = Simulation(given)
    names = [task.name for task in system.tasks]
    with Dataflow(1, in_flight=1) as dataflow:
        graph = StageGraph(system, stages, dataflow, decode)
        for finished in execute(simulation, names, samples, graph, feed, lambda _now_ns: None):
            if isinstance(finished, FinishedJob):
                source, message = names[finished.task], finished.job
                last[finished.task] = finished
            else:
                source = system.sensors[int(samples.sensor[finished.sample])].name
                message = message_of_sample(finished.sample)
            results[message] = finished.result
            for port, value in finished.result.ports.items() if isinstance(finished.result, Outputs) else ():
                size = Encoded(Outputs({port: value})).size
                bytes_of[source, port] = max(bytes_of[source, port], size)
    examples = {
        names[task]: Example(
            finished.context,
            {
                slot: results[message]
                for slot, message in enumerate(simulation.inputs[finished.job].tolist())
                if message in results
            },
        )
        for task, finished in last.items()
    }
    return Rehearsal(examples, dict(bytes_of))
