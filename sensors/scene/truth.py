"""What is really there: ground truth of a scene, for evaluation only, never part of a recording."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from rt_sched.errors import DeploymentError
from sensors.scene.render import NEAR_M, camera_pose, placed_vertices
from sensors.scene.rig import Camera, Rig
from sensors.scene.trajectory import MotionState
from sensors.scene.world import Actor, World

SCHEMA = "rt-sched-scene-truth/1"

#: Actors farther away than this have no box in an image.
_FARTHEST_BOX_M = 120.0


@dataclass(frozen=True, slots=True)
class LeadState:
    """The actor ahead: bumper-to-bumper gap, how fast it shrinks, and time to collision (None: it does not shrink)."""

    gap_m: float
    closing_speed_m_s: float
    ttc_s: float | None


@dataclass(frozen=True, slots=True)
class ImageBox:
    """The part of an actor's outline that lies in the image, in pixels; `visible` is the share not hidden by others.

    `truncated`: the outline reaches beyond the image.
    """

    actor: str
    x_min: float
    y_min: float
    x_max: float
    y_max: float
    visible: float
    truncated: bool


def lead_state(world: World, time_ns: int) -> LeadState | None:
    """Gap and time to collision at `time_ns`, or None in a world without a lead vehicle."""
    if world.lead is None:
        return None
    lead = world.actor(world.lead)
    state, ego = lead.trajectory.state_at(time_ns), world.ego_at(time_ns)
    gap = state.x_m - lead.shape.size_m[0] / 2 - ego.x_m - world.ego.front_m
    closing = ego.speed_m_s - state.speed_m_s
    return LeadState(gap, closing, gap / closing if closing > 0.0 else None)


def image_boxes(world: World, camera: Camera, time_ns: int) -> list[ImageBox]:
    """Boxes of all actors in view of `camera`, nearest first. Props do not count as hiding anything."""
    pose = camera_pose(camera, world.ego_at(time_ns))
    owner = np.zeros((camera.height, camera.width), np.uint8)
    found: list[tuple[float, Actor, npt.NDArray[np.float64]]] = []
    for actor in world.actors:
        state = actor.trajectory.state_at(time_ns)
        points = pose.to_camera(placed_vertices(actor.shape, state.x_m, state.y_m, state.yaw_rad, world.terrain))
        if points[:, 2].max() < NEAR_M or points[:, 2].min() > _FARTHEST_BOX_M:
            continue
        outline = _outline(points, camera)
        if outline is not None:
            found.append((float(points[:, 2].mean()), actor, outline))
    found.sort(key=lambda entry: -entry[0])
    whole: list[int] = []
    for index, (_, _, outline) in enumerate(found):
        alone = np.zeros_like(owner)
        pixels = np.rint((outline - 0.5) * 16).astype(np.int32)
        cv2.fillConvexPoly(alone, pixels, 1, cv2.LINE_8, 4)
        whole.append(int(alone.sum()))
        owner[alone > 0] = index + 1
    boxes: list[ImageBox] = []
    for index, (_, actor, outline) in enumerate(found):
        if whole[index] == 0:
            continue
        visible = int((owner == index + 1).sum()) / whole[index]
        (x0, y0), (x1, y1) = outline.min(axis=0), outline.max(axis=0)
        inside = (max(0.0, float(x0)), max(0.0, float(y0)), min(camera.width, float(x1)), min(camera.height, float(y1)))
        boxes.append(ImageBox(actor.name, *inside, visible, inside != (x0, y0, x1, y1)))
    return boxes[::-1]


def truth_head(
    world: World, *, epoch_ns: int, duration_ns: int, expected: Mapping[str, Any], conditions: str
) -> dict[str, Any]:
    """What holds for the whole scene, as JSON-ready data; `expected` as in `sensors.scene.catalogue`."""
    return {
        "schema": SCHEMA,
        "scene": world.name,
        "conditions": conditions,
        "epoch_ns": epoch_ns,
        "duration_ns": duration_ns,
        "expected": dict(expected),
        "lead": world.lead,
        "ego": {
            "size_m": [world.ego.length_m, world.ego.width_m, world.ego.height_m],
            "front_m": round(world.ego.front_m, 6),
            "events": _events(world.ego.trajectory.phases),
        },
        "actors": [
            {
                "name": actor.name,
                "kind": actor.kind,
                "size_m": list(actor.shape.size_m),
                "events": _events(actor.trajectory.phases),
            }
            for actor in world.actors
        ],
    }


def truth_frames(world: World, rig: Rig, *, epoch_ns: int, duration_ns: int) -> Iterator[dict[str, Any]]:
    """One frame per capture instant of the first camera, JSON-ready, made one at a time.

    Positions of actors are box centres in the vehicle frame at that instant; `boxes` holds, per camera and actor,
    [x_min, y_min, x_max, y_max, visible share, truncated 0 or 1] in pixels.
    """
    timing = rig.cameras[0].timing
    for number in range(timing.count(duration_ns)):
        yield _frame(world, rig, epoch_ns, timing.capture_ns(number))


def write_truth(path: Path, head: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]) -> None:
    """The truth as one JSON document with one frame a line: small, and readable in a diff. Raises DeploymentError."""
    try:
        with path.open("w", encoding="utf-8") as out:
            out.write(json.dumps(head, separators=(",", ":"))[:-1] + ',"frames":[')
            for number, frame in enumerate(frames):
                out.write((",\n" if number else "\n") + json.dumps(frame, separators=(",", ":")))
            out.write("\n]}\n")
    except OSError as error:
        raise DeploymentError(f"cannot write {path}: {error.strerror or error}") from error


def _events(phases: Sequence[Any]) -> list[dict[str, float | int]]:
    return [{"time_ns": phase.start_ns, "acceleration_m_s2": phase.acceleration_m_s2} for phase in phases]


def _frame(world: World, rig: Rig, epoch_ns: int, time_ns: int) -> dict[str, Any]:
    ego = world.ego_at(time_ns)
    lead = lead_state(world, time_ns)
    return {
        "time_ns": time_ns,
        "capture_time_ns": epoch_ns + time_ns,
        "ego": _rounded(
            {
                "x_m": ego.x_m,
                "y_m": ego.y_m,
                "yaw_rad": ego.yaw_rad,
                "speed_m_s": ego.speed_m_s,
                "acceleration_m_s2": ego.acceleration_m_s2,
            }
        ),
        "lead": None
        if lead is None
        else _rounded({"gap_m": lead.gap_m, "closing_speed_m_s": lead.closing_speed_m_s, "ttc_s": lead.ttc_s}),
        "actors": {actor.name: _relative(world, actor, ego, time_ns) for actor in world.actors},
        "boxes": {camera.name: _boxes(world, camera, time_ns) for camera in rig.cameras},
    }


def _relative(world: World, actor: Actor, ego: MotionState, time_ns: int) -> dict[str, float | None]:
    state = world.state_of(actor, time_ns)
    dx, dy = state.x_m - ego.x_m, state.y_m - ego.y_m
    dz = state.z_m + actor.shape.size_m[2] / 2 - ego.z_m
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    cp, sp = math.cos(ego.pitch_rad), math.sin(ego.pitch_rad)
    ahead = c * dx + s * dy
    return _rounded(
        {
            "x_m": cp * ahead + sp * dz,
            "y_m": c * dy - s * dx,
            "z_m": cp * dz - sp * ahead,
            "yaw_rad": state.yaw_rad - ego.yaw_rad,
            "speed_m_s": state.speed_m_s,
            "acceleration_m_s2": state.acceleration_m_s2,
        }
    )


def _boxes(world: World, camera: Camera, time_ns: int) -> dict[str, list[float]]:
    return {
        box.actor: [
            *(round(v, 1) for v in (box.x_min, box.y_min, box.x_max, box.y_max)),
            round(box.visible, 2),
            int(box.truncated),
        ]
        for box in image_boxes(world, camera, time_ns)
    }


def _outline(points: npt.NDArray[np.float64], camera: Camera) -> npt.NDArray[np.float64] | None:
    """The convex outline of points (optical frame) in pixels, or None where it lies outside the image."""
    if points[:, 2].min() < NEAR_M:
        points = _in_front(points)
    u = camera.width / 2 + camera.focal_px * points[:, 0] / points[:, 2]
    v = camera.height / 2 + camera.focal_px * points[:, 1] / points[:, 2]
    outline = cv2.convexHull(np.column_stack([u, v]).astype(np.float32)).reshape(-1, 2).astype(np.float64)
    (x0, y0), (x1, y1) = outline.min(axis=0), outline.max(axis=0)
    if x1 <= 0 or y1 <= 0 or x0 >= camera.width or y0 >= camera.height:
        return None
    return outline


def _in_front(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Points that span the part of the convex hull of `points` in front of the near plane."""
    ahead = points[:, 2] >= NEAR_M
    front, behind = points[ahead][:, None, :], points[~ahead][None, :, :]
    share = (NEAR_M - front[:, :, 2]) / (behind[:, :, 2] - front[:, :, 2])
    crossings = front + (behind - front) * share[:, :, None]
    return np.concatenate([points[ahead], crossings.reshape(-1, 3)])


def _rounded(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {key: None if value is None else round(value, 6) + 0.0 for key, value in values.items()}
