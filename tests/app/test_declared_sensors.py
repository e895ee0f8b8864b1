"""What `init` declares of the sensors of a recording holds on that recording, so its bounds cover a replay of it."""

from pathlib import Path

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.measured.monitors import monitor
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import system_for
from rt_sched.lowering import lower
from rt_sched.planner import make_plan
from rt_sched.ports import TopicKind
from rt_sched.runtime.timeline import build_timeline
from rt_sched.sim import Simulation
from sensors.mapping import SensorPattern, match_topics
from sensors.recording import open_recording

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "../shared/data/recordings"
LOGS = [
    ROOT / "replay_data/hazard_short.mcap",
    SHARED / "kitti360_small_50f_zstd.mcap",
    SHARED / "kitti78_small_f00-39_lz4.bag",
    SHARED / "euroc_stereo_imu_20f.bag",
    SHARED / "test1.bag",
]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_monitors_of_sensors_stay_silent(log: Path) -> None:
    if not log.exists():
        pytest.skip(f"{log} is not there")
    recording = open_recording(log, salvage=True)
    try:
        system, _ = system_for(None, recording, ImportedStages())
        patterns = {one.name: SensorPattern(TopicKind(one.kind.value), one.topics) for one in system.sensors}
        mapping = match_topics(recording.topics, patterns)
        timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
    finally:
        recording.close()
    plan = make_plan(system)
    horizon_ns = timeline.last_arrival_ns + 1
    simulation = Simulation(lower(system, plan, timeline.samples, horizon_ns=horizon_ns))
    simulation.run()
    found = {one.key: one for one in monitor(mode_loads(system, plan)[0], simulation.trace())}
    assert found["sensor_rate"].checked > 20
    assert {key: one.first for key, one in found.items() if key.startswith("sensor") and not one.holds} == {}
