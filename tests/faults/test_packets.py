"""A LiDAR recorded as packets: what it did not measure is told from where nothing returned."""

from __future__ import annotations

import pytest

from rt_sched.app.faults.job import FaultsRequest, run_faults
from rt_sched.app.progress import Quiet

from ..sensors.conftest import Item, Ros
from ..sensors.velodyne_packets import TURN_NS, register, scan, turn
from .one_lidar import SYSTEM

START_NS = 1_700_000_000_000_000_000
TURNS = 10


def one_wall(azimuth_deg, _laser):
    """20 m ahead, 20 degrees wide; the rest of the turn is open sky."""
    return [10_000 if azimuth_deg < 10 or azimuth_deg > 350 else 0]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """The same drive, whole, and with the packets of 60 to 120 degrees clockwise lost in the sixth turn."""
    ros = Ros(2)
    register(ros.store)
    folder = tmp_path_factory.mktemp("packets")
    paths = {}
    for name, harmed in (("whole", None), ("lost", 5)):
        items = []
        for number in range(TURNS):
            begin_ns = START_NS + number * TURN_NS
            packets = turn(one_wall, start_ns=begin_ns)
            if number == harmed:
                packets = [one for one in packets if not 60 <= int.from_bytes(one[1][2:4], "little") / 100 < 120]
            items.append(Item("/lidar/top/packets", begin_ns + 4_000_000, scan(ros, begin_ns, packets)))
            items += [
                Item("/imu/data", stamp_ns + 200_000, ros.imu(stamp_ns, force=(stamp_ns % TURN_NS, 0, 9)))
                for stamp_ns in range(begin_ns, begin_ns + TURN_NS, 5_000_000)
            ]
        items.sort(key=lambda item: item.log_ns)
        paths[name] = ros.write_mcap(folder / f"{name}.mcap", items)
    (folder / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    return paths


@pytest.fixture
def run(recordings, tmp_path):
    def document(recording, fault):
        script = tmp_path / "script.yaml"
        script.write_text(f"rt_sched_faults: 1\nfaults:\n  f: {fault}\n", encoding="utf-8")
        path = recordings[recording]
        system = str(path.parent / "system.yaml")
        return run_faults(FaultsRequest(system, script, str(path), stages=False, threads=1), Quiet())

    return document


@pytest.mark.parametrize("begin_deg", [-180, -100, 30, 95, 155])
def test_a_sector_that_no_packet_came_from_is_found_in_the_first_turn_though_nothing_returned_there(run, begin_deg):
    fault = f"{{kind: lidar.sector, target: lidar_top, at: 500ms, for: 90ms, from: {begin_deg}deg"
    (row,) = run("whole", f"{fault}, to: {begin_deg + 25}deg}}")["faults"]
    assert (row["verdict"], row["detected_by"]) == ("detected", "sector")
    assert row["detected_after_ns"] < TURN_NS


def test_packets_that_were_lost_on_the_road_are_a_finding_of_the_recording(run):
    def found(recording):
        document = run(recording, "{kind: imu.stuck, target: imu, at: 200ms, for: 400ms}")
        return [one["reason"] for one in document["other_findings"] if one["monitor"] == "sector"]

    assert found("whole") == []
    assert found("lost") == ["5 sectors of 10 degrees were not measured, the first from -120 degrees on"]
