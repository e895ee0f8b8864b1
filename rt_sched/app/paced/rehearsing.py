"""The rehearsal of a paced run: stages and recording put together, and how large the recording's messages are."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from rt_sched.app.inputs.decoding import decoder, largest_messages
from rt_sched.app.inputs.log_inputs import pixels_needed
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context
from rt_sched.lowering import lower
from rt_sched.model import Plan, System
from rt_sched.ports import Recording
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.jobs.rehearsal import REHEARSED_NS, Rehearsal, rehearse
from rt_sched.runtime.timeline import Timeline
from rt_sched.trace.records import SampleTable
from sensors.mapping import TopicMapping

#: For so long after the first message of a recording the rehearsal waits for sensors that begin later.
_PATIENCE_NS = 5_000_000_000


def rehearsed(
    system: System,
    plan: Plan,
    catalogue: ImportedStages,
    recording: Recording,
    timeline: Timeline,
    mapping: TopicMapping,
) -> tuple[Rehearsal, list[tuple[str, ...]]]:
    """The first moments in lockstep, in this process; and the output ports of each task's stage."""
    with ExitStack() as stack:
        stages = []
        for task in system.tasks:
            stage = catalogue.create(task)
            stage.start(stage_context(system, task, authenticator=authenticator_of(system)))
            stack.callback(stage.stop)
            stages.append(stage)
        decode = decoder(recording, pixels_needed(system, stages, mapping))
        read = {given.source for task in system.tasks for given in task.inputs}
        until_ns = rehearsed_until_ns(system, timeline.samples, read)
        found = rehearse(
            system,
            stages,
            lower(system, plan, timeline.samples, horizon_ns=until_ns),
            timeline.samples,
            SampleFeed(recording, list(mapping.sensor_to_topic.values()), timeline),
            decode,
        )
        topics = {topic: sensor for sensor, topic in mapping.sensor_to_topic.items() if sensor in read}
        bytes_of = dict(found.bytes_of)
        for sensor, size in largest_messages(recording, topics, decode).items():
            bytes_of[sensor, None] = max(bytes_of.get((sensor, None), 0), size)
        return replace(found, bytes_of=bytes_of), [tuple(stage.outputs) for stage in stages]


def rehearsed_until_ns(system: System, samples: SampleTable, read: Collection[str]) -> int:
    """Until each sensor that is `read` has sent for a while, as without it what follows it would not be rehearsed.

    One that begins much later than the first is not waited for. However short the run itself is.
    """
    first_ns = int(samples.arrival_ns.min(initial=0))
    begins_ns = [first_ns]
    for index, sensor in enumerate(system.sensors):
        mine = samples.arrival_ns[np.equal(samples.sensor, index)]
        if sensor.name in read and len(mine) and int(mine.min()) <= first_ns + _PATIENCE_NS:
            begins_ns.append(int(mine.min()))
    return max(begins_ns) + REHEARSED_NS
