"""The section `sensors`: what each delivers, how often, and where it is attached and mounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.config import fields
from rt_sched.config.edges import Producer, sensor_outputs
from rt_sched.config.fields import Table
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.yaml_nodes import Entry, Node
from rt_sched.model import ArrivalClock, Calibration, Device, Sensor, SensorKind

#: A rotation's rows may miss unit length and right angles by this much: calibrations are printed with few digits.
ROTATION_TOLERANCE = 2e-3
MAX_IMAGE_SIDE = 65_536

_SENSOR_KEYS = (
    "kind",
    "rate",
    "offset",
    "latency",
    "jitter",
    "attached_to",
    "topic",
    "topics",
    "arrival",
    "calibration",
)
_CALIBRATION_KEYS = ("image_size", "intrinsics", "sensor_to_vehicle")
_INTRINSIC_KEYS = ("fx", "fy", "cx", "cy")
_STAND_IN_RATE_HZ = Fraction(1)


@dataclass(frozen=True, slots=True)
class SensorDraft:
    """A sensor and where its name stands. `kind_known`: False when its kind is missing or wrong, and only stood in."""

    sensor: Sensor
    key: Node
    kind_known: bool


def read_sensors(node: Node | None, devices: Mapping[str, Device], problems: Problems) -> dict[str, SensorDraft]:
    """Name -> sensor, in file order."""
    if node is None:
        return {}
    named = fields.named_entries(node, "sensors", problems)
    return {name: _read_sensor(name, entry, devices, problems) for name, entry in named}


def sensor_producers(drafts: Mapping[str, SensorDraft]) -> dict[str, Producer]:
    """What each sensor offers to tasks."""
    return {name: sensor_outputs(draft.sensor.kind if draft.kind_known else None) for name, draft in drafts.items()}


def _read_sensor(name: str, entry: Entry, devices: Mapping[str, Device], problems: Problems) -> SensorDraft:
    node = entry.value
    table = Table(node, "a sensor", _SENSOR_KEYS, problems)
    table.need("kind", "kind: camera")
    table.need("rate", "rate: 30Hz")
    read_kind = table.read("kind", fields.choice(SensorKind, "kind of sensor"), None)
    kind = read_kind or SensorKind.CAMERA
    calibration_node = table.get("calibration")
    sensor = Sensor(
        name=name,
        kind=kind,
        rate_hz=table.read("rate", fields.rate, _STAND_IN_RATE_HZ),
        attached_to=_read_attachment(table, devices),
        topics=_read_topics(table),
        offset_ns=table.read("offset", fields.time_up_or_zero, 0),
        latency_ns=table.read("latency", fields.time_up_or_zero, 0),
        jitter_ns=table.read("jitter", fields.time_up_or_zero, 0),
        arrival_clock=table.read("arrival", fields.choice(ArrivalClock, "arrival clock"), ArrivalClock.LOG),
        calibration=_read_calibration(calibration_node, kind, problems) if calibration_node else Calibration(),
    )
    return SensorDraft(sensor, entry.key, kind_known=read_kind is not None)


def _read_attachment(table: Table, devices: Mapping[str, Device]) -> tuple[str, ...]:
    node = table.need("attached_to", f"attached_to: {next(iter(devices), 'orin-1')}")
    names = fields.texts(node, table.problems) if node else None
    if node is None or names is None:
        return ()
    for item in node.items if node.is_sequence else (node,):
        if item.is_scalar and not item.is_null and item.text not in devices:
            table.problems.add(item, unknown("device", item.text, devices))
    return names


def _read_topics(table: Table) -> tuple[str, ...]:
    present = table.exclusive(("topic", "topics"))
    if present:
        return table.read(present[0], fields.texts, ())
    table.need("topic", "topic: /camera/front/*")
    return ()


def _read_calibration(node: Node, kind: SensorKind, problems: Problems) -> Calibration:
    table = Table(node, "a calibration", _CALIBRATION_KEYS, problems)
    if kind is not SensorKind.CAMERA:
        for key in ("image_size", "intrinsics"):
            if table.get(key) is not None:
                problems.add(table.key(key), f"only a camera has {key}; this is a {kind.value}")
    elif table.get("intrinsics") is not None:
        table.need("image_size", "image_size: [640, 400]; the intrinsics are in pixels of that image")
    no_size: tuple[int | None, int | None] = (None, None)
    width, height = table.read("image_size", _image_size, no_size)
    return Calibration(
        image_width=width,
        image_height=height,
        intrinsics=table.read("intrinsics", _intrinsics, None),
        sensor_to_vehicle=table.read("sensor_to_vehicle", _rigid_transform, None),
    )


def _image_size(node: Node, problems: Problems) -> tuple[int | None, int | None] | None:
    items = fields.elements(node, "image_size", problems)
    if items is None:
        return None
    if len(items) != 2:
        problems.add(node, f"image_size is [width, height] in pixels, not {len(items)} values")
        return None
    width, height = (fields.integer(1, MAX_IMAGE_SIDE)(item, problems) for item in items)
    return (width, height)


def _intrinsics(node: Node, problems: Problems) -> tuple[float, float, float, float] | None:
    table = Table(node, "intrinsics", _INTRINSIC_KEYS, problems)
    values = []
    for key in _INTRINSIC_KEYS:
        item = table.need(key, f"{key}: 300.0")
        value = fields.number(item, problems) if item else None
        if item and value is not None and key in ("fx", "fy") and value <= 0:
            problems.add(item, f"the focal length {item.shown} must be more than zero")
        values.append(0.0 if value is None else value)
    fx, fy, cx, cy = values
    return (fx, fy, cx, cy)


def _rigid_transform(node: Node, problems: Problems) -> tuple[tuple[float, float, float, float], ...] | None:
    row_nodes = fields.elements(node, "sensor_to_vehicle", problems)
    if row_nodes is None:
        return None
    if len(row_nodes) != 3 or any(not row.is_sequence or len(row.items) != 4 for row in row_nodes):
        problems.add(node, "sensor_to_vehicle is 3 rows of 4 numbers: rotation and translation in metres")
        return None
    numbers = [[fields.number(item, problems) for item in row.items] for row in row_nodes]
    rows = []
    for a, b, c, d in numbers:
        if a is None or b is None or c is None or d is None:
            return None
        rows.append((a, b, c, d))
    if not _is_rotation(rows):
        problems.add(node, "the left 3x3 part is not a rotation: rows of unit length at right angles, right-handed")
        return None
    return tuple(rows)


def _is_rotation(rows: list[tuple[float, float, float, float]]) -> bool:
    def dot(u: tuple[float, ...], v: tuple[float, ...]) -> float:
        return sum(u[k] * v[k] for k in range(3))

    a, b, c = rows
    cross = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    lengths_are_one = all(abs(dot(row, row) - 1.0) <= ROTATION_TOLERANCE for row in rows)
    at_right_angles = max(abs(dot(a, b)), abs(dot(a, c)), abs(dot(b, c))) <= ROTATION_TOLERANCE
    return lengths_are_one and at_right_angles and dot(cross, c) > 0
