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
from typing import Any

import numpy as np

from rt_sched.errors import DeploymentError
from rt_sched.trace.records import DropReason, Int64s, JobStatus, SampleStatus, Trace

_SEQUENCE = 1
_FIRST_SAMPLE = -2
_NO_RESPONSE = -1
# Events of one instant in file order: what ended makes room before anything starts on the same track.
_END, _INSTANT, _BEGIN = 0, 1, 2
_SENSORS, _SYSTEM = "sensors", "run"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to the run as a whole, such as an injected fault, at `time_ns` on the run's clock."""

    time_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class _Instant:
    """A point event: `notes` become its arguments in the viewer."""

    time_ns: int
    track: int
    name: str
    notes: Mapping[str, int | str]
    flows_out: Sequence[int] = ()


class _Tracks:
    """Numbers of processes and tracks in the order in which they are asked for."""

    def __init__(self) -> None:
        self.processes: dict[str, int] = {}
        self.tracks: dict[tuple[str, str], int] = {}
        self._next = itertools.count(1)

    def track(self, process: str, name: str) -> int:
        if process not in self.processes:
            self.processes[process] = next(self._next)
        if (process, name) not in self.tracks:
            self.tracks[process, name] = next(self._next)
        return self.tracks[process, name]


def write_perfetto(
    trace: Trace, path: Path, *, chains: Mapping[str, Sequence[str]] | None = None, marks: Iterable[Mark] = ()
) -> None:
    """Write `trace` to `path`, packet by packet; the file appears when it is complete.

    `chains`: name -> path of a chain; arrows are drawn along the edges that some chain uses. `marks`: faults and other
    events of the run. Processor names read device.element.core; the device is the part before the last two.
    Raises DeploymentError when the file cannot be written.
    """
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

    part = path.with_name(path.name + ".part")
    tracks = _Tracks()
    pieces = _Pieces(trace)
    flows = _Flows(trace, pieces, chains or {})
    of_processor = [tracks.track(_device(name), name) for name in trace.processor_names]
    instants = [
        *_arrivals(trace, tracks, flows),
        *_job_incidents(trace, tracks, pieces),
        *_drops(trace, tracks, pieces),
        *(_Instant(mark.time_ns, tracks.track(_SYSTEM, "marks"), mark.text, {}) for mark in marks),
    ]
    try:
        with part.open("wb") as file:
            packets = _Packets(StreamingTraceProtoBuilder(file), trace, pieces, instants)
            packets.describe(tracks)
            track_of_slice = [of_processor[processor] for processor in trace.slices.processor.tolist()]
            for kind, row in _in_time_order(trace, pieces, instants):
                if kind == _END:
                    packets.end(row, track_of_slice[row])
                elif kind == _BEGIN:
                    packets.begin(row, track_of_slice[row], flows.out_of_piece.get(row), flows.into_piece.get(row))
                else:
                    packets.instant(instants[row])
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DeploymentError(f"cannot write {path}: {error.strerror}") from error


class _Pieces:
    """How slices and jobs belong together: rows of the slice table, grouped by job and ordered by start.

    `rows`: slices longer than nothing; `first`, `last`: per job its first and last slice, -1 for none; `position`
    and `count`: per slice its place among those of its job; `processor_of_task`: where a task ran, -1 for nowhere.
    """

    def __init__(self, trace: Trace) -> None:
        slices, jobs = trace.slices, len(trace.jobs)
        order = np.lexsort((slices.start_ns, slices.job))
        order = order[slices.end_ns[order] > slices.start_ns[order]]
        job = slices.job[order]
        starts = np.searchsorted(job, np.arange(jobs))
        ends = np.searchsorted(job, np.arange(jobs), side="right")
        ran = ends > starts
        self.rows = order
        self.first = np.full(jobs, -1, dtype=np.int64)
        self.last = np.full(jobs, -1, dtype=np.int64)
        self.first[ran] = order[starts[ran]]
        self.last[ran] = order[ends[ran] - 1]
        self.position = np.zeros(len(slices), dtype=np.int64)
        self.count = np.zeros(len(slices), dtype=np.int64)
        self.position[order] = np.arange(len(order)) - starts[job]
        self.count[order] = (ends - starts)[job]
        self.processor_of_task = np.full(len(trace.task_names), -1, dtype=np.int64)
        self.processor_of_task[trace.jobs.task[job]] = slices.processor[order]


class _Flows:
    """Numbers of the arrows that leave and reach each slice (row of the slice table) and leave each sample."""

    def __init__(self, trace: Trace, pieces: _Pieces, chains: Mapping[str, Sequence[str]]) -> None:
        self.out_of_piece: dict[int, list[int]] = {}
        self.into_piece: dict[int, list[int]] = {}
        self.out_of_sample: dict[int, list[int]] = {}
        self._numbers = itertools.count(1)
        self._link_pieces(trace, pieces)
        used = {link for path in chains.values() for link in itertools.pairwise(path)}
        for edge in trace.edges:
            if (edge.source, edge.target) in used:
                self._link_messages(trace, pieces, trace.task_names.index(edge.target), edge.slot)

    def _link_pieces(self, trace: Trace, pieces: _Pieces) -> None:
        jobs = trace.slices.job[pieces.rows]
        for before, after in zip(
            pieces.rows[:-1][jobs[1:] == jobs[:-1]].tolist(),
            pieces.rows[1:][jobs[1:] == jobs[:-1]].tolist(),
            strict=True,
        ):
            self._arrow(self.out_of_piece.setdefault(before, []), after)

    def _link_messages(self, trace: Trace, pieces: _Pieces, task: int, slot: int) -> None:
        consumers = np.flatnonzero((trace.jobs.task == task) & (pieces.first >= 0))
        messages = trace.jobs.inputs[consumers, slot]
        for consumer, message in zip(pieces.first[consumers].tolist(), messages.tolist(), strict=True):
            if message >= 0 and pieces.last[message] >= 0:
                self._arrow(self.out_of_piece.setdefault(int(pieces.last[message]), []), consumer)
            elif message <= _FIRST_SAMPLE:
                self._arrow(self.out_of_sample.setdefault(_FIRST_SAMPLE - message, []), consumer)

    def _arrow(self, out: list[int], to_piece: int) -> None:
        number = next(self._numbers)
        out.append(number)
        self.into_piece.setdefault(to_piece, []).append(number)


class _Packets:
    """Encodes events; names are written once, in the first packet, and referred to by number."""

    _NOTES = ("number", "arrival_ns", "deadline_ns", "response_ns", "status", "piece", "pieces", "capture_ns")

    def __init__(self, builder: Any, trace: Trace, pieces: _Pieces, instants: Sequence[_Instant]) -> None:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

        self._builder = builder
        self._type_begin, self._type_end = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END
        self._type_instant = TrackEvent.TYPE_INSTANT
        self._flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        self._cleared = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        events = dict.fromkeys([*trace.task_names, *(instant.name for instant in instants)])
        notes = dict.fromkeys([*self._NOTES, *(note for instant in instants for note in instant.notes)])
        self._event_ids = {name: number for number, name in enumerate(events, start=1)}
        self._note_ids = {name: number for number, name in enumerate(notes, start=1)}
        # Plain lists: an element of an array costs more to reach than a field to write.
        slices, jobs = trace.slices, trace.jobs
        self._slices: list[tuple[int, int, int]] = list(
            zip(slices.start_ns.tolist(), slices.end_ns.tolist(), slices.job.tolist(), strict=True)
        )
        self._pieces: list[tuple[int, int]] = list(
            zip((pieces.position + 1).tolist(), pieces.count.tolist(), strict=True)
        )
        statuses = {int(status): status.name.lower() for status in JobStatus}
        responses_ns = np.where(jobs.status == JobStatus.COMPLETED, jobs.finish_ns - jobs.arrival_ns, _NO_RESPONSE)
        self._jobs: list[tuple[int, int, int, int, int, str, int]] = list(
            zip(
                [self._event_ids[trace.task_names[task]] for task in jobs.task.tolist()],
                jobs.number.tolist(),
                jobs.arrival_ns.tolist(),
                jobs.deadline_ns.tolist(),
                responses_ns.tolist(),
                [statuses[status] for status in jobs.status.tolist()],
                jobs.capture_ns.tolist(),
                strict=True,
            )
        )

    def describe(self, tracks: _Tracks) -> None:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackDescriptor

        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = self._cleared
        for name, number in self._event_ids.items():
            packet.interned_data.event_names.add(iid=number, name=name)
        for name, number in self._note_ids.items():
            packet.interned_data.debug_annotation_names.add(iid=number, name=name)
        self._builder.write_packet(packet)
        for process, number in tracks.processes.items():
            packet = self._packet()
            packet.track_descriptor.uuid = number
            packet.track_descriptor.process.pid = number
            packet.track_descriptor.process.process_name = process
            packet.track_descriptor.child_ordering = TrackDescriptor.EXPLICIT
            self._builder.write_packet(packet)
        for rank, ((process, name), number) in enumerate(tracks.tracks.items()):
            packet = self._packet()
            packet.track_descriptor.uuid = number
            packet.track_descriptor.parent_uuid = tracks.processes[process]
            packet.track_descriptor.name = name
            packet.track_descriptor.sibling_order_rank = rank
            self._builder.write_packet(packet)

    def begin(self, row: int, track: int, out: list[int] | None, into: list[int] | None) -> None:
        start_ns, _, job = self._slices[row]
        name_id, number, arrival_ns, deadline_ns, response_ns, status, capture_ns = self._jobs[job]
        packet, event = self._event(start_ns, track, self._type_begin)
        event.name_iid = name_id
        self._note(event, "number", number)
        self._note(event, "arrival_ns", arrival_ns)
        self._note(event, "deadline_ns", deadline_ns)
        if response_ns != _NO_RESPONSE:
            self._note(event, "response_ns", response_ns)
        self._note(event, "status", status)
        self._note(event, "capture_ns", capture_ns)
        piece, count = self._pieces[row]
        if count > 1:
            self._note(event, "piece", piece)
            self._note(event, "pieces", count)
        if out:
            event.flow_ids.extend(out)
        if into:
            event.terminating_flow_ids.extend(into)
        self._builder.write_packet(packet)

    def end(self, row: int, track: int) -> None:
        packet, _ = self._event(self._slices[row][1], track, self._type_end)
        self._builder.write_packet(packet)

    def instant(self, instant: _Instant) -> None:
        packet, event = self._event(instant.time_ns, instant.track, self._type_instant)
        event.name_iid = self._event_ids[instant.name]
        for name, value in instant.notes.items():
            self._note(event, name, value)
        if instant.flows_out:
            event.flow_ids.extend(instant.flows_out)
        self._builder.write_packet(packet)

    def _packet(self) -> Any:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = self._flags
        return packet

    def _event(self, time_ns: int, track: int, kind: int) -> tuple[Any, Any]:
        packet = self._packet()
        packet.timestamp = time_ns
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        return packet, event

    def _note(self, event: Any, name: str, value: int | str) -> None:
        if isinstance(value, str):
            event.debug_annotations.add(name_iid=self._note_ids[name], string_value=value)
        else:
            event.debug_annotations.add(name_iid=self._note_ids[name], int_value=value)


def _device(processor_name: str) -> str:
    return processor_name.rsplit(".", 2)[0]


def _incidents_of(trace: Trace, tracks: _Tracks, pieces: _Pieces, task: int) -> int:
    processor = int(pieces.processor_of_task[task])
    process = _SYSTEM if processor < 0 else _device(trace.processor_names[processor])
    return tracks.track(process, "incidents")


def _arrivals(trace: Trace, tracks: _Tracks, flows: _Flows) -> Iterator[_Instant]:
    """Every sample that was due before the end, on the track of its sensor."""
    samples = trace.samples
    names = {int(SampleStatus.DELIVERED): "sample", int(SampleStatus.LOST): "sample lost"}
    columns = (samples.sensor, samples.number, samples.arrival_ns, samples.capture_ns, samples.status)
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        sensor, number, arrival_ns, capture_ns, status = values
        if status in names:
            notes = {"number": number, "capture_ns": capture_ns}
            track = tracks.track(_SENSORS, trace.sensor_names[sensor])
            yield _Instant(arrival_ns, track, names[status], notes, flows.out_of_sample.get(row, ()))


def _job_incidents(trace: Trace, tracks: _Tracks, pieces: _Pieces) -> Iterator[_Instant]:
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
            yield _Instant(
                int(time_ns[job]),
                _incidents_of(trace, tracks, pieces, task),
                f"{name}: {trace.task_names[task]}",
                {
                    "number": int(jobs.number[job]),
                    "arrival_ns": int(jobs.arrival_ns[job]),
                    "deadline_ns": int(jobs.deadline_ns[job]),
                },
            )


def _drops(trace: Trace, tracks: _Tracks, pieces: _Pieces) -> Iterator[_Instant]:
    """Dropped messages, where they were to be read."""
    drops = trace.drops
    for time_ns, edge_index, message, reason in zip(
        drops.time_ns.tolist(), drops.edge.tolist(), drops.message.tolist(), drops.reason.tolist(), strict=True
    ):
        edge = trace.edges[edge_index]
        numbers = trace.jobs.number if message >= 0 else trace.samples.number
        notes: dict[str, int | str] = {
            "number": int(numbers[message if message >= 0 else _FIRST_SAMPLE - message]),
            "reason": DropReason(reason).name.lower(),
        }
        track = _incidents_of(trace, tracks, pieces, trace.task_names.index(edge.target))
        yield _Instant(time_ns, track, f"drop: {edge.source} -> {edge.target}.{edge.input}", notes)


def _end_of(trace: Trace, rows: Int64s) -> Int64s:
    """End of each slice; for row -1 that of any, which the caller does not use."""
    return trace.slices.end_ns[rows] if len(trace.slices) else np.zeros(len(rows), dtype=np.int64)


def _in_time_order(trace: Trace, pieces: _Pieces, instants: Sequence[_Instant]) -> Iterator[tuple[int, int]]:
    """(kind, row) of all events; at one instant ends come before instants and those before begins."""
    rows = pieces.rows
    instant_ns = np.array([instant.time_ns for instant in instants], dtype=np.int64)
    time_ns = np.concatenate([trace.slices.end_ns[rows], instant_ns, trace.slices.start_ns[rows]])
    kind = np.repeat([_END, _INSTANT, _BEGIN], [len(rows), len(instants), len(rows)])
    row = np.concatenate([rows, np.arange(len(instants)), rows])
    order = np.lexsort((row, kind, time_ns))
    return zip(kind[order].tolist(), row[order].tolist(), strict=True)
