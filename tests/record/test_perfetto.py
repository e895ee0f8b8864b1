"""The written trace read back as protobuf: structure that the viewer relies on, and content against the tables."""

from __future__ import annotations

import collections
import dataclasses
import itertools

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from rt_sched.errors import DeploymentError
from rt_sched.record.perfetto import Mark, write_perfetto
from rt_sched.trace import DropTable, JobStatus, JobTable, SampleTable, SliceTable, Trace

CHAINS = {"brake": ("front", "prepare", "infer", "plan"), "backup": ("lidar", "cluster", "plan")}
BEGIN, END, INSTANT = (
    proto.TrackEvent.TYPE_SLICE_BEGIN,
    proto.TrackEvent.TYPE_SLICE_END,
    proto.TrackEvent.TYPE_INSTANT,
)


class Parsed:
    """A trace file with its names resolved: `events` are (time, type, (process, track), event name, notes, event)."""

    def __init__(self, data: bytes) -> None:
        packets = proto.Trace.FromString(data).packet
        self.processes: dict[int, str] = {}
        self.tracks: dict[int, tuple[str, str]] = {}
        self.events = []
        names: dict[int, str] = {}
        notes: dict[int, str] = {}
        for packet in packets:
            assert packet.trusted_packet_sequence_id == 1
            for entry in packet.interned_data.event_names:
                names[entry.iid] = entry.name
            for entry in packet.interned_data.debug_annotation_names:
                notes[entry.iid] = entry.name
            descriptor = packet.track_descriptor
            if descriptor.HasField("process"):
                assert descriptor.uuid not in self.processes
                self.processes[descriptor.uuid] = descriptor.process.process_name
            elif descriptor.uuid:
                assert descriptor.uuid not in self.tracks
                assert descriptor.uuid not in self.processes
                self.tracks[descriptor.uuid] = (self.processes[descriptor.parent_uuid], descriptor.name)
            if packet.HasField("track_event"):
                event = packet.track_event
                found = {notes[note.name_iid]: note.string_value or note.int_value for note in event.debug_annotations}
                name = names[event.name_iid] if event.type != END else None
                self.events.append((packet.timestamp, event.type, self.tracks[event.track_uuid], name, found, event))


@pytest.fixture(scope="module")
def written(eventful_trace, tmp_path_factory) -> Parsed:
    path = tmp_path_factory.mktemp("perfetto") / "trace.pftrace"
    write_perfetto(eventful_trace, path, chains=CHAINS, marks=[Mark(700_000_000, "camera front lost")])
    assert [entry.name for entry in path.parent.iterdir()] == ["trace.pftrace"]
    return Parsed(path.read_bytes())


def test_one_process_per_device_and_one_track_per_processor(written, eventful_trace):
    assert list(written.processes.values()) == ["orin-1", "orin-2", "sensors", "run"]
    tracks = set(written.tracks.values())
    for name in eventful_trace.processor_names:
        assert (name.split(".")[0], name) in tracks
    assert {("sensors", "front"), ("sensors", "lidar"), ("orin-1", "incidents"), ("orin-2", "incidents")} <= tracks


def test_time_never_runs_back_and_every_slice_that_begins_ends(written):
    times = [event[0] for event in written.events]
    assert times == sorted(times)
    open_slices = collections.Counter()
    for _, kind, track, *_ in written.events:
        open_slices[track] += (kind == BEGIN) - (kind == END)
        assert open_slices[track] in (0, 1), "a processor runs one job at a time"
    assert not any(open_slices.values())


def test_the_slices_are_those_of_the_trace(written, eventful_trace):
    trace = eventful_trace
    begun = {}
    shown = []
    for time_ns, kind, track, name, notes, _ in written.events:
        if kind == BEGIN:
            begun[track] = (time_ns, name, notes["number"])
        elif kind == END:
            shown.append((track[1], *begun.pop(track), time_ns))
    expected = [
        (
            trace.processor_names[trace.slices.processor[row]],
            trace.slices.start_ns[row],
            trace.task_names[trace.jobs.task[trace.slices.job[row]]],
            trace.jobs.number[trace.slices.job[row]],
            trace.slices.end_ns[row],
        )
        for row in range(len(trace.slices))
    ]
    assert sorted(shown) == sorted(expected)


def test_a_slice_says_what_its_job_was_about(written, eventful_trace):
    jobs = eventful_trace.jobs
    of_job = {
        (eventful_trace.task_names[task], number): row
        for row, (task, number) in enumerate(zip(jobs.task.tolist(), jobs.number.tolist(), strict=True))
    }
    statuses = collections.Counter()
    for _, kind, _, name, notes, _ in written.events:
        if kind != BEGIN:
            continue
        row = of_job[name, notes["number"]]
        assert notes["arrival_ns"] == jobs.arrival_ns[row]
        assert notes["deadline_ns"] == jobs.deadline_ns[row]
        assert notes["status"] == JobStatus(jobs.status[row]).name.lower()
        finished = jobs.status[row] == JobStatus.COMPLETED
        assert notes.get("response_ns") == (jobs.finish_ns[row] - jobs.arrival_ns[row] if finished else None)
        statuses[notes["status"]] += 1
    assert statuses["completed"] > 100
    assert statuses["aborted"] > 5


def test_every_flow_has_one_start_and_one_end_later(written):
    starts, ends = {}, {}
    for time_ns, kind, _, _, _, event in written.events:
        for flow in event.flow_ids:
            assert flow not in starts
            starts[flow] = time_ns
        for flow in event.terminating_flow_ids:
            assert kind == BEGIN
            assert flow in starts, "an arrow starts before it ends"
            assert flow not in ends
            ends[flow] = time_ns
    assert starts.keys() == ends.keys()
    assert all(starts[flow] <= ends[flow] for flow in starts)


def test_arrows_follow_the_chains_and_the_pieces_of_a_job(written, eventful_trace):
    def who(event):
        return event[3], event[4].get("number")

    sources = {flow: who(event) for event in written.events for flow in event[5].flow_ids}
    arrows = collections.Counter()
    for event in written.events:
        for flow in event[5].terminating_flow_ids:
            arrows[sources[flow], who(event)] += 1
    trace, jobs = eventful_trace, eventful_trace.jobs
    links = {link for path in CHAINS.values() for link in itertools.pairwise(path)}
    expected = collections.Counter()
    pieces = np.bincount(trace.slices.job, minlength=len(jobs))
    for row in range(len(jobs)):
        me = (trace.task_names[jobs.task[row]], jobs.number[row])
        if pieces[row] == 0:
            continue
        if pieces[row] > 1:
            expected[me, me] += int(pieces[row]) - 1
        for edge in trace.edges:
            if edge.target != me[0] or (edge.source, edge.target) not in links:
                continue
            message = jobs.inputs[row, edge.slot]
            if message >= 0:
                expected[(trace.task_names[jobs.task[message]], jobs.number[message]), me] += 1
            elif message <= -2:
                expected[("sample", trace.samples.number[-2 - message]), me] += 1
    assert arrows == expected
    assert pieces.max() > 1


def test_arrows_leave_the_last_piece_of_a_job_and_reach_the_first(written):
    sources = {flow: event for event in written.events for flow in event[5].flow_ids}
    pieces_of_sources = collections.Counter()
    for event in written.events:
        for flow in event[5].terminating_flow_ids:
            before, after = sources[flow][4], event[4]
            if (sources[flow][3], before["number"]) == (event[3], after["number"]):
                assert (after["piece"], after["pieces"]) == (before["piece"] + 1, before["pieces"])
            else:
                assert after.get("piece", 1) == 1
                assert before.get("piece", 1) == before.get("pieces", 1)
                pieces_of_sources[before.get("pieces", 1)] += 1
    assert max(pieces_of_sources) > 1, "some producer was preempted"


def test_a_slice_of_no_length_is_left_out(eventful_trace, tmp_path):
    slices = eventful_trace.slices
    moment = slices.end_ns[:1]
    more = SliceTable(
        np.append(slices.processor, slices.processor[:1]),
        np.append(slices.job, slices.job[:1]),
        np.append(slices.start_ns, moment),
        np.append(slices.end_ns, moment),
    )
    for name, table in (("with", more), ("without", slices)):
        write_perfetto(dataclasses.replace(eventful_trace, slices=table), tmp_path / name, chains=CHAINS)
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()


def test_incidents_are_counted_as_in_the_tables(written, eventful_trace):
    trace, jobs = eventful_trace, eventful_trace.jobs
    shown = collections.Counter(event[3].split(":")[0] for event in written.events if event[1] == INSTANT)
    expected = {
        "deadline miss": jobs.missed.sum(),
        "overrun": jobs.overrun.sum(),
        "skipped": (jobs.status == JobStatus.SKIPPED).sum(),
        "aborted": (jobs.status == JobStatus.ABORTED).sum(),
        "lost": (jobs.status == JobStatus.LOST).sum(),
        "drop": len(trace.drops),
        "sample": (trace.samples.status == 1).sum(),
        "sample lost": (trace.samples.status == 2).sum(),
        "camera front lost": 1,
    }
    assert shown == expected
    assert min(expected.values()) > 0


def test_a_drop_names_the_message_and_the_reason(written):
    drops = [event for event in written.events if (event[3] or "").startswith("drop")]
    assert {event[3] for event in drops} == {"drop: infer -> fuse.camera", "drop: cluster -> fuse.lidar"}
    assert {event[4]["reason"] for event in drops} == {"full_oldest", "unmatched"}
    lidar = [event for event in drops if event[3].startswith("drop: cluster")]
    assert all(event[4]["number"] < 10 for event in lidar)


def test_equal_traces_give_equal_files(eventful_trace, tmp_path):
    for name in ("a", "b"):
        write_perfetto(eventful_trace, tmp_path / name, chains=CHAINS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_run_in_which_nothing_happened_is_a_valid_file(tmp_path):
    def table(kind):
        return kind(*(np.zeros((0, 1) if name == "inputs" else 0, np.int64) for name in kind.__dataclass_fields__))

    empty = Trace(
        ("t",), ("d.cpu.0",), (), (), table(JobTable), table(SliceTable), table(DropTable), table(SampleTable), 10, 0
    )
    write_perfetto(empty, tmp_path / "trace.pftrace")
    parsed = Parsed((tmp_path / "trace.pftrace").read_bytes())
    assert (list(parsed.processes.values()), parsed.events) == (["d"], [])


def test_a_folder_that_cannot_be_written_is_named(eventful_trace, tmp_path):
    with pytest.raises(DeploymentError, match=r"cannot write .*nowhere.*No such file"):
        write_perfetto(eventful_trace, tmp_path / "nowhere" / "trace.pftrace")
