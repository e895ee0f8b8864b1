"""Every recorded message gets exactly one fate, whatever the system does with it."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.message_fates import topic_rows
from rt_sched.config import load_system_text
from rt_sched.lowering import lower
from rt_sched.model import Fault, FaultKind
from rt_sched.planner import make_plan
from rt_sched.ports import TopicInfo, TopicKind
from rt_sched.runtime.timeline import SensorIntake, Timeline
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleStatus, SampleTable

MS = 1_000_000
SYSTEM = """
rt_sched: 1
name: fates
devices: {near: {soc: safety-mcu}, far: {soc: safety-mcu}}
sensors:
  imu: {kind: imu, rate: 100Hz, attached_to: [near, far], topic: /imu}
  spare: {kind: imu, rate: 100Hz, attached_to: [near], topic: /spare}
tasks:
  each:
    {stage: "pipelines.imu:Integrate", runs_on: %s, inputs: {imu: imu}, execution: {wcet: 1ms},
     parameters: {sensor: imu}%s}
"""


class FakeRecording:
    path = "fake"
    topics = tuple(
        TopicInfo(name, "sensor_msgs/msg/Imu", TopicKind.IMU, count) for name, count in (("/imu", 23), ("/x", 4))
    )


PARTS = ("delivered", "unread", "dropped", "undecodable", "quarantined", "lost_to_faults", "after_end", "unmapped")


def fates(text, *, faults=(), refused=(), count=20, horizon_ns=None, unpublished=()):
    system = load_system_text(text, file_name="x", base_dir=Path(), stages=ImportedStages())
    arrival = np.arange(count, dtype=np.int64) * 10 * MS
    samples = SampleTable(
        sensor=np.zeros(count, np.int32),
        number=np.arange(count),
        arrival_ns=arrival,
        capture_ns=arrival,
        status=np.full(count, SampleStatus.WAITING, np.int8),
    )
    intake = SensorIntake("imu", "/imu", count + 3, count, 2, 1, 0, "broken")
    timeline = Timeline(0, samples, np.arange(count), (intake,), ())
    horizon_ns = horizon_ns or count * 10 * MS + 50 * MS
    simulation = Simulation(lower(system, make_plan(system), samples, horizon_ns=horizon_ns, faults=faults))
    simulation.run()
    first = min((fault.time_ns for fault in faults), default=None)
    trace = simulation.trace()
    trace.samples.status[list(unpublished)] = SampleStatus.WAITING
    imu, other = topic_rows(system, trace, FakeRecording(), timeline, refused, first)
    assert sum(other[part] for part in PARTS) == other["recorded"]
    assert other["unmapped"] == 4
    return imu


def test_a_task_that_keeps_up_reads_everything():
    row = fates(SYSTEM % ("near.mcu", ""))
    assert (row["delivered"], row["undecodable"], row["quarantined"], row["unread"]) == (20, 2, 1, 0)


def test_a_slow_clock_leaves_messages_unread():
    row = fates(SYSTEM % ("near.mcu", ", activation: {rate: 20Hz}"))
    assert 0 < row["delivered"] < 8
    assert row["unread"] == 20 - row["delivered"]


def test_what_was_due_and_never_came_is_dropped():
    row = fates(SYSTEM % ("near.mcu", ""), unpublished=(3, 4))
    assert (row["delivered"], row["dropped"], row["after_end"]) == (18, 2, 0)
    row = fates(SYSTEM % ("near.mcu", ""), unpublished=(19,), horizon_ns=190 * MS + 1)
    assert (row["delivered"], row["dropped"], row["after_end"]) == (19, 0, 1)


def test_what_only_a_lost_device_read_is_lost_to_the_fault():
    row = fates(SYSTEM % ("far.mcu", ""), faults=[Fault(FaultKind.DEVICE, "far", 95 * MS)])
    assert (row["delivered"], row["lost_to_faults"]) == (10, 10)


def test_what_is_due_after_the_end_is_nobodys_loss():
    row = fates(SYSTEM % ("near.mcu", ""), horizon_ns=75 * MS)
    assert (row["delivered"], row["after_end"], row["lost_to_faults"], row["unread"]) == (8, 12, 0, 0)


def test_refused_samples_are_undecodable_and_not_delivered_as_well():
    row = fates(SYSTEM % ("near.mcu", ""), refused={0, 7})
    assert (row["delivered"], row["undecodable"], row["quarantined"]) == (18, 4, 1)


@settings(max_examples=30, deadline=None)
@given(
    device=st.sampled_from(["near.mcu", "far.mcu"]),
    rate=st.sampled_from(["", ", activation: {rate: 30Hz}", ", activation: {rate: 300Hz}"]),
    lost=st.lists(st.tuples(st.sampled_from(["near", "far", "imu"]), st.integers(0, 300)), max_size=3),
    refused=st.sets(st.integers(0, 19)),
)
def test_every_message_has_one_fate(device, rate, lost, refused):
    faults = sorted(
        (Fault(FaultKind.IMU if name == "imu" else FaultKind.DEVICE, name, time * MS) for name, time in lost),
        key=lambda fault: fault.time_ns,
    )
    row = fates(SYSTEM % (device, rate), faults=faults, refused=refused)
    assert sum(row[part] for part in PARTS) == row["recorded"] == 23
    assert all(row[part] >= 0 for part in PARTS)


def test_the_table_of_a_run_without_samples_is_empty():
    row = fates(SYSTEM % ("near.mcu", ""), count=0)
    assert (row["delivered"], row["undecodable"], row["quarantined"]) == (0, 2, 1)
