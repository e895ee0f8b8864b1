"""Changes of a system file are what a user would have written into it, and what they take away takes what needs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.what_if.changes import Told
from rt_sched.app.what_if.job import WhatIfRequest, changed_system
from rt_sched.config import load_system_text
from rt_sched.errors import ConfigError
from rt_sched.model import System

RIG = """rt_sched: 1
name: rig
devices:
  a: {processing_elements: {cpu: {kind: cpu, cores: 2}, gpu: {kind: gpu}}}
  b: &board
    processing_elements: {cpu: {kind: cpu, cores: 2}, gpu: {kind: gpu}}
  c:
    <<: *board
  m:
    processing_elements:
      mcu:
        kind: mcu
        policy: table
        table: {cycle: 10ms, entries: [{at: 0ms, length: 1ms, task: act}, {at: 2ms, length: 1ms, task: blink}]}
links:
  wire: {bandwidth: 1Gbit/s, between: [a, b]}
  spare: {bandwidth: 1Gbit/s, between: [b, c, m]}
x-times:
  detect: &detect {bcet: 2ms, wcet: 6ms}
sensors:
  front: &camera {kind: camera, rate: 20Hz, attached_to: [a, b], topic: /cam/front}
  left: {<<: *camera, attached_to: [b, c], topic: /cam/left}
  top: {kind: lidar, rate: 10Hz, attached_to: c, topic: /top}
tasks:
  pre_front: &pre {runs_on: a.cpu, core: 1, inputs: {image: front}, execution: {wcet: 1ms}, deadline: 10ms,
    parameters: {camera: front}}
  detect_front: &infer {runs_on: a.gpu, candidates: [b.gpu, c.gpu], inputs: {x: pre_front}, execution: *detect}
  pre_left: {<<: *pre, runs_on: b.cpu, inputs: {image: left}, parameters: {camera: left}}
  detect_left: {<<: *infer, runs_on: b.gpu, candidates: [c.gpu], inputs: {x: pre_left}}
  sweep: {runs_on: c.cpu, inputs: {points: top}, execution: {cpu: {wcet: 8ms}, gpu: {wcet: 2ms}}, candidates: a.gpu}
  fuse:
    runs_on: a.cpu
    activation: {rate: 20Hz, offset: 20ms}
    inputs:
      front: {from: detect_front, required: false}
      left: {from: detect_left, required: false, link: wire, size: 10kB}
      sweep: {from: sweep, required: false}
    execution: {wcet: 2ms}
    parameters: {weights: {front: 1, left: 2}, order: [front, left]}
  either: {runs_on: a.cpu, activation: {join: any}, inputs: {f: pre_front, l: pre_left}, execution: {wcet: 1ms}}
  both:
    {runs_on: a.cpu, activation: {join: all, tolerance: 5ms}, inputs: {f: pre_front, l: pre_left},
     execution: {wcet: 1ms}}
  act:
    {runs_on: m.mcu, activation: {rate: 100Hz}, inputs: {plan: {from: fuse, required: false}},
     execution: {wcet: 1ms}}
  blink: {runs_on: m.mcu, inputs: {plan: {from: fuse}}, execution: {wcet: 1ms}}
faults:
  no_front: {lose: front, at: 1s}
  no_b: {lose: b}
chains:
  see_front: {path: [front, pre_front, detect_front, fuse, act], max_reaction: 300ms}
  see_top: {path: [top, sweep, fuse, act], max_reaction: 400ms}
modes:
  all: {without: [blink]}
  half: {tasks: [pre_front, detect_front, fuse, act]}
"""


def rig(tmp_path: Path, text: str = RIG) -> Path:
    path = tmp_path / "rig.yaml"
    path.write_text(text)
    return path


def changed(path: Path, **asked: tuple[str, ...]) -> tuple[System, tuple[Told, ...]]:
    return changed_system(path, WhatIfRequest(str(path), **asked).changes, {"pre_left": "cpu"})


def loaded(tmp_path: Path, text: str) -> System:
    return load_system_text(text, file_name="rig", base_dir=tmp_path, stages=None)  # type: ignore[arg-type]


def problems(path: Path, **asked: tuple[str, ...]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        changed(path, **asked)
    return [str(one) for one in caught.value.problems]


@pytest.mark.parametrize(
    ("setting", "old", "new"),
    [
        ("policy=edf", "name: rig", "name: rig\npolicy: edf"),
        ("tasks.fuse.execution.wcet=3ms", "execution: {wcet: 2ms}", "execution: {wcet: 3ms}"),
        ("tasks.fuse.wcet=3ms", "execution: {wcet: 2ms}", "execution: {wcet: 3ms}"),
        ("fuse.wcet = 3ms", "execution: {wcet: 2ms}", "execution: {wcet: 3ms}"),
        ("tasks.fuse.offset=1ms", "offset: 20ms", "offset: 1ms"),
        ("tasks.fuse.deadline=30ms", "    runs_on: a.cpu\n", "    runs_on: a.cpu\n    deadline: 30ms\n"),
        ("tasks.sweep.execution.gpu.wcet=3ms", "gpu: {wcet: 2ms}", "gpu: {wcet: 3ms}"),
        ("tasks.sweep.candidates=[a.gpu, b.gpu]", "candidates: a.gpu", "candidates: [a.gpu, b.gpu]"),
        ("tasks.fuse.inputs.left.size=9kB", "size: 10kB", "size: 9kB"),
        ("chains.see_top.path[1]=sweep", "", ""),
        ("sensors.top.attached_to=[c, b]", "attached_to: c", "attached_to: [c, b]"),
        ("devices.a.clock.drift=5ppm", "  a: {", "  a: {clock: {drift: 5ppm}, "),
        ("devices.m.mcu.table.entries[1].at=3ms", "at: 2ms", "at: 3ms"),
        ("tasks.fuse.parameters.weights.front=7", "weights: {front: 1", "weights: {front: 7"),
        ("x-times.detect.wcet=7ms", "wcet: 6ms", "wcet: 7ms"),
        # What an alias or a merge shares changes at the named place only.
        ("tasks.detect_left.wcet=7ms", "{<<: *infer, ", "{<<: *infer, execution: {bcet: 2ms, wcet: 7ms}, "),
        ("tasks.pre_left.deadline=9ms", "{<<: *pre, ", "{<<: *pre, deadline: 9ms, "),
        ("devices.c.cpu.cores=3", "<<: *board", "processing_elements: {cpu: {kind: cpu, cores: 3}, gpu: {kind: gpu}}"),
    ],
)
def test_a_value_is_as_if_it_stood_in_the_file(tmp_path: Path, setting: str, old: str, new: str) -> None:
    found, _ = changed(rig(tmp_path), settings=(setting,))
    assert found == loaded(tmp_path, RIG.replace(old, new, 1))


def test_others_that_share_an_anchor_keep_what_stood_there(tmp_path: Path) -> None:
    found, _ = changed(rig(tmp_path), settings=("tasks.detect_front.wcet=7ms",))
    before = {task.name: task for task in loaded(tmp_path, RIG).tasks}
    after = {task.name: task for task in found.tasks}
    assert {name for name in before if before[name] != after[name]} == {"detect_front"}
    assert after["detect_front"].execution.wcet_ns == 7_000_000


def test_of_several_execution_times_that_of_the_element_is_meant(tmp_path: Path) -> None:
    text = RIG.replace("execution: {wcet: 1ms}, deadline", "execution: {cpu: {wcet: 1ms}, gpu: {wcet: 3ms}}, deadline")
    found, (told,) = changed(rig(tmp_path, text), settings=("tasks.pre_left.wcet=2ms",))
    assert told.did == ("tasks.pre_left.execution.cpu.wcet is 2ms",)
    assert next(task for task in found.tasks if task.name == "pre_left").execution.wcet_ns == 2_000_000


def test_one_more_camera_has_a_pipeline_like_that_of_another(tmp_path: Path) -> None:
    path = rig(tmp_path, RIG.replace(", link: wire, size: 10kB", ""))
    found, (told,) = changed(path, add_cameras=("rear:like=left,device=c",))
    assert [sensor.name for sensor in found.sensors] == ["front", "left", "top", "rear"]
    rear = found.sensors[-1]
    assert (rear.attached_to, rear.topics, rear.rate_hz) == (("c", "b"), ("/cam/rear",), 20)
    tasks = {task.name: task for task in found.tasks}
    pre, detect = tasks["pre_rear"], tasks["detect_rear"]
    old = {task.name: task for task in loaded(tmp_path, RIG).tasks}
    assert pre == replace(
        old["pre_left"],
        name="pre_rear",
        pe=("c", "cpu"),
        core=None,
        parameters=(("camera", "rear"),),
        inputs=(replace(old["pre_left"].inputs[0], source="rear"),),
    )
    assert (detect.pe, detect.candidates, detect.inputs[0].source) == (("c", "gpu"), (), "pre_rear")
    fuse = {one.name: one for one in tasks["fuse"].inputs}
    assert replace(fuse["rear"], name="left", source="detect_left") == fuse["left"]
    assert dict(tasks["fuse"].parameters) == {
        "weights": {"front": 1, "left": 2, "rear": 2},
        "order": ("front", "left", "rear"),
    }
    assert any("task pre_rear is like pre_left, on c.cpu" in line for line in told.did)


def test_a_twin_of_a_camera_has_chains_faults_and_modes_of_its_own(tmp_path: Path) -> None:
    found, _ = changed(rig(tmp_path), add_cameras=("rear",))
    assert [chain.name for chain in found.chains] == ["see_front", "see_top", "see_rear"]
    assert found.chains[-1].path == ("rear", "pre_rear", "detect_rear", "fuse", "act")
    assert [(one.name, one.target) for one in found.fault_scenarios][-1] == ("no_rear", "rear")
    half = next(mode for mode in found.modes if mode.name == "half")
    assert {"pre_rear", "detect_rear"} <= set(half.tasks)


def test_a_link_that_shares_its_name_with_a_task_has_no_twin(tmp_path: Path) -> None:
    text = RIG.replace("links:\n", "links:\n  pre_left: {bandwidth: 1Gbit/s, between: [a, c]}\n")
    text = text.replace("faults:\n", "faults:\n  no_way: {lose: pre_left}\n")
    found, _ = changed(rig(tmp_path, text), add_cameras=("rear:like=left",))
    assert [one.target for one in found.fault_scenarios] == ["pre_left", "front", "b"]


@pytest.mark.parametrize(("name", "like"), [("rear", "front"), ("zz", "left"), ("front2", "front")])
def test_a_camera_that_comes_and_goes_changes_nothing(tmp_path: Path, name: str, like: str) -> None:
    text = RIG.replace("join: all, tolerance: 5ms", "join: any").replace(", link: wire, size: 10kB", "")
    path = rig(tmp_path, text)
    found, _ = changed(path, add_cameras=(f"{name}:like={like},device=c",), removals=(f"camera:{name}",))
    assert found == loaded(tmp_path, text)


def test_a_device_that_goes_takes_or_moves_its_tasks(tmp_path: Path) -> None:
    found, (told,) = changed(rig(tmp_path), removals=("device:b",))
    tasks = {task.name: task for task in found.tasks}
    assert "pre_left" not in tasks and "detect_left" not in tasks, "it has no candidate; what it fed goes with it"
    assert tasks["detect_front"].candidates == (("c", "gpu"),)
    assert [one.name for one in tasks["fuse"].inputs] == ["front", "sweep"]
    assert [one.name for one in tasks["either"].inputs] == ["f"]
    assert "both" not in tasks
    assert {sensor.name: sensor.attached_to for sensor in found.sensors} == {
        "front": ("a",),
        "left": ("c",),
        "top": ("c",),
    }
    assert [(link.name, link.between) for link in found.links] == [("spare", ("c", "m"))]
    assert [one.name for one in found.fault_scenarios] == ["no_front"]
    assert "task pre_left is gone: it has no candidate on another device" in told.did
    moved, (told,) = changed(rig(tmp_path), removals=("device:a",))
    assert {task.name: task.pe for task in moved.tasks} == {
        "pre_left": ("b", "cpu"),
        "detect_left": ("b", "gpu"),
        "sweep": ("c", "cpu"),
        "act": ("m", "mcu"),
    }


def test_a_task_moves_to_its_first_candidate(tmp_path: Path) -> None:
    text = (
        RIG.replace("a.cpu, core: 1,", "a.cpu, core: 1, candidates: [a.gpu, c.cpu, b.cpu],")
        .replace("execution: {wcet: 1ms}, deadline", "execution: {cpu: {wcet: 1ms}, gpu: {wcet: 1ms}}, deadline")
        .replace("{<<: *pre, runs_on: b.cpu,", "{<<: *pre, runs_on: b.cpu, candidates: [c.cpu],")
    )
    found, (told,) = changed(rig(tmp_path, text), removals=("device:a",))
    tasks = {task.name: task for task in found.tasks}
    assert (tasks["pre_front"].pe, tasks["pre_front"].candidates, tasks["pre_front"].core) == (
        ("c", "cpu"),
        (("b", "cpu"),),
        None,
    )
    assert tasks["detect_front"].pe == ("b", "gpu")
    assert "task pre_front moves from a.cpu to c.cpu" in told.did


def test_an_entry_of_a_table_goes_with_its_task(tmp_path: Path) -> None:
    found, _ = changed(rig(tmp_path), removals=("task:fuse",))
    assert {task.name for task in found.tasks} >= {"act", "either", "both"}
    assert "blink" not in {task.name for task in found.tasks}
    (mcu,) = found.devices[-1].processing_elements
    assert [entry.task for entry in mcu.table] == ["act"]
    assert found.chains == ()


def test_changes_apply_together(tmp_path: Path) -> None:
    found, told = changed(
        rig(tmp_path),
        add_cameras=("rear:like=left",),
        removals=("camera:front", "task:pre_front"),
        settings=("tasks.detect_rear.wcet=5ms",),
    )
    assert next(task for task in found.tasks if task.name == "detect_rear").execution.wcet_ns == 5_000_000
    assert told[2].did == ("task pre_front was gone already",)


def test_every_mistake_of_a_call_is_told_at_once(tmp_path: Path) -> None:
    found = problems(
        rig(tmp_path),
        add_cameras=("front", "a b", "n:like=top", "n:device=z", "n:lik=left"),
        removals=("camera:frnt", "device:front", "planet:mars", "b"),
        settings=("tasks.fuze.wcet=1ms", "tasks.fuse.wcte=1ms", "tasks.fuse", "chains.see_top.path[9]=x", "a..b=1",
                  "tasks.sweep.wcet=1ms", "tasks.fuse.wcet={", "name.x=1", "tasks[0]=1"),
    )  # fmt: skip
    assert len(found) == 18
    text = "\n".join(found)
    for part in (
        "--add-camera  front: there is a sensor or task front already",
        "--add-camera  a b: the name 'a b' is not valid",
        "--add-camera  n:like=top: unknown camera 'top'; valid: front, left",
        "--add-camera  n:device=z: unknown device 'z'",
        "'lik=left' is not understood",
        "--remove  camera:frnt: unknown camera 'frnt'; did you mean 'front'?",
        "--remove  device:front: unknown device 'front'",
        "--remove  planet:mars: unknown kind 'planet'; valid: device, camera",
        "--remove  b: write KIND:NAME",
        "--set  tasks.fuze.wcet=1ms: unknown name in tasks 'fuze'; did you mean 'fuse'?",
        "--set  tasks.fuse.wcte=1ms: tasks.fuse has no key 'wcte'",
        "--set  tasks.fuse: write PATH=VALUE",
        "chains.see_top.path is a list with the places 0 to 3",
        "'a..b' is not a path",
        "tasks.sweep.wcet may mean several paths: tasks.sweep.execution.cpu.wcet, tasks.sweep.execution.gpu.wcet",
        "--set  tasks.fuse.wcet={: '{' is not a value",
        "name is 'rig' in the file, so x is not below it",
        "tasks is no list, so [0] is not in it",
    ):
        assert part in text


def test_the_loader_checks_what_was_set_and_says_where(tmp_path: Path) -> None:
    found = problems(
        rig(tmp_path), settings=("tasks.fuse.deadline=9", "tasks.act.runs_on=z.mcu", "sensors.front.rate=0Hz")
    )
    text = "\n".join(found)
    assert "--set sensors.front.rate=0Hz  sensors.front.rate: '0Hz' must be more than zero" in text
    assert "--set tasks.fuse.deadline=9  tasks.fuse.deadline: '9' has no unit" in text
    assert "--set tasks.act.runs_on=z.mcu  tasks.act.runs_on: unknown device 'z'" in text
    assert "rig.yaml:14:69" in text, "the entry of the table that no longer fits stands in the file"
    (other,) = problems(rig(tmp_path), settings=("tasks.detect_left.inputs.x=detect_front", "tasks.pre_left.core=7"))
    assert other.startswith("--set tasks.pre_left.core=7  tasks.pre_left.core: expected a whole number from 0 to 1")


def test_a_mistake_that_follows_elsewhere_stands_in_its_line(tmp_path: Path) -> None:
    (found,) = problems(rig(tmp_path), settings=("devices.a.cpu.cores=1",))
    assert ":25:42" in found and "tasks.pre_front.core" in found


@pytest.fixture(scope="module")
def example() -> Path:
    return resolve("quad_orin")


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_whatever_goes_leaves_a_system_that_can_be_read(example: Path, data: st.DataObject) -> None:
    whole, _ = changed(example)
    kinds = {
        "device": [one.name for one in whole.devices],
        "task": [one.name for one in whole.tasks],
        "chain": [one.name for one in whole.chains],
        "camera": [one.name for one in whole.sensors if one.kind.value == "camera"],
        "lidar": ["lidar_top"],
        "imu": ["imu"],
    }
    names = [f"{kind}:{name}" for kind, names in kinds.items() for name in names]
    gone = tuple(data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)))
    left, told = changed(example, removals=gone)
    there = {one.name for one in (*left.tasks, *left.sensors)}
    assert not {name.partition(":")[2] for name in gone} & (there | {one.name for one in left.devices})
    assert all(step in there for chain in left.chains for step in chain.path)
    assert {one.name for one in left.tasks} <= {one.name for one in whole.tasks}
    assert all(one.did for one in told)
    gone_tasks = {one.name for one in whole.tasks} - there
    said = " ".join(line for one in told for line in one.did)
    assert all(f"task {name} is gone" in said for name in gone_tasks)
