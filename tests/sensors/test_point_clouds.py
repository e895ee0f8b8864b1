"""Point clouds in the shapes that drivers give them."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.errors import DataError
from sensors.point_cloud2 import CloudField, CloudLayout, decode_cloud
from sensors.recording import open_recording

STAMP_NS = 1_700_000_000_123_456_789
COUNT = 60


@pytest.fixture
def decode(tmp_path, ros2):
    """The cloud that comes back for a message."""

    def run(message):
        path = ros2.write_mcap(tmp_path / "a.mcap", [("/lidar", 1, message)])
        recording = open_recording(path)
        return recording.decode(next(iter(recording.messages())))

    return run


def points(*fields: tuple[str, str], itemsize: int | None = None, shape=(COUNT,)) -> np.ndarray:
    """Field values that differ per point; x, y, z, as far as present, count up."""
    dtype = np.dtype(list(fields))
    if itemsize is not None:
        offsets = [dtype.fields[name][1] for name in dtype.names]
        formats = [dtype[name] for name in dtype.names]
        dtype = np.dtype({"names": dtype.names, "formats": formats, "offsets": offsets, "itemsize": itemsize})
    array = np.zeros(shape, dtype)
    number = np.arange(array.size).reshape(shape)
    for scale, name in enumerate(dtype.names, 1):
        array[name] = (number * scale) % 120
    return array


XYZ = (("x", "<f4"), ("y", "<f4"), ("z", "<f4"))


def xyz_of(array: np.ndarray) -> np.ndarray:
    return np.stack([array[name].reshape(-1).astype(np.float32) for name in "xyz"], axis=1)


@pytest.mark.parametrize("shape", [(COUNT,), (4, 15), (15, 4)])
@pytest.mark.parametrize(
    "fields",
    [
        (*XYZ, ("intensity", "<f4")),
        (*XYZ, ("intensity", "u1"), ("ring", "u1")),
        (*XYZ, ("intensity", "<u2"), ("ring", "<u2")),
        (*XYZ, ("i", "<f8"), ("ring", "<u4")),
        (*XYZ, ("reflectivity", "i1"), ("channel", "<i2")),
        (("x", "<f8"), ("y", "<f8"), ("z", "<f8"), ("intensity", "<f4")),
        (("intensity", "u1"), ("ring", "<u2"), ("z", "<f4"), ("x", "<f8"), ("y", "<f4")),
        (("X", "<f4"), ("Y", "<f4"), ("Z", "<f4"), ("Intensity", "<f4")),
    ],
    ids=lambda fields: "-".join(name + kind for name, kind in fields),
)
def test_fields_of_any_type_and_order(ros2, decode, fields, shape):
    array = points(*fields, shape=shape)
    cloud = decode(ros2.cloud(STAMP_NS, array))
    lower = array.astype(np.dtype([(name.lower(), kind) for name, kind in fields]))
    assert np.array_equal(cloud.xyz_m, xyz_of(lower))
    names = [name for name, _ in fields]
    intensity = next(n for n in names if n.lower() in ("intensity", "i", "reflectivity"))
    assert np.array_equal(cloud.intensity, array[intensity].reshape(-1).astype(np.float32))
    ring = next((n for n in names if n in ("ring", "channel")), None)
    if ring is None:
        assert cloud.ring is None
    else:
        assert cloud.ring.dtype == np.uint16
        assert np.array_equal(cloud.ring, array[ring].reshape(-1))
    assert (cloud.capture_time_ns, cloud.frame_id, cloud.dropped_points) == (STAMP_NS, "lidar", 0)
    assert (cloud.xyz_m.dtype, cloud.intensity.dtype) == (np.float32, np.float32)


def test_without_intensity(ros2, decode):
    cloud = decode(ros2.cloud(STAMP_NS, points(*XYZ)))
    assert np.array_equal(cloud.intensity, np.zeros(COUNT, np.float32))
    assert (cloud.ring, cloud.time_offset_ns) == (None, None)


def test_big_endian(ros2, decode):
    array = points(("x", ">f4"), ("y", ">f8"), ("z", ">f4"), ("ring", ">u2"), ("intensity", ">f4"))
    cloud = decode(ros2.cloud(STAMP_NS, array, big_endian=True))
    assert np.array_equal(cloud.xyz_m, xyz_of(array))
    assert np.array_equal(cloud.ring, array["ring"])
    assert cloud.ring.dtype.byteorder in "=<|"


def test_padding_between_points_and_rows(ros2, decode):
    array = points(*XYZ, ("intensity", "<f4"), itemsize=48, shape=(5, 12))
    rows = np.frombuffer(array.tobytes(), np.uint8).reshape(5, -1)
    padded = np.pad(rows, ((0, 0), (0, 7)), constant_values=255)
    cloud = decode(ros2.cloud(STAMP_NS, array, row_step=padded.shape[1], data=padded.reshape(-1)))
    assert np.array_equal(cloud.xyz_m, xyz_of(array))


@pytest.mark.parametrize("row_step", [0, 1, 10**9])
@pytest.mark.parametrize("shape", [(COUNT,), (4, 15)])
def test_a_wrong_row_step_is_settled_by_the_length_of_the_data(ros2, decode, shape, row_step):
    array = points(*XYZ, shape=shape)
    assert np.array_equal(decode(ros2.cloud(STAMP_NS, array, row_step=row_step)).xyz_m, xyz_of(array))


def test_only_finite_points_are_kept_and_the_others_counted(ros2, decode):
    array = points(("x", "<f8"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4"), ("ring", "<u2"), ("t", "<u4"))
    array["x"][3], array["y"][7], array["z"][9] = np.nan, np.inf, -np.inf
    array["x"][11] = 1e300
    array["intensity"][0] = np.nan
    cloud = decode(ros2.cloud(STAMP_NS, array))
    kept = np.delete(np.arange(COUNT), [3, 7, 9, 11])
    assert cloud.dropped_points == 4
    assert np.array_equal(cloud.xyz_m, xyz_of(array[kept]))
    assert np.array_equal(cloud.ring, array["ring"][kept])
    assert np.array_equal(cloud.time_offset_ns, array["t"][kept])
    assert cloud.intensity[0] == 0
    assert np.array_equal(cloud.intensity[1:], array["intensity"][kept][1:])


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0)])
def test_no_points(ros2, decode, shape):
    cloud = decode(ros2.cloud(STAMP_NS, points(*XYZ, shape=shape)))
    assert cloud.xyz_m.shape == (0, 3)
    assert cloud.intensity.shape == (0,)


def test_all_points_not_finite(ros2, decode):
    array = points(*XYZ, ("ring", "<u2"), ("time", "<f4"))
    array["x"] = np.nan
    cloud = decode(ros2.cloud(STAMP_NS, array))
    assert (cloud.xyz_m.shape, cloud.dropped_points) == ((0, 3), COUNT)
    assert len(cloud.ring) == len(cloud.time_offset_ns) == 0


OFFSETS_NS = np.linspace(-50_000_000, 49_000_000, COUNT).astype(np.int64) // 1000 * 1000


@pytest.mark.parametrize(
    ("name", "kind", "values", "tolerance_ns"),
    [
        ("t", "<u4", OFFSETS_NS - OFFSETS_NS[0], 0),
        ("t", "<i4", OFFSETS_NS, 0),
        ("offset_time", "<u4", OFFSETS_NS - OFFSETS_NS[0], 0),
        ("time", "<f4", OFFSETS_NS / 1e9, 5),
        ("time", "<f8", OFFSETS_NS / 1e9, 0),
        ("time", "<f4", (OFFSETS_NS - OFFSETS_NS[0]) / 1e3, 10),
        ("timestamp", "<f8", (STAMP_NS + OFFSETS_NS) / 1e9, 300),
        ("timestamp", "<f8", (STAMP_NS + OFFSETS_NS).astype(np.float64), 300),
        ("time_stamp", "<u4", OFFSETS_NS - OFFSETS_NS[0], 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_time_per_point(ros2, decode, name, kind, values, tolerance_ns):
    array = points(*XYZ, (name, kind))
    array[name] = values
    cloud = decode(ros2.cloud(STAMP_NS, array))
    relative = values.min() >= 0 and values.max() < 1e9
    expected = OFFSETS_NS - OFFSETS_NS[0] if relative else OFFSETS_NS
    assert cloud.time_offset_ns.dtype == np.int32
    assert np.abs(cloud.time_offset_ns - expected).max() <= tolerance_ns


@pytest.mark.parametrize(("kind", "value"), [("<u4", 4_000_000_000), ("<f8", 5e17), ("<f4", np.nan), ("<f4", np.inf)])
def test_time_per_point_of_another_clock_is_left_out(ros2, decode, kind, value):
    array = points(*XYZ, ("t", kind))
    array["t"] = value
    cloud = decode(ros2.cloud(STAMP_NS, array))
    assert cloud.time_offset_ns is None
    assert len(cloud.xyz_m) == COUNT


@pytest.mark.parametrize(
    ("fields", "changes", "reason"),
    [
        (XYZ[:2], {}, "lacks z; its fields are x, y"),
        (XYZ, {"fields": []}, "lacks x, y, z; its fields are none"),
        ((("x", "<i4"), *XYZ[1:]), {}, "field x has datatype 5"),
        (XYZ, {"point_step": 8}, "field z lies outside its point of 8 bytes"),
        (XYZ, {"point_step": 2**32 - 1}, "is short of"),
        (XYZ, {"point_step": 0}, "outside its point of 0 bytes"),
        (XYZ, {"data": np.zeros(COUNT * 12 - 1, np.uint8)}, "719 bytes is short of the 720"),
        (XYZ, {"width": COUNT + 1}, "is short of"),
        (XYZ, {"height": 2, "row_step": 6}, "row_step 6 is less than 60 points"),
        (XYZ, {"height": 2**31, "width": 2**31}, "claims 2147483648 x 2147483648 points"),
        ((*XYZ, ("ring", "<u4")), {"ring": 70_000}, "field ring holds values outside"),
        ((*XYZ, ("ring", "<i2")), {"ring": -1}, "field ring holds values outside"),
    ],
)
def test_clouds_that_are_refused(ros2, decode, fields, changes, reason):
    array = points(*fields)
    changes = dict(changes)
    if "ring" in changes:
        array["ring"][5] = changes.pop("ring")
    with pytest.raises(DataError, match=f"/lidar message 0: .*{reason}"):
        decode(ros2.cloud(STAMP_NS, array, **changes))


def test_a_field_that_is_an_array(ros2, decode):
    message = ros2.cloud(STAMP_NS, points(*XYZ))
    fields = message.fields
    fields[2].count = 3
    with pytest.raises(DataError, match="fields z are arrays"):
        decode(message)


UNITS = {"<f8": (1.0, 1e3, 1e6, 1e9), "<f4": (1.0, 1e3)}


@pytest.mark.parametrize("capture_s", [0.0, 0.02, 0.7, 1.0, 1.9, 5.0, 1000.0, 1_700_000_000.0])
@pytest.mark.parametrize("ends_s", [(-0.1, 0.0), (0.0, 0.1), (-0.05, 0.05), (-0.01, 0.0)])
@pytest.mark.parametrize("absolute", [False, True])
def test_float_times_mean_the_same_at_any_capture_time(
    capture_s: float, ends_s: tuple[float, float], absolute: bool
) -> None:
    """Whatever the clock shows and in whatever unit: offsets, and stamps of the clock."""
    capture_ns = int(capture_s * 1e9)
    offsets = np.linspace(*ends_s, COUNT)
    for kind, units in UNITS.items():
        if kind == "<f4" and absolute:
            continue  # a float32 does not hold a stamp
        for unit in units:
            array = points(*XYZ, ("timestamp" if absolute else "time", kind))
            array[array.dtype.names[3]] = (offsets + capture_s * absolute) * unit
            layout = CloudLayout(1, COUNT, fields_of(array), False, array.itemsize, array.nbytes)
            cloud = decode_cloud(layout, memoryview(array.tobytes()), capture_ns, "lidar")
            assert cloud.time_offset_ns is not None
            assert np.abs(cloud.time_offset_ns - offsets * 1e9).max() < 500, (kind, unit)


@pytest.mark.parametrize(("unit_ns", "kind"), [(1, "<u4"), (1, "<i4"), (1000, "<u4"), (1000, "<i4")])
@pytest.mark.parametrize("sweep_ms", [10, 50, 100, 200])
def test_integer_times_are_nanoseconds_or_microseconds(unit_ns: int, kind: str, sweep_ms: int) -> None:
    offsets_ns = np.linspace(0, sweep_ms * 1_000_000, COUNT).astype(np.int64) // unit_ns * unit_ns
    array = points(*XYZ, ("t", kind))
    array["t"] = offsets_ns // unit_ns
    layout = CloudLayout(1, COUNT, fields_of(array), False, array.itemsize, array.nbytes)
    cloud = decode_cloud(layout, memoryview(array.tobytes()), STAMP_NS, "lidar")
    assert np.array_equal(cloud.time_offset_ns, offsets_ns)


def fields_of(array: np.ndarray) -> list[CloudField]:
    codes = {"<i4": 5, "<u4": 6, "<f4": 7, "<f8": 8}
    return [
        CloudField(name, array.dtype.fields[name][1], codes[array.dtype[name].str], 1) for name in array.dtype.names
    ]
