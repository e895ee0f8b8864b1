"""A frame on its way through a chain: from its capture to the first output behind which it or a newer frame lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import message_of_sample, sample_of
from rt_sched.trace.setup import Role
from rt_sched.trace.waits.kinds import Cause, Part, PartKind, Reason, following, merged
from rt_sched.trace.waits.messages import Fate, FateKind, Messages
from rt_sched.trace.waits.parts import job_parts
from rt_sched.trace.waits.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Step:
    """One member of a chain on the way: the sample or job `message`, and the parts that end with its output.

    A job's step begins when what it reads is published; so parts of a job that had arrived before are left out.
    """

    message: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Journey:
    """`sample`, `used`: rows of the frame, and of the one that the output really stands for, which may be a newer one.

    `output`: the row of the job whose output ended the way at `end_ns`, both None where there was none. The parts of
    the `steps` follow each other without a gap from `capture_ns` to the end of the way, or as far as the frame came.
    `lost`: what became of the frame's own data where it went no further; empty where it came out, be it later.
    """

    path: tuple[str, ...]
    sample: int
    used: int | None
    output: int | None
    capture_ns: int
    end_ns: int | None
    steps: tuple[Step, ...]
    lost: tuple[Fate, ...]


def journey(schedule: Schedule, path: Sequence[str], sample: int) -> Journey:
    """The way of the sample in row `sample` along `path`, which begins with its sensor.

    Length and end are those of the latency of that sample in `measure_chain`, if every completed job published.
    Raises ValueError for a path that is no path of this trace.
    """
    trace, messages = schedule.trace, Messages(schedule)
    measured = measure_chain(trace, path)
    edges = [
        next(place for place, edge in enumerate(trace.edges) if (edge.source, edge.target) == pair)
        for pair in pairwise(path)
    ]
    capture_ns = int(trace.samples.capture_ns[sample])
    own, lost = _followed(messages, edges, int(message_of_sample(sample)))
    newest = np.maximum.accumulate(measured.sample_number)
    place = int(np.searchsorted(newest, int(trace.samples.number[sample])))
    if place == len(newest) or messages.published_ns(int(message_of_sample(sample))) is None:
        steps = tuple(_steps(schedule, messages, edges, own, capture_ns))
        return Journey(tuple(path), sample, None, None, capture_ns, None, steps, lost)
    output = int(measured.output_job[place])
    way = _way_back(schedule, edges, output)
    used = int(sample_of(way[0]))
    steps = tuple(_steps(schedule, messages, edges, way, capture_ns))
    end_ns = int(measured.output_ns[place])
    return Journey(tuple(path), sample, used, output, capture_ns, end_ns, steps, () if used == sample else lost)


def _way_back(schedule: Schedule, edges: Sequence[int], output: int) -> list[int]:
    """The sample and the jobs that an output stands for, first to last."""
    way = [output]
    for edge in reversed(edges):
        way.insert(0, int(schedule.trace.jobs.inputs[way[0], schedule.trace.edges[edge].slot]))
    return way


def _followed(messages: Messages, edges: Sequence[int], first: int) -> tuple[list[int], tuple[Fate, ...]]:
    """How far the data of a sample came: one way to there, and what became of all of it; no fates at the very end."""
    way, reached = [first], {first: [first]}
    for edge in edges:
        fates = [messages.fate(edge, message) for message in reached]
        following = {
            job: [*reached[fate.message], job] for fate in fates if fate.kind is FateKind.READ for job in fate.by
        }
        if not following:
            return way, tuple(fates)
        reached = following
        way = next(iter(reached.values()))
    return way, ()


def _steps(
    schedule: Schedule, messages: Messages, edges: Sequence[int], way: Sequence[int], capture_ns: int
) -> Iterator[Step]:
    """The parts of every member of the way, each from where the one before it ended."""
    samples, first = schedule.trace.samples, way[0]
    used = int(sample_of(first))
    own_ns, arrival_ns = int(samples.capture_ns[used]), messages.published_ns(first)
    at_ns = max(own_ns, capture_ns)
    parts = [Part(PartKind.NEWER_FRAME, capture_ns, at_ns, (Cause(first, Reason.NEWER),))]
    if arrival_ns is not None:
        parts.append(Part(PartKind.SENSOR, at_ns, arrival_ns))
        at_ns = max(at_ns, arrival_ns)
    yield Step(first, tuple(merged(parts)))
    for edge, message, job in zip(edges, way, way[1:], strict=False):
        parts = [*messages.transfer_parts(edge, message), *_until_read(schedule, messages, edge, message, job)]
        parts += job_parts(schedule, job)
        published_ns = messages.published_ns(job)
        if published_ns is not None:
            parts.append(Part(PartKind.PUBLISHING, schedule.end_ns(job), published_ns))
        step = tuple(merged(following(parts, at_ns)))
        at_ns = step[-1].end_ns if step else at_ns
        yield Step(job, step)


def _until_read(schedule: Schedule, messages: Messages, edge: int, message: int, job: int) -> Iterator[Part]:
    """From when the message is there to the arrival of the job that reads it."""
    visible_ns, arrival_ns = messages.visible_ns(edge, message), int(schedule.trace.jobs.arrival_ns[job])
    if visible_ns is None or visible_ns >= arrival_ns:
        return
    if schedule.setup.edges[edge].role is not Role.PAIRED:
        yield Part(PartKind.SAMPLING, visible_ns, arrival_ns)
        return
    yield Part(PartKind.PARTNER, visible_ns, arrival_ns, tuple(_last_partner(schedule, messages, job)))


def _last_partner(schedule: Schedule, messages: Messages, job: int) -> Iterator[Cause]:
    """What came last of all that is paired in a job."""
    inputs, task = schedule.trace.jobs.inputs[job], int(schedule.trace.jobs.task[job])
    for edge, row in enumerate(schedule.setup.edges):
        if row.target == task and row.role is Role.PAIRED:
            other = int(inputs[schedule.trace.edges[edge].slot])
            if messages.visible_ns(edge, other) == int(schedule.trace.jobs.arrival_ns[job]):
                yield Cause(other, Reason.PARTNER)
                return
