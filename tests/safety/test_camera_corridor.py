"""The backup path of one camera on the shipped pictures: it brakes for the hazard, and for nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from rt_sched.errors import DeploymentError
from rt_sched.messages import Command, EncodedImage
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext
from safety.camera_corridor import CameraCorridor
from safety.grey_picture import grey, jpeg_width
from sensors.recording import open_recording

LOG = Path(__file__).resolve().parents[2] / "replay_data" / "hazard.mcap"
FRONT_M = 3.75
JOB = JobContext("backup", 0, 0, 0, 0, 0)
#: Lens and mounting, as stated in examples/quad_orin.yaml.
CAMERAS = {
    "front_wide": SensorDescription(
        "front_wide", "camera", 33_333_333, 576, 360, (426.977559, 426.977559, 288.0, 180.0),
        ((0.0, -0.034899, 0.999391, 1.95), (-1.0, 0.0, 0.0, 0.0), (0.0, -0.999391, -0.034899, 1.42)),
    ),
    "front_standard": SensorDescription(
        "front_standard", "camera", 33_333_333, 576, 360, (712.825014, 712.825014, 288.0, 180.0),
        ((0.0, -0.061049, 0.998135, 1.95), (-1.0, 0.0, 0.0, 0.12), (0.0, -0.998135, -0.061049, 1.42)),
    ),
}  # fmt: skip
START_NS = 1_700_000_000 * 10**9


@pytest.fixture(scope="module")
def pictures() -> dict[str, list[EncodedImage]]:
    recording = open_recording(LOG, salvage=False)
    try:
        found = {
            name: [recording.decode(m) for m in recording.messages([f"/camera/{name}/compressed"])] for name in CAMERAS
        }
    finally:
        recording.close()
    return found


def decoded(picture: EncodedImage) -> npt.NDArray[np.uint8]:
    return np.array(cv2.imdecode(np.frombuffer(picture.data, np.uint8), cv2.IMREAD_GRAYSCALE), np.uint8)


def started(*sensors: SensorDescription, **parameters: object) -> CameraCorridor:
    stage = CameraCorridor(ego_front_m=FRONT_M, **parameters)  # type: ignore[arg-type]
    stage.start(StageContext("backup", Path(), {sensor.name: sensor for sensor in sensors}))
    return stage


def commands(stage: CameraCorridor, pictures: Sequence[EncodedImage]) -> list[Command]:
    return [stage.process(JOB, {"image": picture})["command"] for picture in pictures]


@pytest.mark.parametrize("name", CAMERAS)
def test_the_modelled_car_stops_behind_the_one_that_brakes(name: str, pictures: dict[str, list[EncodedImage]]) -> None:
    asked = commands(started(CAMERAS[name]), pictures[name])
    braking = [command for command in asked if command.acceleration_m_s2 <= -4.0]
    assert braking
    # Nobody brakes in the first 1.2 s; at 2.1 s the time to contact is 3.7 s, at 2.75 s 1.6 s.
    assert 2.1e9 < braking[0].capture_time_ns - START_NS < 2.75e9
    assert braking[0].time_to_collision_ns is not None
    assert 1.5e9 < braking[0].time_to_collision_ns <= 2.8e9
    assert not any(command.emergency for command in asked)
    # Both at 13 m/s and 22 m apart, the lead brakes with 6 m/s^2 from 1.2 s on; 100 ms from capture to the actuators.
    times_s = [(command.capture_time_ns - START_NS) / 1e9 + 0.1 for command in asked]
    speed, lead, gap, least, step_s = 13.0, 13.0, 22.0, 22.0, 0.005
    for time_s in np.arange(0.0, 6.0, step_s):
        last = int(np.searchsorted(times_s, time_s, side="right")) - 1
        acceleration = asked[last].acceleration_m_s2 if last >= 0 else 0.0
        speed = max(0.0, speed + (acceleration if acceleration < -1.0 else 0.0) * step_s)
        lead = max(0.0, lead - (6.0 if time_s >= 1.2 else 0.0) * step_s)
        gap += (lead - speed) * step_s
        least = min(least, gap)
    assert speed == 0.0
    assert least > 1.0


@pytest.mark.parametrize("name", CAMERAS)
def test_before_anybody_brakes_it_does_not(name: str, pictures: dict[str, list[EncodedImage]]) -> None:
    asked = commands(started(CAMERAS[name]), pictures[name][:45])
    assert {command.acceleration_m_s2 for command in asked} == {-0.5}
    assert {command.time_to_collision_ns for command in asked} == {None}


def test_what_moves_away_is_no_reason_to_brake(pictures: dict[str, list[EncodedImage]]) -> None:
    forth = pictures["front_standard"][60:]
    back = [
        dataclasses.replace(picture, capture_time_ns=at.capture_time_ns)
        for at, picture in zip(forth, reversed(forth), strict=True)
    ]
    assert {c.acceleration_m_s2 for c in commands(started(CAMERAS["front_standard"]), back)} == {-0.5}


def test_without_the_pixels_of_the_lead_it_does_not_brake(pictures: dict[str, list[EncodedImage]]) -> None:
    blanked = []
    for picture in pictures["front_standard"][60:]:
        pixels = decoded(picture)
        pixels[110:300, 180:400] = 90
        data = cv2.imencode(".png", pixels)[1].tobytes()
        blanked.append(dataclasses.replace(picture, encoding="png", data=data))
    stage = started(CAMERAS["front_standard"])
    asked = []
    for picture in blanked:
        try:
            asked += commands(stage, [picture])
        except Rejected:
            continue
    assert not any(command.acceleration_m_s2 < -0.5 for command in asked)


@pytest.mark.parametrize("unknown", [{"intrinsics": None}, {"sensor_to_vehicle": None}])
def test_without_lens_or_mounting_it_warns_and_does_not_brake(
    unknown: dict[str, None], pictures: dict[str, list[EncodedImage]]
) -> None:
    camera = dataclasses.replace(CAMERAS["front_standard"], **unknown)  # type: ignore[arg-type]
    stage = started(camera)
    assert not stage.brakes
    asked = commands(stage, pictures["front_standard"][65:100])
    assert {command.acceleration_m_s2 for command in asked} == {-0.5}


@pytest.mark.parametrize("encoding", ["mono8", "bgr8", "rgb8", "bgra8", "rgba8", "png"])
def test_the_encoding_changes_nothing(encoding: str, pictures: dict[str, list[EncodedImage]]) -> None:
    grey = []
    raw = []
    channels = {"mono8": 1, "bgra8": 4, "rgba8": 4}.get(encoding, 3)
    for picture in pictures["front_standard"][66:84]:
        pixels = decoded(picture)
        grey.append(dataclasses.replace(picture, encoding="png", data=cv2.imencode(".png", pixels)[1].tobytes()))
        if encoding == "png":
            raw.append(grey[-1])
            continue
        padded = np.zeros((360, 576 * channels + 7), np.uint8)
        padded[:, : 576 * channels] = np.repeat(pixels, channels, axis=1)
        stamp_ns, frame_id = picture.capture_time_ns, picture.frame_id
        raw.append(EncodedImage(stamp_ns, frame_id, encoding, padded.tobytes(), 360, 576, padded.shape[1]))
    sensor = CAMERAS["front_standard"]
    assert commands(started(sensor), raw) == commands(started(sensor), grey)


def test_large_pictures_are_halved_and_give_about_the_same(pictures: dict[str, list[EncodedImage]]) -> None:
    large = []
    for picture in pictures["front_standard"][66:90]:
        pixels = decoded(picture)
        data = cv2.imencode(".jpg", cv2.resize(pixels, None, fx=2, fy=2), [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()
        large.append(dataclasses.replace(picture, data=data))
    small = commands(started(CAMERAS["front_standard"]), pictures["front_standard"][66:90])[-1]
    sensor = CAMERAS["front_standard"]
    assert sensor.intrinsics is not None
    fx, fy, cx, cy = (2 * value for value in sensor.intrinsics)
    double = dataclasses.replace(sensor, image_width=1152, image_height=720, intrinsics=(fx, fy, cx, cy))
    found = commands(started(double), large)[-1]
    assert found.time_to_collision_ns == pytest.approx(small.time_to_collision_ns, rel=0.15)


@pytest.mark.parametrize(
    ("columns", "shape"),
    [(576, (360, 576)), (1118, (720, 1118)), (1120, (360, 560)), (1922, (360, 961)), (4480, (90, 560))],
)
def test_a_jpeg_is_decoded_at_the_size_that_its_own_header_allows(columns: int, shape: tuple[int, int]) -> None:
    rows = {576: 360, 4480: 720}.get(columns, 720)
    flags: list[int] = []

    class Watched:
        """OpenCV, with the flags of every decoding on record."""

        def __getattr__(self, name: str) -> object:
            return getattr(cv2, name)

        def imdecode(self, data: npt.NDArray[np.uint8], flag: int) -> object:
            flags.append(flag)
            return cv2.imdecode(data, flag)

    pixels = np.tile(np.arange(columns, dtype=np.float64) * (255.0 / columns), (rows, 1)).astype(np.uint8)
    for settings in ([], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]):
        data = cv2.imencode(".jpg", pixels, settings)[1].tobytes()
        assert jpeg_width(data) == columns
        found = grey(EncodedImage(0, "f", "jpeg", data), Watched())
        assert found.shape == shape
        halves = (columns // shape[1]).bit_length() - 1
        reduced = {0: cv2.IMREAD_GRAYSCALE, 1: cv2.IMREAD_REDUCED_GRAYSCALE_2, 3: cv2.IMREAD_REDUCED_GRAYSCALE_8}[
            halves
        ]
        assert flags.pop() == reduced | cv2.IMREAD_IGNORE_ORIENTATION
        assert (
            float(np.abs(found[0, ::40].astype(float) - pixels[0, :: 40 << halves][: len(found[0, ::40])]).max()) < 6.0
        )


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8" + b"\xff" * 40, bytes(50), b"\xff\xd8\xff\xe0" + bytes(9)]
)
def test_a_width_that_a_jpeg_does_not_state_is_not_made_up(data: bytes) -> None:
    assert jpeg_width(data) is None


def test_pictures_that_show_nothing_are_rejected(pictures: dict[str, list[EncodedImage]]) -> None:
    stage = started(CAMERAS["front_standard"])
    first, second = pictures["front_standard"][:2]
    commands(stage, [first])
    black = cv2.imencode(".png", np.zeros((360, 576), np.uint8))[1].tobytes()
    for bad, message in (
        ({"data": first.data}, "repeats the last one pixel by pixel"),
        ({"encoding": "png", "data": black}, "no contrast"),
        ({"data": b""}, "cannot be decoded"),
        ({"data": b"\xff\xd8\xff nothing"}, "cannot be decoded"),
        ({"encoding": "bayer_rggb8"}, r"bayer_rggb8 is not read by the backup path; valid: jpeg, png, mono8"),
        ({"encoding": "bgr8", "height": 360, "width": 576, "row_bytes": 1728}, "are no 576 x 360 picture of bgr8"),
    ):
        with pytest.raises(Rejected, match=message):
            commands(stage, [dataclasses.replace(second, **bad)])
    with pytest.raises(Rejected, match="the picture's capture stamp repeats"):
        commands(stage, [first])
    with pytest.raises(Rejected, match="no picture"):
        stage.process(JOB, {"image": None})
    assert commands(stage, [second])[0].counter == 2


def test_the_camera_must_be_known_and_look_ahead() -> None:
    with pytest.raises(DeploymentError, match=r"several cameras \(front_standard, front_wide\)"):
        started(*CAMERAS.values())
    with pytest.raises(DeploymentError, match="'roof' is no camera of this run; valid: front_standard, front_wide"):
        started(*CAMERAS.values(), camera="roof")
    aside = ((1.0, 0.0, 0.0, 1.4), (0.0, 0.0, 1.0, 0.8), (0.0, -1.0, 0.0, 1.4))
    with pytest.raises(DeploymentError, match="does not look ahead"):
        started(dataclasses.replace(CAMERAS["front_wide"], sensor_to_vehicle=aside))
    context = StageContext("backup", Path(), CAMERAS, sources={"image": "front_wide"})
    CameraCorridor().start(context)
    with pytest.raises(DeploymentError, match="come from front_wide, the parameter camera names front_standard"):
        CameraCorridor(camera="front_standard").start(context)
    with pytest.raises(ValueError, match=r"hard_ttc_s: 3\.0 is out of range; valid: from 0 to 2\.8"):
        CameraCorridor(hard_ttc_s=3.0)


@pytest.mark.parametrize("encoding", ["mono8", "bgr8", "png"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 15, 40])
@pytest.mark.parametrize("columns", [1, 2, 8, 559, 1119, 1120, 4000])
def test_a_picture_of_any_size_gives_a_command_or_is_rejected(rows: int, columns: int, encoding: str) -> None:
    stage, noise = started(CAMERAS["front_standard"]), np.random.default_rng(rows * columns)
    for k in range(12):
        pixels = noise.integers(0, 255, (rows, columns, 3) if encoding == "bgr8" else (rows, columns), np.uint8)
        data = cv2.imencode(".png", pixels)[1].tobytes() if encoding == "png" else pixels.tobytes()
        picture = EncodedImage(START_NS + k * 33_000_000, "f", encoding, data, rows, columns, pixels[0].nbytes)
        try:
            made = stage.process(JOB, {"image": picture})["command"]
        except Rejected:
            continue
        assert -8.0 <= made.acceleration_m_s2 <= -0.5
