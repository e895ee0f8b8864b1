"""The sections `sensors` and `triggers`: what each delivers, how often, and where it is attached and mounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.config import fields, quantities
from rt_sched.config.edges import Producer, sensor_outputs
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.table import Choice, Key, Spec, Table, named_entries
from rt_sched.config.value import list_of
from rt_sched.config.yaml_nodes import Entry, Node
from rt_sched.model import ArrivalClock, Calibration, Device, Sensor, SensorKind, Trigger

#: A rotation's rows may miss unit length and right angles by this much: calibrations are printed with few digits.
ROTATION_TOLERANCE = 2e-3
MAX_IMAGE_SIDE = 65_536

_STAND_IN_RATE_HZ = Fraction(1)
_INTRINSICS = Spec(
    "intrinsics",
    "intrinsics",
    tuple(
        Key(name, fields.number, text, required=True, example=f"{name}: 300.0")
        for name, text in (
            ("fx", "Focal length, horizontal."),
            ("fy", "Focal length, vertical."),
            ("cx", "Principal point, horizontal."),
            ("cy", "Principal point, vertical."),
        )
    ),
)

_CALIBRATION = Spec(
    "calibration",
    "a calibration",
    (
        Key(
            "image_size",
            list_of({"type": "integer", "minimum": 1, "maximum": MAX_IMAGE_SIDE}, 2, 2),
            "Width and height of the recorded image.",
        ),
        Key("intrinsics", {"$spec": _INTRINSICS}, "Pinhole intrinsics in pixels of that image."),
        Key(
            "sensor_to_vehicle",
            list_of(list_of({"type": "number"}, 4, 4), 3, 3),
            "Pose: 3 rows of 4, rotation and translation in metres.",
        ),
    ),
)

SENSOR = Spec(
    "sensor",
    "a sensor",
    (
        Key(
            "kind",
            fields.choice(SensorKind, "kind of sensor"),
            "What it delivers.",
            required=True,
            example="kind: camera",
        ),
        Key("rate", quantities.rate, "Nominal rate of a sensor that runs freely.", _STAND_IN_RATE_HZ),
        Key("trigger", fields.WORD, "The hardware trigger that sets its rate, offset and drift."),
        Key("offset", quantities.time_up_or_zero, "Capture instant of sample 0.", 0, "0ns"),
        Key("drift", quantities.drift_ppm, "How fast its own clock runs.", Fraction(0), "0ppm"),
        Key("latency", quantities.time_up_or_zero, "Nominal time from capture to arrival.", 0, "0ns"),
        Key("capture_jitter", quantities.time_up_or_zero, "Largest deviation of a capture from nominal.", 0, "0ns"),
        Key("jitter", quantities.time_up_or_zero, "Largest deviation of an arrival from nominal.", 0, "0ns"),
        Key(
            "attached_to",
            fields.texts,
            "Devices that receive its data.",
            (),
            required=True,
            example="attached_to: orin-1",
        ),
        Key("topic", fields.texts, "Glob pattern of its topic in a recording.", ()),
        Key("topics", fields.texts, "Several patterns, most specific first.", ()),
        Key(
            "arrival",
            fields.choice(ArrivalClock, "arrival clock"),
            "Which recorded time is the arrival.",
            ArrivalClock.LOG,
            "log",
        ),
        Key("frame_size", quantities.size_bytes, "Size of one raw message on a link."),
        Key("calibration", {"$spec": _CALIBRATION}, "Where it is mounted and how it maps.", default_text="unknown"),
    ),
    (Choice(("rate", "trigger"), required=True), Choice(("topic", "topics"), required=True)),
)

TRIGGER = Spec(
    "trigger",
    "a trigger",
    (
        Key("rate", quantities.rate, "Nominal rate.", _STAND_IN_RATE_HZ, required=True, example="rate: 30Hz"),
        Key("offset", quantities.time_up_or_zero, "Instant of signal 0.", 0, "0ns"),
        Key("drift", quantities.drift_ppm, "How fast its oscillator runs.", Fraction(0), "0ppm"),
    ),
)


@dataclass(frozen=True, slots=True)
class SensorDraft:
    """A sensor and where its name stands. `kind_known`: False when its kind is missing or wrong, and only stood in."""

    sensor: Sensor
    key: Node
    kind_known: bool


def read_triggers(node: Node | None, problems: Problems) -> dict[str, Trigger]:
    """Name -> trigger, in file order."""
    triggers = {}
    for name, entry in () if node is None else named_entries(node, "triggers", problems):
        table = Table(entry.value, TRIGGER, problems)
        triggers[name] = Trigger(name, table.read("rate"), table.read("offset"), table.read("drift"))
    return triggers


def read_sensors(
    node: Node | None, devices: Mapping[str, Device], triggers: Mapping[str, Trigger], problems: Problems
) -> dict[str, SensorDraft]:
    """Name -> sensor, in file order."""
    if node is None:
        return {}
    named = named_entries(node, "sensors", problems)
    return {name: _read_sensor(name, entry, devices, triggers, problems) for name, entry in named}


def sensor_producers(drafts: Mapping[str, SensorDraft]) -> dict[str, Producer]:
    """What each sensor offers to tasks."""
    return {name: sensor_outputs(draft.sensor.kind if draft.kind_known else None) for name, draft in drafts.items()}


def _read_sensor(
    name: str, entry: Entry, devices: Mapping[str, Device], triggers: Mapping[str, Trigger], problems: Problems
) -> SensorDraft:
    example = {"attached_to": f"attached_to: {next(iter(devices), 'orin-1')}"}
    table = Table(entry.value, SENSOR, problems, example)
    read_kind: SensorKind | None = table.read("kind")
    kind = read_kind or SensorKind.CAMERA
    calibration_node = table.get("calibration")
    trigger = _read_trigger(table, triggers)
    sensor = Sensor(
        name=name,
        kind=kind,
        rate_hz=trigger.rate_hz if trigger else table.read("rate"),
        attached_to=_read_attachment(table, devices),
        topics=_read_topics(table),
        offset_ns=trigger.offset_ns if trigger else table.read("offset"),
        latency_ns=table.read("latency"),
        jitter_ns=table.read("jitter"),
        capture_jitter_ns=table.read("capture_jitter"),
        arrival_clock=table.read("arrival"),
        calibration=_read_calibration(calibration_node, kind, problems) if calibration_node else Calibration(),
        trigger=trigger.name if trigger else None,
        drift_ppm=trigger.drift_ppm if trigger else table.read("drift"),
        frame_bytes=table.read("frame_size") or (None if table.get("frame_size") is None else 1),
    )
    return SensorDraft(sensor, entry.key, kind_known=read_kind is not None)


def _read_trigger(table: Table, triggers: Mapping[str, Trigger]) -> Trigger | None:
    form = table.chosen("rate", "trigger")
    if form is None:
        table.need("rate", "rate: 30Hz")
    if form != "trigger":
        return None
    for key in ("offset", "drift"):
        table.refuse(key, f"the trigger sets the {key}; write it there")
    node = table.get("trigger")
    name = fields.text(node, table.problems) if node else None
    if node is not None and name is not None and name not in triggers:
        table.problems.add(node, unknown("trigger", name, triggers))
    return triggers.get(name or "")


def _read_attachment(table: Table, devices: Mapping[str, Device]) -> tuple[str, ...]:
    node = table.get("attached_to")
    names: tuple[str, ...] = table.read("attached_to")
    if node is None or not names:
        return ()
    for item in node.items if node.is_sequence else (node,):
        if item.is_scalar and not item.is_null and item.text not in devices:
            table.problems.add(item, unknown("device", item.text, devices))
    return names


def _read_topics(table: Table) -> tuple[str, ...]:
    form = table.chosen("topic", "topics")
    if form is None:
        table.need("topic", "topic: /camera/front/*")
        return ()
    patterns: tuple[str, ...] = table.read(form)
    return patterns


def _read_calibration(node: Node, kind: SensorKind, problems: Problems) -> Calibration:
    table = Table(node, _CALIBRATION, problems)
    if kind is not SensorKind.CAMERA:
        for key in ("image_size", "intrinsics"):
            if table.get(key) is not None:
                problems.add(table.place(key), f"only a camera has {key}; this is a {kind.value}")
    elif table.get("intrinsics") is not None:
        table.need("image_size", "image_size: [640, 400]; the intrinsics are in pixels of that image")
    size_node, intrinsics_node, pose_node = (table.get(key) for key in _CALIBRATION.names)
    width, height = (None, None) if size_node is None else _image_size(size_node, problems)
    return Calibration(
        image_width=width,
        image_height=height,
        intrinsics=None if intrinsics_node is None else _intrinsics(intrinsics_node, problems),
        sensor_to_vehicle=None if pose_node is None else _rigid_transform(pose_node, problems),
    )


def _image_size(node: Node, problems: Problems) -> tuple[int | None, int | None]:
    items = fields.elements(node, "image_size", problems)
    if items is None:
        return (None, None)
    if len(items) != 2:
        problems.add(node, f"image_size is [width, height] in pixels, not {len(items)} values")
        return (None, None)
    width, height = (fields.integer(1, MAX_IMAGE_SIDE)(item, problems) for item in items)
    return (width, height)


def _intrinsics(node: Node, problems: Problems) -> tuple[float, float, float, float] | None:
    table = Table(node, _INTRINSICS, problems)
    values = []
    for key in _INTRINSICS.names:
        item = table.get(key)
        number: float | None = table.read(key)
        if item and number is not None and key in ("fx", "fy") and number <= 0:
            problems.add(item, f"the focal length {item.shown} must be more than zero")
        values.append(0.0 if number is None else number)
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
