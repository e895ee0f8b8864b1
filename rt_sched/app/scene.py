"""Scenes made on demand: a recording by name, and its ground truth beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rt_sched.app.progress import Progress
from rt_sched.errors import DataError, DeploymentError
from rt_sched.units import NS_PER_S, parse_time

SCENES_SCHEMA = "rt-sched/scenes/1"
SCENE_SCHEMA = "rt-sched/scene/1"


@dataclass(frozen=True, slots=True)
class SceneRequest:
    """What the user asked for. None: the scene's own duration and conditions, all cameras, NAME.mcap."""

    name: str
    output: Path | None = None
    duration: str | None = None
    seed: int = 1
    conditions: str | None = None
    without: tuple[str, ...] = ()
    cameras: tuple[str, ...] | None = None
    overwrite: bool = False


def scene_list() -> dict[str, Any]:
    """All scenes and conditions, as one document."""
    from sensors.scene.catalogue import SCENES
    from sensors.scene.weather import CONDITIONS

    return {
        "schema": SCENES_SCHEMA,
        "scenes": [
            {
                "name": scene.name,
                "summary": scene.summary,
                "duration_ns": round(scene.duration_s * NS_PER_S),
                "reaction": scene.reaction.value,
                "conditions": scene.conditions,
            }
            for scene in SCENES.values()
        ],
        "conditions": list(CONDITIONS),
    }


def make_scene(request: SceneRequest, progress: Progress) -> dict[str, Any]:
    """Writes recording and truth, both or neither; what was made, as one document. Raises RtSchedError."""
    from sensors.scene.catalogue import build_world, expected, find_scene
    from sensors.scene.rig import quad_orin_rig
    from sensors.scene.truth import truth_frames, truth_head, write_truth
    from sensors.scene.writer import EPOCH_NS, write_scene

    scene = find_scene(request.name)
    duration_ns = _duration_ns(request.duration, scene.duration_s)
    duration_s = duration_ns / NS_PER_S
    world = build_world(scene, duration_s=duration_s, conditions=request.conditions, without=request.without)
    rig = quad_orin_rig()
    known = [camera.name for camera in rig.cameras]
    for camera in request.cameras or ():
        if camera not in known:
            raise DataError(f"the vehicle has no camera {camera!r}; it has {', '.join(known)}")
    target = request.output or Path(f"{scene.name}.mcap")
    if target.suffix != ".mcap":
        raise DataError(f"{target}: a scene is written as MCAP; give a name that ends in .mcap")
    truth = target.with_name(f"{target.stem}_truth.json")
    for path in (target, truth):
        if path.exists() and not request.overwrite:
            raise DeploymentError(f"{path}: exists; overwrite it with --force")
    wanted = expected(scene, world, duration_s=duration_s)
    conditions = request.conditions or scene.conditions
    partial = truth.with_name(truth.name + ".partial")
    try:
        progress.step("working out the ground truth")
        head = truth_head(world, epoch_ns=EPOCH_NS, duration_ns=duration_ns, expected=wanted, conditions=conditions)
        frames = truth_frames(world, rig, epoch_ns=EPOCH_NS, duration_ns=duration_ns)
        write_truth(partial, head, _told(frames, duration_ns, progress.advance))
        progress.step("rendering the sensors")
        written = write_scene(
            world,
            rig,
            target,
            duration_s=duration_s,
            cameras=request.cameras,
            seed=request.seed,
            advance=progress.advance,
        )
        partial.replace(truth)
    except OSError as error:
        raise DeploymentError(f"cannot write {truth}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return {
        "schema": SCENE_SCHEMA,
        "scene": scene.name,
        "conditions": conditions,
        "without": list(request.without),
        "seed": request.seed,
        "duration_ns": written.duration_ns,
        "recording": str(target),
        "sha256": written.sha256,
        "size_bytes": written.size_bytes,
        "messages": written.messages,
        "truth": str(truth),
        "expected": wanted,
    }


def _duration_ns(text: str | None, default_s: float) -> int:
    from sensors.scene.catalogue import LONGEST_S

    if text is None:
        return round(default_s * NS_PER_S)
    try:
        duration_ns = int(parse_time(text))
    except ValueError as error:
        raise DataError(f"--duration: {error}") from error
    if not 0 < duration_ns <= LONGEST_S * NS_PER_S:
        raise DataError(f"--duration: {text} is out of range; a scene lasts up to {LONGEST_S:g}s")
    return duration_ns


def _told(
    frames: Iterable[dict[str, Any]], total_ns: int, advance: Callable[[int, int], None]
) -> Iterator[dict[str, Any]]:
    for frame in frames:
        advance(frame["time_ns"], total_ns)
        yield frame
