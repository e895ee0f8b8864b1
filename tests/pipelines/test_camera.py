"""Camera preprocessing: values, layouts, geometry, refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.camera import Preprocess
from rt_sched.messages import CameraImage, EncodedImage, Tensor
from rt_sched.ports import JobContext, Rejected, Stage, StageContext

JOB = JobContext(task="front.pre", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)


def started(**parameters: object) -> Preprocess:
    stage = Preprocess(**parameters)
    stage.start(StageContext(task="front.pre", base_dir=Path()))
    return stage


def frame(bgr: np.ndarray, recorded: tuple[int, int] | None = None) -> CameraImage:
    height, width = recorded or bgr.shape[:2]
    return CameraImage(7, "front_optical", bgr, height, width)


def tensor_of(stage: Preprocess, image: CameraImage) -> Tensor:
    return stage.process(JOB, {"image": image})["tensor"]


def encoded(bgr: np.ndarray, kind: str) -> EncodedImage:
    done, data = cv2.imencode(f".{kind}", bgr)
    assert done
    return EncodedImage(7, "front_optical", "jpeg" if kind == "jpg" else kind, data.tobytes())


def test_is_a_stage() -> None:
    assert isinstance(Preprocess(), Stage)
    assert not Preprocess.stateful


def test_default_matches_the_shipped_model() -> None:
    """RGB planes, value * 2 / 255 - 1, stretched to 300 x 300."""
    bgr = np.empty((40, 60, 3), np.uint8)
    bgr[:] = (0, 51, 255)
    tensor = tensor_of(started(), frame(bgr))
    (array,) = tensor.arrays
    assert array.shape == (1, 3, 300, 300)
    assert array.dtype == np.float32
    assert array.flags.c_contiguous
    for plane, value in zip(array[0], (255, 51, 0), strict=True):
        np.testing.assert_allclose(plane, value * 2 / 255 - 1, atol=1e-6)
    assert (tensor.capture_time_ns, tensor.frame_id) == (7, "front_optical")
    assert (tensor.recorded_height, tensor.recorded_width) == (40, 60)
    assert (tensor.network_height, tensor.network_width) == (300, 300)
    assert tensor.scale_xy == (300 / 60, 300 / 40)
    assert tensor.offset_xy == (0.0, 0.0)


@pytest.mark.parametrize("channels", ["rgb", "bgr"])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_layouts_hold_the_same_pixels(channels: str, layout: str, dtype: str) -> None:
    bgr = np.random.default_rng(1).integers(0, 256, (24, 32, 3), np.uint8)
    value_range = [0.0, 255.0] if dtype == "float32" else None
    stage = started(
        input_width=32, input_height=24, channels=channels, layout=layout, dtype=dtype, value_range=value_range
    )
    (array,) = tensor_of(stage, frame(bgr)).arrays
    assert array.dtype == np.dtype(dtype)
    pixels = array[0].transpose(1, 2, 0) if layout == "nchw" else array[0]
    np.testing.assert_array_equal(pixels, bgr[:, :, ::-1] if channels == "rgb" else bgr)


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(40, 250),
    height=st.integers(40, 250),
    network_width=st.integers(64, 320),
    network_height=st.integers(64, 320),
    resize=st.sampled_from(["stretch", "letterbox"]),
)
def test_maps_back_within_one_pixel(
    width: int, height: int, network_width: int, network_height: int, resize: str
) -> None:
    """A frame whose colours are the coordinates says where each network pixel came from."""
    bgr = np.zeros((height, width, 3), np.uint8)
    bgr[:, :, 0] = np.arange(width)
    bgr[:, :, 1] = np.arange(height)[:, None]
    stage = started(
        input_width=network_width, input_height=network_height, resize=resize, dtype="uint8", channels="bgr"
    )
    tensor = tensor_of(stage, frame(bgr))
    pixels = tensor.arrays[0][0].astype(float)
    left, top = tensor.offset_xy
    right, bottom = left + width * tensor.scale_xy[0], top + height * tensor.scale_xy[1]
    assert left >= 0
    assert top >= 0
    assert right <= network_width + 1e-9
    assert bottom <= network_height + 1e-9
    assert abs(network_width - right - left) <= 1 + 1e-9
    assert abs(network_height - bottom - top) <= 1 + 1e-9
    for fraction in (0.1, 0.5, 0.9):
        u, v = int(left + fraction * (right - left)), int(top + fraction * (bottom - top))
        x = (u + 0.5 - left) / tensor.scale_xy[0]
        y = (v + 0.5 - top) / tensor.scale_xy[1]
        assert abs(pixels[0, v, u] + 0.5 - x) <= 1.0
        assert abs(pixels[1, v, u] + 0.5 - y) <= 1.0


def test_letterbox_keeps_the_aspect_and_pads_both_sides() -> None:
    stage = started(resize="letterbox", dtype="uint8", layout="nhwc")
    tensor = tensor_of(stage, frame(np.full((100, 200, 3), 255, np.uint8)))
    assert tensor.scale_xy == (1.5, 1.5)
    assert tensor.offset_xy == (0.0, 75.0)
    pixels = tensor.arrays[0][0]
    assert (pixels[75:225] == 255).all()
    assert (pixels[:75] == 114).all()
    assert (pixels[225:] == 114).all()


def test_geometry_refers_to_the_recorded_size_of_a_reduced_frame() -> None:
    tensor = tensor_of(started(), frame(np.zeros((300, 480, 3), np.uint8), recorded=(1200, 1920)))
    assert (tensor.recorded_height, tensor.recorded_width) == (1200, 1920)
    assert tensor.scale_xy == (300 / 1920, 300 / 1200)


def test_fine_stripes_do_not_alias_when_a_large_frame_shrinks() -> None:
    bgr = np.zeros((900, 900, 3), np.uint8)
    bgr[:, ::2] = 255
    (array,) = tensor_of(started(), frame(bgr)).arrays
    assert np.abs(array).max() < 0.4


@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_decodes_ahead_and_gives_the_frame_that_was_recorded(kind: str) -> None:
    x = np.linspace(0, 200, 64)
    bgr = np.repeat(np.add.outer(x[:48] * 0.2, x)[:, :, None], 3, axis=2).astype(np.uint8)
    stage = started(input_width=64, input_height=48, dtype="uint8", layout="nhwc", channels="bgr")
    ready = stage.preprocess(JOB, {"image": encoded(bgr, kind)})
    (array,) = stage.process(JOB, ready)["tensor"].arrays
    assert np.abs(array[0].astype(int) - bgr).max() <= (0 if kind == "png" else 12)


@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff\xe0 not a picture", b"\x89PNG\r\n\x1a\n cut off"])
def test_a_broken_frame_is_rejected(data: bytes) -> None:
    encoding = "png" if data.startswith(b"\x89PNG") else "jpeg"
    with pytest.raises(Rejected):
        started().preprocess(JOB, {"image": EncodedImage(7, "front_optical", encoding, data)})


def test_a_frame_without_pixels_is_rejected() -> None:
    with pytest.raises(Rejected, match="no pixels"):
        tensor_of(started(), frame(np.zeros((0, 5, 3), np.uint8)))


def test_one_stage_serves_several_threads() -> None:
    stage = started(resize="letterbox")
    rng = np.random.default_rng(2)
    frames = [frame(rng.integers(0, 256, (90, 160, 3), np.uint8)) for _ in range(16)]
    alone = [tensor_of(stage, image).arrays[0] for image in frames]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda image: tensor_of(stage, image).arrays[0], frames))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"input_width": 0}, "input_width: 0 is out of range; valid: a whole number from 8 to 8192 pixels"),
        ({"input_height": 300.5}, "input_height: 300.5 is not a whole number"),
        ({"input_height": True}, "input_height: True is not a whole number"),
        (
            {"resize": "leterbox"},
            "resize: 'leterbox' is not known; did you mean 'letterbox'? valid: stretch, letterbox",
        ),
        ({"layout": 3}, "layout: 3 is not known; valid: nchw, nhwc"),
        ({"channels": "rbg"}, "did you mean 'rgb'"),
        ({"dtype": "float64"}, "valid: float32, float16, uint8"),
        ({"value_range": [1.0]}, "is not a pair"),
        ({"value_range": "01"}, "is not a pair"),
        ({"value_range": [0.0, float("nan")]}, "value_range: nan is out of range"),
        ({"value_range": [1.0, 1.0]}, "maps all pixels to one value"),
        ({"value_range": [0.0, 1.0], "dtype": "uint8"}, "a uint8 tensor keeps the pixel values"),
    ],
)
def test_wrong_parameters_are_explained(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"valid|pair|uint8|whole") as caught:
        Preprocess(**parameters)
    assert message in str(caught.value)
