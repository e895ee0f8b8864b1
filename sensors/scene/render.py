"""The camera renderer: painter's algorithm over flat polygons on a textured ground under a sky.

Frames are drawn at twice their size without anti-aliasing and averaged, which leaves no seams between polygons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from sensors.scene.backdrop import draw_backdrop, finish_frame, headlight, smooth_noise
from sensors.scene.depth_order import Placed, farthest_first
from sensors.scene.rig import Camera
from sensors.scene.shapes import Lamp, Shape, plane_of
from sensors.scene.terrain import Terrain
from sensors.scene.trajectory import MotionState
from sensors.scene.weather import weathered
from sensors.scene.world import Lighting, World

Array = npt.NDArray[np.float64]
Frame = npt.NDArray[np.uint8]

NEAR_M = 0.3
FAR_M = 260.0
_SUPERSAMPLING = 2
_SUBPIXEL_BITS = 4
_NOISE_SIDE = 512


@dataclass(frozen=True, slots=True, eq=False)
class _PackedShape:
    """A shape as arrays: `vertices` float64[n, 3], polygon p owns rows `start[p]`..`start[p + 1]`."""

    vertices: Array
    start: npt.NDArray[np.int64]
    planes: Array
    colours: Array
    lamps: npt.NDArray[np.int64]
    two_sided: npt.NDArray[np.bool_]
    radius_m: float


@dataclass(frozen=True, slots=True, eq=False)
class CameraPose:
    """A camera in the world: rows of `rotation` are its right, down and forward axes; `position` is float64[3]."""

    rotation: Array
    position: Array

    def to_camera(self, points: Array) -> Array:
        """World points float64[n, 3] in the optical frame."""
        x, y, z = (points[:, axis] - self.position[axis] for axis in range(3))
        # Written out: a matrix product's rounding depends on the machine's BLAS kernel.
        return np.stack([row[0] * x + row[1] * y + row[2] * z for row in self.rotation], axis=1)


def camera_pose(camera: Camera, ego: MotionState) -> CameraPose:
    """Where `camera` is in the world when the ego vehicle is at `ego`."""
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    cp, sp = math.cos(ego.pitch_rad), math.sin(ego.pitch_rad)
    mounted = camera.vehicle_to_camera()[:, :3]
    forward, up = mounted[:, 0] * cp - mounted[:, 2] * sp, mounted[:, 0] * sp + mounted[:, 2] * cp
    rotation = np.stack([forward * c - mounted[:, 1] * s, forward * s + mounted[:, 1] * c, up], axis=1)
    px, py, pz = camera.position_m
    fx, fz = cp * px - sp * pz, sp * px + cp * pz
    return CameraPose(rotation, np.array([ego.x_m + c * fx - s * py, ego.y_m + s * fx + c * py, ego.z_m + fz]))


def placed_vertices(shape: Shape, x_m: float, y_m: float, yaw_rad: float, terrain: Terrain) -> Array:
    """All polygon corners of a shape that stands at (x_m, y_m), in the world frame: float64[n, 3]."""
    return _lifted(_place(_pack(shape).vertices, x_m, y_m, yaw_rad), terrain)


def clip_near(points: Array) -> Array:
    """The part of a polygon (optical frame) with z >= NEAR_M; may be empty."""
    kept: list[Array] = []
    for a, b in zip(points, np.roll(points, -1, axis=0), strict=True):
        if a[2] >= NEAR_M:
            kept.append(a)
        if (a[2] >= NEAR_M) != (b[2] >= NEAR_M):
            kept.append(a + (b - a) * ((NEAR_M - a[2]) / (b[2] - a[2])))
    return np.array(kept).reshape(-1, 3)


class CameraRenderer:
    """Draws what one camera sees of a world. Equal (world, camera, seed, frame number) give equal bytes."""

    def __init__(self, world: World, camera: Camera, seed: int) -> None:
        self._world = world
        self._camera = camera
        self._seed = seed
        self._pieces = world.terrain.pieces()
        self._props = [self._placed(p.shape, p.x_m, p.y_m, p.yaw_rad) for p in world.props]
        light = world.lighting
        daylight = light.ambient + light.sun * max(0.0, light.sun_direction[2])
        self._light = np.array(
            [daylight, light.shadow, light.haze_half_m, light.cloud_cover, light.beam, light.beam_reach_m, 1.0, 0.0]
        )
        self._sky = np.array([light.sky_horizon, light.sky_zenith], dtype=np.float64)
        self._bands = np.array([(b.y_max_m, *b.colour, b.grain) for b in world.road.bands], dtype=np.float64)
        self._markings = np.array(
            [(m.y_m, m.width_m, m.dash_m, m.period_m) for m in world.road.markings], dtype=np.float64
        ).reshape(-1, 4)
        self._tile = smooth_noise(256, 11, 2)
        self._noise = np.rint(smooth_noise(_NOISE_SIDE, 12, 1) * (2.0 * world.imaging.noise_gain)).astype(np.int8)

    def render(self, time_ns: int, number: int) -> Frame:
        """The frame uint8[height, width, 3] (BGR) captured at `time_ns`; `number` selects its noise."""
        camera, world = self._camera, self._world
        ego = world.ego_at(time_ns)
        pose = camera_pose(camera, ego)
        placed = list(self._props)
        for actor in world.actors:
            state = actor.trajectory.state_at(time_ns)
            item = self._placed(actor.shape, state.x_m, state.y_m, state.yaw_rad)
            placed.append(replace(item, braking=state.braking, moves=True))
        visible = self._visible(placed, pose)
        light = self._light.copy()
        light[6:] = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)

        backdrop = np.empty((camera.height, camera.width, 3), np.uint8)
        shadow = self._shadow_mask(visible, pose)
        draw_backdrop(
            backdrop, pose.rotation, pose.position, camera.focal_px, shadow,
            self._pieces, self._bands, self._markings, light, self._sky, self._tile,
        )  # fmt: skip
        canvas = np.repeat(np.repeat(backdrop, _SUPERSAMPLING, axis=0), _SUPERSAMPLING, axis=1)
        self._draw(canvas, visible, pose, light)
        frame = np.empty_like(backdrop)
        draw = np.random.Generator(np.random.Philox(key=[self._seed, number]))
        shift = draw.integers(0, _NOISE_SIDE, 2)
        finish_frame(canvas, self._noise, int(shift[0]), int(shift[1]), frame)
        return weathered(frame, world.imaging, self._seed, time_ns, draw)

    def _placed(self, shape: Shape, x_m: float, y_m: float, yaw_rad: float) -> Placed:
        terrain = self._world.terrain
        return Placed(shape, x_m, y_m, yaw_rad, False, terrain.height_m(x_m), terrain.rise(x_m), False)

    def _visible(self, placed: Sequence[Placed], pose: CameraPose) -> list[Placed]:
        """What can be in view, farthest first."""
        slope = math.hypot(self._camera.width, self._camera.height) / 2 / self._camera.focal_px
        radius = np.array([_pack(item.shape).radius_m for item in placed])
        centres = pose.to_camera(
            np.array([(item.x_m, item.y_m, item.z_m + item.shape.size_m[2] / 2) for item in placed])
        )
        z = centres[:, 2]
        beside = np.sqrt(centres[:, 0] ** 2 + centres[:, 1] ** 2) - radius * math.sqrt(1.0 + slope * slope)
        seen = (z >= -radius) & (z <= FAR_M) & (beside <= slope * np.maximum(z, 0.0))
        kept = [placed[k] for k in np.flatnonzero(seen).tolist()]
        return farthest_first(kept, float(pose.position[0]), float(pose.position[1]))

    def _shadow_mask(self, visible: Sequence[Placed], pose: CameraPose) -> npt.NDArray[np.uint8]:
        """Where the sun does not reach the ground: uint8[h, w], 255 below things, less in the shadow they cast."""
        mask = np.zeros((self._camera.height, self._camera.width), np.uint8)
        sx, sy, sz = self._world.lighting.sun_direction
        casting = [item for item in visible if item.shape.casts_shadow]
        for contact in (False, True):
            for item in casting:
                length, width, height = item.shape.size_m
                corners = _place(_footprint(length * 0.97, width * 0.95), item.x_m, item.y_m, item.yaw_rad)
                if not contact:
                    cast = corners - np.array([sx, sy, 0.0]) * (height * 0.8 / max(sz, 0.1))
                    corners = _hull(np.concatenate([corners, cast]))
                corners = _lifted(corners, self._world.terrain)
                self._fill_clipped(mask, pose.to_camera(corners), (255.0 if contact else 165.0,), 1)
        return cv2.blur(mask, (5, 3)).astype(np.uint8, copy=False)

    def _draw(self, canvas: Frame, items: Sequence[Placed], pose: CameraPose, light: Array) -> None:
        """Paint the things one after the other, each with its polygons in order."""
        if not items:
            return
        packs = [_pack(item.shape) for item in items]
        per_polygon = np.repeat(np.arange(len(items)), [len(pack.planes) for pack in packs])
        per_vertex = np.repeat(np.arange(len(items)), [len(pack.vertices) for pack in packs])
        place = np.array([(item.x_m, item.y_m, math.cos(item.yaw_rad), math.sin(item.yaw_rad)) for item in items])
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(pack.start) for pack in packs]))])

        planes = np.concatenate([pack.planes for pack in packs])
        x, y, c, s = place[per_polygon].T
        normals = np.stack(
            [c * planes[:, 0] - s * planes[:, 1], s * planes[:, 0] + c * planes[:, 1], planes[:, 2]], axis=1
        )
        px, py, pz = pose.position
        ground = np.array([(item.z_m, item.rise) for item in items])[per_polygon]
        over = pz - (ground[:, 0] + ground[:, 1] * (px - x))
        above = normals[:, 0] * (px - x) + normals[:, 1] * (py - y) + normals[:, 2] * over - planes[:, 3]
        facing = np.flatnonzero((above > 1e-9) | np.concatenate([pack.two_sided for pack in packs]))
        normals = np.where((above < 0.0)[:, None], -normals, normals)
        colours = shaded(
            self._world.lighting,
            np.concatenate([pack.colours for pack in packs]),
            np.concatenate([pack.lamps for pack in packs]),
            normals,
            np.array([item.braking for item in items])[per_polygon],
            np.sqrt((x - px) ** 2 + (y - py) ** 2),
            np.array([headlight(item.x_m - px, item.y_m - py, light) for item in items])[per_polygon],
        )

        vertices = np.concatenate([pack.vertices for pack in packs])
        x, y, c, s = place[per_vertex].T
        placed = np.stack(
            [c * vertices[:, 0] - s * vertices[:, 1] + x, s * vertices[:, 0] + c * vertices[:, 1] + y, vertices[:, 2]],
            axis=1,
        )
        points = pose.to_camera(_lifted(placed, self._world.terrain))
        pixels = self._project(points, _SUPERSAMPLING)
        whole = np.minimum.reduceat(points[:, 2], start[:-1]) >= NEAR_M
        limit = np.array([canvas.shape[1], canvas.shape[0]]) << _SUBPIXEL_BITS
        low, high = np.minimum.reduceat(pixels, start[:-1]), np.maximum.reduceat(pixels, start[:-1])
        outside = np.any((high < 0) | (low > limit), axis=1)
        for p in facing[~(whole & outside)[facing]].tolist():
            rows = slice(start[p], start[p + 1])
            if whole[p]:
                cv2.fillPoly(canvas, [pixels[rows]], colours[p].tolist(), cv2.LINE_8, _SUBPIXEL_BITS)
            else:
                self._fill_clipped(canvas, points[rows], colours[p].tolist(), _SUPERSAMPLING)

    def _project(self, points: Array, magnification: int) -> npt.NDArray[np.int32]:
        """Fixed-point pixels int32[n, 2], true where z >= NEAR_M, on a canvas `magnification` times the image."""
        camera, focal = self._camera, self._camera.focal_px
        z = np.maximum(points[:, 2], NEAR_M)
        u = (camera.width * 0.5 + focal * points[:, 0] / z) * magnification - 0.5
        v = (camera.height * 0.5 + focal * points[:, 1] / z) * magnification - 0.5
        return np.rint(np.column_stack([u, v]) * (1 << _SUBPIXEL_BITS)).astype(np.int32)

    def _fill_clipped(self, canvas: Frame, points: Array, colour: Sequence[float], magnification: int) -> None:
        """Fill what of a polygon (optical frame) lies in front of the camera."""
        visible = clip_near(points)
        if len(visible) >= 3:
            cv2.fillPoly(canvas, [self._project(visible, magnification)], colour, cv2.LINE_8, _SUBPIXEL_BITS)


def shaded(
    lighting: Lighting,
    colours: Array,
    lamps: npt.NDArray[np.int64],
    normals: Array,
    braking: npt.NDArray[np.bool_],
    distance_m: Array,
    beam: Array,
) -> Array:
    """Colours as seen: float64[n, 3] from base `colours`, unit `normals` towards the camera, lamps and haze.

    `beam`: light of the ego vehicle's headlamps on each polygon.
    """
    sx, sy, sz = lighting.sun_direction
    towards_sun = np.maximum(0.0, normals[:, 0] * sx + normals[:, 1] * sy + normals[:, 2] * sz)
    sky_share = 0.86 + 0.14 * normals[:, 2]
    seen = colours * (lighting.ambient * sky_share + lighting.sun * towards_sun + beam)[:, None]
    tail = lamps == Lamp.TAIL
    if lighting.lamps_lit:
        seen[tail] = (30.0, 24.0, 190.0)
        seen[lamps == Lamp.HEAD] = (236.0, 250.0, 255.0)
        # Every third window is lit; a window's two panes follow each other.
        window = np.flatnonzero(lamps == Lamp.WINDOW)
        seen[window[(window // 2) % 3 == 0]] = (120.0, 190.0, 224.0)
    seen[tail & braking] = (62.0, 58.0, 255.0)
    haze = (distance_m / (distance_m + lighting.haze_half_m))[:, None]
    seen += (np.array(lighting.sky_horizon) - seen) * haze
    return np.clip(np.rint(seen), 0.0, 255.0)


_packed_shapes: dict[int, tuple[Shape, _PackedShape]] = {}


def _pack(shape: Shape) -> _PackedShape:
    # Keyed by identity, because hashing a shape's thousands of numbers would cost more than packing it.
    known = _packed_shapes.get(id(shape))
    if known is not None and known[0] is shape:
        return known[1]
    polygons = shape.polygons
    lengths = [len(p.points) for p in polygons]
    packed = _PackedShape(
        np.array([point for p in polygons for point in p.points], dtype=np.float64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([plane_of(p.points) for p in polygons]),
        np.array([p.colour for p in polygons], dtype=np.float64),
        np.array([p.lamp for p in polygons], dtype=np.int64),
        np.array([p.two_sided for p in polygons], dtype=np.bool_),
        math.hypot(shape.size_m[0], shape.size_m[1], shape.size_m[2]) / 2 + 0.1,
    )
    _packed_shapes[id(shape)] = (shape, packed)
    return packed


def _place(points: Array, x_m: float, y_m: float, yaw_rad: float) -> Array:
    c, s = math.cos(yaw_rad), math.sin(yaw_rad)
    return np.stack(
        [c * points[:, 0] - s * points[:, 1] + x_m, s * points[:, 0] + c * points[:, 1] + y_m, points[:, 2]], axis=1
    )


def _lifted(points: Array, terrain: Terrain) -> Array:
    """Points float64[n, 3] of things on level ground, on the ground that there is."""
    if terrain.level:
        return points
    return np.column_stack([points[:, :2], points[:, 2] + terrain.heights_m(points[:, 0])])


def _footprint(length: float, width: float) -> Array:
    x, y = length / 2, width / 2
    return np.array([(-x, -y, 0.0), (x, -y, 0.0), (x, y, 0.0), (-x, y, 0.0)])


def _hull(points: Array) -> Array:
    flat = cv2.convexHull(np.ascontiguousarray(points[:, :2], dtype=np.float32))
    return np.column_stack([flat.reshape(-1, 2).astype(np.float64), np.zeros(len(flat))])
