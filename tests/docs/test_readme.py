"""What README.md shows is what the product does."""

import re
from pathlib import Path

import pytest

from rt_sched.app.inputs.shipped import shipped_files
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system, load_system_text
from rt_sched.errors import ConfigError
from rt_sched.lowering import lower
from rt_sched.planner import make_plan
from rt_sched.ports import TopicKind
from rt_sched.runtime.timeline import build_timeline
from rt_sched.sim import Simulation
from rt_sched.trace.records import schedule_sha256
from sensors.mapping import SensorPattern, match_topics
from sensors.recording import open_recording

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def example_system() -> str:
    (block,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    return block


def test_the_example_system_loads():
    system = load_system_text(example_system(), file_name="README.md", base_dir=ROOT, stages=ImportedStages())
    assert [task.name for task in system.tasks] == ["pre", "infer", "post"]


def test_the_mistakes_shown_are_reported_as_shown():
    shown = re.search(r"```\n(drive\.yaml.*?)\nrt-sched: (\d+) problems found", README, re.DOTALL)
    assert shown is not None
    wrong = example_system()
    for right, typo in (
        ("30Hz,", "30,"),
        ("/camera/front/*", "/camera/front_wide/*"),
        ('Preprocess"', 'Preproces"'),
        ("runs_on: orin.cpu, inputs: {raw", "runs_on: orin.npu, inputs: {raw"),
        ("deadline: 20ms", "deadline: -20ms"),
    ):
        assert right in wrong
        wrong = wrong.replace(right, typo, 1)
    with pytest.raises(ConfigError) as caught:
        load_system_text(wrong, file_name="drive.yaml", base_dir=ROOT, stages=ImportedStages())
    assert str(caught.value) == shown[1]
    assert len(caught.value.problems) == int(shown[2])


def test_the_schedule_of_the_shipped_log_has_the_hash_shown():
    """The schedule depends on integers only, so this hash is the same on every machine."""
    shown = re.search(r"^schedule  ([0-9a-f]{64})$", README, re.MULTILINE)
    assert shown is not None
    system = load_system(shipped_files()["quad_orin"], stages=ImportedStages())
    recording = open_recording(shipped_files()["hazard"])
    patterns = {sensor.name: SensorPattern(TopicKind(sensor.kind.value), sensor.topics) for sensor in system.sensors}
    mapping = match_topics(recording.topics, patterns)
    timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
    horizon_ns = timeline.last_arrival_ns + max(task.deadline_ns for task in system.tasks) + 1
    simulation = Simulation(lower(system, make_plan(system), timeline.samples, horizon_ns=horizon_ns))
    simulation.run()
    assert schedule_sha256(simulation.trace()) == shown[1]
    recording.close()


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_every_link_leads_to_a_file(link):
    assert (ROOT / link).exists()
