"""Recorded packets of a spinning LiDAR: every return where the manual puts it, and what was not measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from velodyne_packets import DUAL, HDL32, LAST, STRONGEST, TIMES, VLP16, register, scan, turn

from rt_sched.errors import DataError
from rt_sched.ports.source import TopicKind
from sensors.recording import open_recording
from sensors.velodyne import decode_scan

STAMP_NS = 1_700_000_000_123_456_789
#: The manuals' tables, by the number of the laser: elevation in degrees; the VLP-16's vertical correction in mm.
ELEVATION = {
    VLP16: (-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15),
    HDL32: (
        *(-30.67, -9.33, -29.33, -8.00, -28.00, -6.67, -26.67, -5.33, -25.33, -4.00, -24.00, -2.67, -22.67, -1.33),
        *(-21.33, 0.00, -20.00, 1.33, -18.67, 2.67, -17.33, 4.00, -16.00, 5.33, -14.67, 6.67, -13.33, 8.00),
        *(-12.00, 9.33, -10.67, 10.67),
    ),
}
RISE_MM = {
    VLP16: (11.2, -0.7, 9.7, -2.2, 8.1, -3.7, 6.6, -5.1, 5.1, -6.6, 3.7, -8.1, 2.2, -9.7, 0.7, -11.2),
    HDL32: (0.0,) * 32,
}


def memory(packets):
    return [(at_ns, memoryview(data)) for at_ns, data in packets]


def decoded(packets, stamp_ns=STAMP_NS):
    return decode_scan(memory(packets), stamp_ns, "velodyne")


def room(azimuth_deg, _laser):
    """Walls 5 to 15 m away, a different distance in each direction."""
    return [2500 + round(azimuth_deg * 13.9)] * 2


@pytest.mark.parametrize("product", [VLP16, HDL32])
@pytest.mark.parametrize("mode", [STRONGEST, LAST, DUAL])
def test_every_return_lies_where_the_manual_puts_it(product, mode):
    packets = turn(room, product=product, mode=mode, start_ns=STAMP_NS)
    cloud = decoded(packets)
    lasers, laser_ns, cycle_ns = TIMES[product]
    fired = len(packets) * 384 // (2 if mode == DUAL else 1)
    assert len(cloud.xyz_m) == fired
    assert cloud.dropped_points == 0
    assert cloud.fired.sum() == fired
    for number in (0, 1, lasers, 5 * lasers + 3, fired // 2 + 7, fired - 1):
        laser, after_ns = number % lasers, number // lasers * cycle_ns + number % lasers * laser_ns
        degrees = after_ns / 1e8 * 360 % 360
        distance_m = room(degrees, laser)[0] * 0.002
        up = math.radians(ELEVATION[product][laser])
        clockwise = math.radians(degrees)
        wanted = (
            distance_m * math.cos(up) * math.cos(clockwise),
            -distance_m * math.cos(up) * math.sin(clockwise),
            distance_m * math.sin(up) + RISE_MM[product][laser] / 1e3,
        )
        assert cloud.xyz_m[number] == pytest.approx(wanted, abs=0.004)
        assert cloud.time_offset_ns[number] == after_ns
        assert cloud.ring[number] == sorted(ELEVATION[product]).index(ELEVATION[product][laser])
    assert set(cloud.intensity.tolist()) == {7.0}


def test_no_return_is_no_point_but_was_fired():
    cloud = decoded(turn(lambda azimuth, _: [0 if 90 < azimuth < 180 else 4000]))
    angle = np.degrees(np.arctan2(cloud.xyz_m[:, 1], cloud.xyz_m[:, 0]))
    assert not ((angle < -91) & (angle > -179)).any()
    assert cloud.fired.min() > 0.9 * cloud.fired.mean()


def test_both_returns_of_dual_mode_are_points_where_they_differ():
    cloud = decoded(turn(lambda azimuth, _: (3000, 2000) if azimuth < 90 else (3000, 3000), mode=DUAL))
    near = np.linalg.norm(cloud.xyz_m, axis=1) < 5
    fired = int(cloud.fired.sum())
    assert abs(int(near.sum()) - fired / 4) < 192
    assert len(cloud.xyz_m) == fired + int(near.sum())
    assert set(cloud.intensity[near].tolist()) == {8.0}


def lost(packets, from_deg, to_deg):
    """Without the packets whose first firing lies between two azimuths."""
    return [one for one in packets if not from_deg <= int.from_bytes(one[1][2:4], "little") / 100 < to_deg]


def test_lost_packets_are_directions_that_were_not_measured():
    cloud = decoded(lost(turn(room), 84, 130))
    assert np.flatnonzero(cloud.fired == 0).tolist() == [5, 6, 7, 8]
    assert cloud.dropped_points == 0


def test_a_field_of_view_that_begins_anew_within_a_packet_turns_no_return_astray():
    """The sensor can be told to send a part of the turn: then azimuths jump from block to block."""
    packets = turn(room)
    blocks = [data[100 * k : 100 * (k + 1)] for _, data in packets for k in range(12)]
    kept = [block for block in blocks if not 100 <= int.from_bytes(block[2:4], "little") / 100 < 250]
    cut = [
        (0, b"".join(kept[k : k + 12]) + packets[0][1][1200:])
        for k in range(0, len(kept), 12)
        if len(kept[k : k + 12]) == 12
    ]
    cloud = decoded(cut, 0)
    angle = np.degrees(np.arctan2(cloud.xyz_m[:, 1], cloud.xyz_m[:, 0]))
    assert not ((angle < -101) & (angle > -180) | (angle > 111)).any()


DAMAGES = {
    "short": lambda data: data[:-1],
    "empty": lambda data: b"",
    "long": lambda data: data + b"\0",
    "of a position": lambda data: data[:512],
    "flag": lambda data: data[:300] + b"\0\0" + data[302:],
    "azimuth": lambda data: data[:1102] + b"\xff\xff" + data[1104:],
    "another product": lambda data: data[:-1] + b"\x28",
    "another mode": lambda data: data[:-2] + bytes([LAST]) + data[-1:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_packets_cost_only_themselves(damage):
    packets = turn(room)
    harmed = [(at_ns, DAMAGES[damage](data) if k in (3, 40) else data) for k, (at_ns, data) in enumerate(packets)]
    whole = decoded([one for k, one in enumerate(packets) if k not in (3, 40)])
    cloud = decoded(harmed)
    assert cloud.dropped_points == 2 * 384
    np.testing.assert_array_equal(cloud.xyz_m, whole.xyz_m)
    np.testing.assert_array_equal(cloud.fired, whole.fired)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data[:-1] + b"\x28", "product id 0x28 are not read; read are those of HDL-32E .0x21., VLP-16"),
        (lambda data: data[:-2] + b"\x3a" + data[-1:], "return mode 0x3a are not read"),
        (lambda data: data[:100], "none of the scan's 76 packets can be read"),
        (lambda data: bytes(len(data)), "none of the scan's 76 packets can be read"),
    ],
)
def test_what_cannot_be_read_is_told(change, told):
    with pytest.raises(DataError, match=told):
        decoded([(at_ns, change(data)) for at_ns, data in turn(room)])


def test_a_scan_without_packets_is_told():
    with pytest.raises(DataError, match="none of the scan's 0 packets"):
        decoded([])


def test_stamps_of_another_clock_give_no_times():
    assert decoded(turn(room), STAMP_NS).time_offset_ns is None
    assert decoded(turn(room, start_ns=STAMP_NS + 5), STAMP_NS).time_offset_ns[0] == 5


@pytest.mark.parametrize("container", ["mcap", "mcap1", "bag", "rosbag2"])
def test_scans_are_read_from_every_container(tmp_path, ros1, ros2, container):
    """Also where the file holds no definition of the type."""
    ros = ros1 if container in ("mcap1", "bag") else ros2
    register(ros.store)
    items = [
        ("/velodyne_packets", at_ns + 9, scan(ros, at_ns, turn(room, start_ns=at_ns)))
        for at_ns in (STAMP_NS, STAMP_NS + 100_000_000)
    ]
    write = {"bag": ros.write_bag, "rosbag2": ros.write_rosbag2}.get(container, ros.write_mcap)
    recording = open_recording(write(tmp_path / container, items))
    assert [(topic.name, topic.kind) for topic in recording.topics] == [("/velodyne_packets", TopicKind.LIDAR)]
    clouds = [recording.decode(message) for message in recording.messages()]
    assert [cloud.capture_time_ns for cloud in clouds] == [STAMP_NS, STAMP_NS + 100_000_000]
    assert clouds[0].frame_id == "velodyne"
    np.testing.assert_array_equal(clouds[0].xyz_m, decoded(turn(room, start_ns=STAMP_NS)).xyz_m)


def test_a_real_scan_is_where_a_driver_puts_it(shared_data):
    """The last scan of a VLP-16, beside what the driver Nebula made of it, which leaves the vertical correction out."""
    folder = shared_data / "lidar_packets/nebula_vlp16"
    recording = open_recording(folder / "1673400471837873222")
    clouds = [recording.decode(m) for m in recording.messages() if m.topic == "/velodyne_packets"]
    assert [cloud.dropped_points for cloud in clouds] == [0] * len(clouds)
    text, _, body = (folder / "1673400472138016708.pcd").read_bytes().partition(b"DATA binary\n")
    assert b"FIELDS x y z intensity return_type channel azimuth elevation distance time_stamp" in text
    fields = [("xyz", "<f4", 3), ("intensity", "u1"), ("kind", "u1"), ("ring", "<u2"), ("rest", "<f4", 3), ("t", "<u4")]
    theirs = np.frombuffer(body, np.dtype(fields))
    ring, rise_m = clouds[-1].ring, np.array(sorted(RISE_MM[VLP16], reverse=True)) / 1e3
    ours = clouds[-1].xyz_m - np.outer(rise_m[ring], [0, 0, 1])
    from scipy.spatial import KDTree

    away, nearest = KDTree(ours).query(theirs["xyz"])
    assert np.median(away) < 0.0005
    assert np.quantile(away, 0.99) < 0.025
    assert (ring[nearest] == theirs["ring"]).mean() > 0.999
