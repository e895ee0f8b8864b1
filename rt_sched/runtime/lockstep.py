"""The lockstep executor: the scheduling kernel in virtual time, stage code on real data.

Durations are modelled, so the schedule never waits for the host: it runs ahead while the stage graph computes behind
it on all host cores. Results appear in the order of the schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rt_sched.kernels import codes
from rt_sched.ports import JobContext
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.lives import NO_CHANGES, Lives
from rt_sched.runtime.stage_graph import Finished, StageGraph
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleTable, sample_of

#: Instants that the kernel processes in one call; after each call, messages that nobody will read are let go.
_INSTANTS = 128

_COLUMNS = ("time_ns", "kind", "task", "job", "message", "value")
_ENDING = frozenset({codes.EVENT_SKIP, codes.EVENT_ABORT, codes.EVENT_JOB_LOST, codes.EVENT_SUPPRESS})
_FORGETTING = frozenset({codes.EVENT_TASK_REMOVED, codes.EVENT_TASK_MOVED})


def execute(
    simulation: Simulation,
    task_names: Sequence[str],
    samples: SampleTable,
    graph: StageGraph,
    feed: SampleFeed,
    progress: Callable[[int], None],
    lives: Lives = NO_CHANGES,
) -> Iterator[Finished]:
    """Steps the schedule to its end and yields every computed job and decoded sample, in schedule order.

    `samples`: the sensor samples that drive `simulation`, in order of arrival; `feed` hands out the same ones.
    `progress` gets the virtual time in ns. `lives`: what takeovers and losses mean for stages. Raises what stage code
    or the recording raise.
    """
    waiting: set[int] = set()
    do_less: set[int] = set()
    degraded: set[int] = set()
    while (events := simulation.step(_INSTANTS)) is not None:
        for now_ns, kind, task, job, message, value in zip(*(events[name].tolist() for name in _COLUMNS), strict=True):
            if kind == codes.EVENT_SAMPLE:
                sample = sample_of(message)
                while feed.position <= sample:
                    graph.add_sample(feed.position, int(samples.capture_ns[feed.position]), feed.next())
            elif kind == codes.EVENT_ARRIVAL:
                waiting.add(job)
                if task in do_less:
                    do_less.discard(task)
                    degraded.add(job)
            elif kind == codes.EVENT_START:
                waiting.discard(job)
                graph.bind(job, simulation.inputs[job], now_ns)
            elif kind == codes.EVENT_COMPLETE:
                context = _context(simulation, task, task_names[task], job, lives, degraded=job in degraded)
                graph.complete(job, task, context, lives.life(task, context.arrival_ns))
            elif kind in _ENDING:
                waiting.discard(job)
                graph.discard(job)
            elif kind == codes.EVENT_ENFORCE and value == codes.OVERRUN_DEGRADE:
                do_less.add(task)
            elif kind in _FORGETTING:
                do_less.discard(task)
        bound = simulation.inputs[sorted(waiting)].ravel()
        graph.forget_except(np.concatenate((simulation.held_messages(), bound)))
        progress(simulation.now_ns)
        yield from graph.finished(wait=False)
    yield from graph.finished(wait=True)


def _context(simulation: Simulation, task: int, name: str, job: int, lives: Lives, *, degraded: bool) -> JobContext:
    row = simulation.jobs[job]
    return JobContext(
        task=name,
        number=int(row["number"]),
        arrival_ns=int(row["arrival_ns"]),
        start_ns=int(row["start_ns"]),
        finish_ns=int(row["finish_ns"]),
        deadline_ns=int(row["deadline_ns"]),
        weights=lives.weights(int(row["arrival_ns"])),
        new_readers=lives.new_readers(task, int(row["finish_ns"])),
        degraded=degraded,
    )
