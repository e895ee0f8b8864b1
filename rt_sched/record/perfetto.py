"""A trace as a file for the Perfetto viewer (https://ui.perfetto.dev): the Gantt chart of a whole run.

Layout: one process per device with one track per processor, a slice per uninterrupted piece of a job, and a track of
incidents (deadline misses, overruns, drops, skips, aborts, losses); a process for the sensors with one track each, an
instant per arriving sample; a process for what concerns no single device. Arrows lead along the edges of the chains,
from the piece in which the producer finished (or the sample) to the piece in which the consumer started, and from piece
to piece of a preempted job.

Source: Perfetto documentation, "Writing TrackEvent Protos Synthetically".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from rt_sched.record.part_file import PartFile
from rt_sched.record.perfetto_packets import Instant, Packets, Tracks
from rt_sched.record.perfetto_pieces import Flows, Pieces
from rt_sched.trace.records import DropReason, Int64s, JobStatus, SampleStatus, Trace, sample_of

# Events of one instant in file order: what ended makes room before anything starts on the same track.
_END, _INSTANT, _BEGIN = 0, 1, 2
_SENSORS, _SYSTEM = "sensors", "run"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to the run as a whole, such as an injected fault, at `time_ns` on the run's clock."""

    time_ns: int
    text: str


def write_perfetto(
    trace: Trace, path: Path, *, chains: Mapping[str, Sequence[str]] | None = None, marks: Iterable[Mark] = ()
) -> None:
    """Write `trace` to `path`, packet by packet; the file appears when it is complete.

    `chains`: name -> path of a chain; arrows are drawn along the edges that some chain uses. `marks`: faults and other
    events of the run. Processor names read device.element.core; the device is the part before the last two.
    Raises DeploymentError when the file cannot be written.
    """
    with PerfettoFile(path, chains or {}) as file:
        file.add(trace, marks)


class PerfettoFile(PartFile):
    """A file to which a run is written in parts, one trace after the other; arrows stay inside a part.

    It appears when its block ends, and only when that ends well. Raises DeploymentError when it cannot be written.
    """

    def __init__(self, path: Path, chains: Mapping[str, Sequence[str]]) -> None:
        super().__init__(path)
        self._chains = chains
        self._tracks = Tracks()
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

        super().__enter__()
        self._builder = StreamingTraceProtoBuilder(self.stream)
        return self

    def add(self, trace: Trace, marks: Iterable[Mark] = ()) -> None:
        """Write a part of the run."""
        tracks, pieces = self._tracks, Pieces(trace)
        flows = Flows(trace, pieces, self._chains, self._numbers)
        of_processor = [tracks.track(_device(name), name) for name in trace.processor_names]
        instants = [
            *_arrivals(trace, tracks, flows),
            *_job_incidents(trace, tracks, pieces),
            *_drops(trace, tracks, pieces),
            *(Instant(mark.time_ns, tracks.track(_SYSTEM, "marks"), mark.text, {}) for mark in marks),
        ]
        track_of_slice = [of_processor[processor] for processor in trace.slices.processor.tolist()]
        with self.told():
            packets = Packets(self._builder, trace, pieces, instants)
            packets.describe(tracks)
            for kind, row in _in_time_order(trace, pieces, instants):
                if kind == _END:
                    packets.end(row, track_of_slice[row])
                elif kind == _BEGIN:
                    packets.begin(row, track_of_slice[row], flows.out_of_piece.get(row), flows.into_piece.get(row))
                else:
                    packets.instant(instants[row])


def _device(processor_name: str) -> str:
    return processor_name.rsplit(".", 2)[0]


def _incidents_of(trace: Trace, tracks: Tracks, pieces: Pieces, task: int) -> int:
    processor = int(pieces.processor_of_task[task])
    process = _SYSTEM if processor < 0 else _device(trace.processor_names[processor])
    return tracks.track(process, "incidents")


def _arrivals(trace: Trace, tracks: Tracks, flows: Flows) -> Iterator[Instant]:
    """Every sample that was due before the end, on the track of its sensor."""
    samples = trace.samples
    names = {int(SampleStatus.DELIVERED): "sample", int(SampleStatus.LOST): "sample lost"}
    columns = (samples.sensor, samples.number, samples.arrival_ns, samples.capture_ns, samples.status)
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        sensor, number, arrival_ns, capture_ns, status = values
        if status in names:
            notes = {"number": number, "capture_ns": capture_ns}
            track = tracks.track(_SENSORS, trace.sensor_names[sensor])
            yield Instant(arrival_ns, track, names[status], notes, flows.out_of_sample.get(row, ()))


def _job_incidents(trace: Trace, tracks: Tracks, pieces: Pieces) -> Iterator[Instant]:
    """Misses at the deadline; overruns, losses where the job last ran; skips where it would have started.

    The records hold no instant for an abort other than the deadline, at which aborting is done.
    """
    jobs = trace.jobs
    last_ran_ns = np.where(pieces.last >= 0, _end_of(trace, pieces.last), jobs.arrival_ns)
    skipped_ns = np.maximum(jobs.arrival_ns, jobs.start_ns)
    for name, happened, time_ns in (
        ("deadline miss", jobs.missed, jobs.deadline_ns),
        ("overrun", jobs.overrun, last_ran_ns),
        ("skipped", jobs.status == JobStatus.SKIPPED, skipped_ns),
        ("aborted", jobs.status == JobStatus.ABORTED, jobs.deadline_ns),
        ("lost", jobs.status == JobStatus.LOST, last_ran_ns),
    ):
        for job in np.flatnonzero(happened).tolist():
            task = int(jobs.task[job])
            yield Instant(
                int(time_ns[job]),
                _incidents_of(trace, tracks, pieces, task),
                f"{name}: {trace.task_names[task]}",
                {
                    "number": int(jobs.number[job]),
                    "arrival_ns": int(jobs.arrival_ns[job]),
                    "deadline_ns": int(jobs.deadline_ns[job]),
                },
            )


def _drops(trace: Trace, tracks: Tracks, pieces: Pieces) -> Iterator[Instant]:
    """Dropped messages, where they were to be read."""
    drops = trace.drops
    for time_ns, edge_index, message, reason in zip(
        drops.time_ns.tolist(), drops.edge.tolist(), drops.message.tolist(), drops.reason.tolist(), strict=True
    ):
        edge = trace.edges[edge_index]
        numbers = trace.jobs.number if message >= 0 else trace.samples.number
        notes: dict[str, int | str] = {
            "number": int(numbers[message if message >= 0 else sample_of(message)]),
            "reason": DropReason(reason).name.lower(),
        }
        track = _incidents_of(trace, tracks, pieces, trace.task_names.index(edge.target))
        yield Instant(time_ns, track, f"drop: {edge.source} -> {edge.target}.{edge.input}", notes)


def _end_of(trace: Trace, rows: Int64s) -> Int64s:
    """End of each slice; for row -1 that of any, which the caller does not use."""
    return trace.slices.end_ns[rows] if len(trace.slices) else np.zeros(len(rows), dtype=np.int64)


def _in_time_order(trace: Trace, pieces: Pieces, instants: Sequence[Instant]) -> Iterator[tuple[int, int]]:
    """(kind, row) of all events; at one instant ends come before instants and those before begins."""
    rows = pieces.rows
    instant_ns = np.array([instant.time_ns for instant in instants], dtype=np.int64)
    time_ns = np.concatenate([trace.slices.end_ns[rows], instant_ns, trace.slices.start_ns[rows]])
    kind = np.repeat([_END, _INSTANT, _BEGIN], [len(rows), len(instants), len(rows)])
    row = np.concatenate([rows, np.arange(len(instants)), rows])
    order = np.lexsort((row, kind, time_ns))
    return zip(kind[order].tolist(), row[order].tolist(), strict=True)
