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
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.stage_graph import FinishedJob, NoData, Outputs, StageGraph
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleTable, message_of_sample

#: How much of the recording is rehearsed, from the first arrival on.
REHEARSED_NS = 450_000_000


@dataclass(frozen=True, slots=True)
class Example:
    """A job that was computed: its times, and what it read on each input slot."""

    job: JobContext
    read: Mapping[int, Outputs | NoData]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`jobs`: by task, in their order. `bytes_of`: (sensor or task, port) -> largest message."""

    jobs: Mapping[str, Sequence[Example]]
    bytes_of: Mapping[tuple[str, str | None], int]

    def example(self, task: str) -> Example | None:
        """The last job of a task, None where it had none."""
        jobs = self.jobs.get(task, ())
        return jobs[-1] if jobs else None


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
    computed: list[FinishedJob] = []
    bytes_of: dict[tuple[str, str | None], int] = defaultdict(int)
    simulation = Simulation(given)
    names = [task.name for task in system.tasks]
    with Dataflow(1, in_flight=1) as dataflow:
        graph = StageGraph(system, stages, dataflow, decode, authenticator=authenticator_of(system))
        for finished in execute(simulation, names, samples, graph, feed, lambda _now_ns: None):
            if isinstance(finished, FinishedJob):
                source, message = names[finished.task], finished.job
                computed.append(finished)
            else:
                source = system.sensors[int(samples.sensor[finished.sample])].name
                message = message_of_sample(finished.sample)
            results[message] = finished.result
            for port, value in finished.result.ports.items() if isinstance(finished.result, Outputs) else ():
                size = Encoded(Outputs({port: value})).size
                bytes_of[source, port] = max(bytes_of[source, port], size)
    jobs: dict[str, list[Example]] = defaultdict(list)
    for one in computed:
        read = enumerate(simulation.inputs[one.job].tolist())
        known = {slot: results[message] for slot, message in read if message in results}
        jobs[names[one.task]].append(Example(one.context, known))
    return Rehearsal(dict(jobs), dict(bytes_of))
