"""Packets of a Perfetto trace: processes and tracks, slices that begin and end, instants, with names by number."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rt_sched.record.perfetto_pieces import Pieces
from rt_sched.trace.records import JobStatus, Trace

_SEQUENCE = 1
_NO_RESPONSE = -1


@dataclass(frozen=True, slots=True)
class Instant:
    """A point event: `notes` become its arguments in the viewer."""

    time_ns: int
    track: int
    name: str
    notes: Mapping[str, int | str]
    flows_out: Sequence[int] = ()


class Tracks:
    """Numbers of processes and tracks in the order in which they are asked for.

    `processes`: name -> number; `tracks`: (process, name) -> number.
    """

    def __init__(self) -> None:
        self.processes: dict[str, int] = {}
        self.tracks: dict[tuple[str, str], int] = {}
        self._next = itertools.count(1)

    def track(self, process: str, name: str) -> int:
        """The number of a track, the same whenever it is asked for."""
        if process not in self.processes:
            self.processes[process] = next(self._next)
        if (process, name) not in self.tracks:
            self.tracks[process, name] = next(self._next)
        return self.tracks[process, name]


class Packets:
    """Encodes events; names are written once, in the first packet, and referred to by number.

    `builder`: StreamingTraceProtoBuilder of the perfetto package. `instants`: all that will be written.
    """

    _NOTES = ("number", "arrival_ns", "deadline_ns", "response_ns", "status", "piece", "pieces", "capture_ns")

    def __init__(self, builder: Any, trace: Trace, pieces: Pieces, instants: Sequence[Instant]) -> None:
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

    def describe(self, tracks: Tracks) -> None:
        """Write names, processes and tracks; comes before every event."""
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
        """Write the start of the slice in `row` of the slice table, with the arrows that leave and reach it."""
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
        """Write the end of the slice in `row` of the slice table."""
        packet, _ = self._event(self._slices[row][1], track, self._type_end)
        self._builder.write_packet(packet)

    def instant(self, instant: Instant) -> None:
        """Write a point event."""
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
