"""A replay with a detector that the product has never seen, tracks, and the lane: by a system file alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_models import patch_finder

from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay
from rt_sched.errors import DeploymentError, RtSchedError

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "replay_data/hazard_short.mcap"

SYSTEM = """
rt_sched: 1
name: one_camera
policy: rms
devices:
  orin: {soc: agx-orin, power_mode: MAXN}
sensors:
  front_wide:
    kind: camera
    rate: 30Hz
    latency: 5ms
    jitter: 1ms
    attached_to: orin
    topic: /camera/front_wide/*
    calibration: {image_size: [576, 360], intrinsics: {fx: 426.977559, fy: 426.977559, cx: 288, cy: 180},
      sensor_to_vehicle: [[0, -0.034899, 0.999391, 1.95], [-1, 0, 0, 0], [0, -0.999391, -0.034899, 1.42]]}
tasks:
  pre: {stage: "pipelines.camera:Preprocess", runs_on: orin.cpu, inputs: {image: front_wide}, deadline: 10ms,
    execution: {bcet: 1ms, wcet: 3ms}, parameters: {model: m.onnx, output_layout: yolox}}
  infer: {stage: "pipelines.detector:Infer", runs_on: orin.gpu, inputs: {tensor: pre}, deadline: 20ms,
    execution: {bcet: 5ms, wcet: 8ms}, parameters: {model: m.onnx}}
  post: {stage: "pipelines.detector:Postprocess", runs_on: orin.cpu, inputs: {raw: infer}, deadline: 10ms,
    execution: {bcet: 1ms, wcet: 2ms}, parameters: PARAMETERS}
  track: {stage: "pipelines.camera_tracking:Track", runs_on: orin.cpu, inputs: {detections: post}, deadline: 10ms,
    execution: {bcet: 1ms, wcet: 2ms}}
  lanes: {stage: "pipelines.lanes:LaneMarkings", runs_on: orin.cpu, inputs: {image: front_wide}, deadline: 30ms,
    execution: {bcet: 1ms, wcet: 2ms}}
"""


def replay(folder: Path, parameters: dict[str, Any], *, threads: int, faults: tuple[str, ...] = ()) -> Any:
    patch_finder(folder / "m.onnx", "yolox")
    (folder / "system.yaml").write_text(SYSTEM.replace("PARAMETERS", json.dumps(parameters)))
    request = ReplayRequest(
        log=str(LOG),
        system=str(folder / "system.yaml"),
        threads=threads,
        faults=faults,
        output=folder / f"run{threads}",
    )
    return run_replay(request, Quiet())


def test_a_yolox_416_with_tracks_and_lanes(tmp_path: Path) -> None:
    """Its classes are patches of colour, of which the scene's lamps and lawns have some; any thread count agrees."""
    parameters = {"output_layout": "yolox", "class_names": ["red", "green", "blue"], "score_threshold": 0.1}
    one, several = (replay(tmp_path, parameters, threads=threads) for threads in (1, 5))
    assert one.summary["status"] == "ok"
    (camera,) = one.summary["detections"]
    assert camera["camera"] == "front_wide"
    assert camera["frames"] > 20
    assert sum(row["boxes"] for row in camera["classes"]) > 0
    assert one.manifest["outputs_sha256"] == several.manifest["outputs_sha256"]
    assert one.manifest["schedule_sha256"] == several.manifest["schedule_sha256"]


def test_frames_of_a_lost_camera_are_neither_decoded_nor_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rt_sched.app.replay import job as replay_module

    made = []

    class Watched(replay_module.DecodeAhead):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(replay_module, "DecodeAhead", Watched)
    parameters = {"output_layout": "yolox", "class_names": ["red", "green", "blue"]}
    whole = replay(tmp_path, parameters, threads=2)
    lossy = replay(tmp_path, parameters, threads=3, faults=("camera:front_wide@300ms",))
    (topic,) = (topic for topic in lossy.summary["topics"] if topic["name"].startswith("/camera/front_wide"))
    assert topic["undecodable"] == 0
    frames = [run.summary["detections"][0]["frames"] for run in (whole, lossy)]
    # Two readers need the frame in one size, for which a jpeg of 576 x 360 cannot be reduced.
    assert [ahead.store.decoded for ahead in made] == frames
    assert [ahead.store.taken for ahead in made] == [2 * count for count in frames]
    assert 0 < frames[1] < frames[0]
    assert all(ahead.store.held_bytes == 0 for ahead in made)


def test_a_class_list_of_another_length_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"does not fit a list of 80 classes.*table float32\[1, 3549, 8\]"):
        replay(tmp_path, {"output_layout": "yolox"}, threads=1)
    assert not (tmp_path / "run1").exists()


def test_a_wrong_parameter_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(RtSchedError, match=r"system\.yaml:\d+:\d+ .*did you mean 'yolox'"):
        replay(tmp_path, {"output_layout": "yoloxx"}, threads=1)
