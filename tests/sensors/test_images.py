"""Images: every encoding to the right pixels, and what is refused."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage
from sensors.image_headers import BYTES_PER_PIXEL, compressed_size
from sensors.pixels import decode_bgr, reduction
from sensors.recording import open_recording

HEIGHT, WIDTH = 24, 32


def plain_scene() -> np.ndarray:
    """Smooth colours, so that subsampling and demosaicing change little."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack([40 + 3 * columns, 60 + 4 * rows, 200 - 2 * columns], axis=2).astype(np.uint8)


def encode_raw(bgr: np.ndarray, encoding: str, *, big_endian: bool = False) -> np.ndarray:
    """uint8[height, row bytes], written from the definition of the encodings."""
    blue, green, red = (bgr[..., i] for i in range(3))
    base = encoding.removesuffix("16").removesuffix("8")
    if base == "mono":
        samples = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)[..., None]
    elif base.startswith("bayer"):
        samples = np.zeros((HEIGHT, WIDTH, 1), np.uint8)
        for place, colour in enumerate(base.removeprefix("bayer_")):
            row, column = divmod(place, 2)
            samples[row::2, column::2, 0] = {"r": red, "g": green, "b": blue}[colour][row::2, column::2]
    elif base.startswith("yuv422"):
        # BT.601, studio range, as cameras deliver it; chroma of every second column.
        b, g, r = (channel.astype(float) for channel in (blue, green, red))
        luma = np.rint(16 + 0.257 * r + 0.504 * g + 0.098 * b)
        u = 128 - 0.148 * r - 0.291 * g + 0.439 * b
        v = 128 + 0.439 * r - 0.368 * g - 0.071 * b
        chroma = np.rint(np.stack([u[:, ::2], v[:, ::2]], axis=2).reshape(HEIGHT, WIDTH))
        pair = (luma, chroma) if encoding == "yuv422_yuy2" else (chroma, luma)
        samples = np.stack(pair, axis=2).astype(np.uint8)
    else:
        order = {"b": blue, "g": green, "r": red, "a": np.full_like(red, 77)}
        samples = np.stack([order[letter] for letter in base], axis=2)
    if encoding.endswith("16"):
        wide = samples.astype(">u2" if big_endian else "<u2") * 256 + 9
        return wide.astype(">u2" if big_endian else "<u2").view(np.uint8).reshape(HEIGHT, -1)
    return samples.reshape(HEIGHT, -1)


def test_the_list_of_encodings_is_the_one_tested():
    assert set(BYTES_PER_PIXEL) >= {"bgr8", "rgb8", "mono8", "mono16", "bgra8", "rgba8", "yuv422", "bayer_rggb8"}


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize("encoding", BYTES_PER_PIXEL)
def test_raw_encodings(tmp_path, ros2, encoding, padding, big_endian):
    bgr = plain_scene()
    rows = encode_raw(bgr, encoding, big_endian=big_endian)
    padded = np.pad(rows, ((0, 0), (0, padding)), constant_values=123)
    message = ros2.image(5, encoding, HEIGHT, WIDTH, padded.shape[1], padded.tobytes(), big_endian=int(big_endian))
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", [("/cam", 1, message)]))
    encoded = recording.decode(next(iter(recording.messages())))
    assert (encoded.encoding, encoded.height, encoded.width) == (encoding, HEIGHT, WIDTH)
    image = decode_bgr(encoded)
    assert image.bgr.shape == (HEIGHT, WIDTH, 3)
    assert (image.recorded_height, image.recorded_width, image.frame_id) == (HEIGHT, WIDTH, "cam")
    if encoding.startswith("mono"):
        grey = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
        assert (image.bgr == grey[..., None]).all()
    elif encoding.startswith(("bayer", "yuv")):
        # Away from the border, where demosaicing has no neighbours.
        difference = image.bgr[2:-2, 2:-2].astype(int) - bgr[2:-2, 2:-2]
        assert np.abs(difference).max() <= 6
    else:
        assert (image.bgr == bgr).all()


@pytest.mark.parametrize(
    ("image_format", "extension", "encoding"),
    [
        ("jpeg", ".jpg", "jpeg"),
        ("bgr8; jpeg compressed bgr8", ".jpg", "jpeg"),
        ("rgb8; jpeg compressed bgr8", ".jpg", "jpeg"),
        ("JPG", ".jpg", "jpeg"),
        ("", ".jpg", "jpeg"),
        ("png", ".png", "png"),
        ("rgb8; png compressed bgr8", ".png", "png"),
        ("jpeg", ".png", "png"),
    ],
)
@pytest.mark.parametrize("trailing_bytes", [0, 100])
def test_compressed_images(tmp_path, ros2, image_format, extension, encoding, trailing_bytes):
    bgr = plain_scene()
    data = cv2.imencode(extension, bgr)[1].tobytes() + bytes(trailing_bytes)
    message = ros2.compressed(5, image_format, data)
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", [("/cam", 1, message)]))
    encoded = recording.decode(next(iter(recording.messages())))
    assert (encoded.encoding, bytes(encoded.data)) == (encoding, data)
    image = decode_bgr(encoded)
    assert np.abs(image.bgr.astype(int) - bgr).max() <= (0 if encoding == "png" else 12)
    assert not image.bgr.flags.writeable


@pytest.mark.parametrize(
    ("size", "at_least", "factor"),
    [
        ((480, 640), None, 1),
        ((480, 640), (300, 300), 1),
        ((480, 640), (240, 320), 2),
        ((480, 640), (240, 321), 1),
        ((480, 640), (241, 320), 1),
        ((480, 640), (120, 160), 4),
        ((480, 640), (60, 80), 8),
        ((480, 640), (1, 1), 8),
        ((479, 640), (240, 240), 1),
        ((481, 643), (240, 321), 2),
        ((1080, 1920), (234, 416), 4),
        ((2400, 2), (1, 1), 2),
    ],
)
def test_a_reduced_jpeg_has_the_pixels_that_are_needed(size, at_least, factor):
    data = cv2.imencode(".jpg", np.full((*size, 3), 90, np.uint8))[1].tobytes()
    image = decode_bgr(EncodedImage(1, "cam", "jpeg", data), at_least=at_least)
    assert image.bgr.shape[:2] == (-(-size[0] // factor), -(-size[1] // factor))
    assert (image.recorded_height, image.recorded_width) == size


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 5000))
def test_a_reduction_is_the_strongest_that_leaves_enough(height, width, least_height, least_width):
    factor = reduction(height, width, (least_height, least_width))
    fitting = [f for f in (2, 4, 8) if height / f >= least_height and width / f >= least_width]
    assert factor == max(fitting, default=1)


def test_exif_rotation_is_not_applied():
    data = cv2.imencode(".jpg", np.zeros((16, 48, 3), np.uint8))[1].tobytes()
    tiff = b"II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
    segment = b"Exif\x00\x00" + tiff
    turned = data[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2) + segment + data[2:]
    assert decode_bgr(EncodedImage(1, "cam", "jpeg", turned)).bgr.shape == (16, 48, 3)


@pytest.mark.parametrize("extension", [".jpg", ".png"])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 1000), (240, 320)])
def test_size_from_the_header(extension, height, width):
    data = cv2.imencode(extension, np.zeros((height, width), np.uint8))[1].tobytes()
    assert compressed_size("png" if extension == ".png" else "jpeg", data) == (height, width)


JPEG = cv2.imencode(".jpg", plain_scene())[1].tobytes()
PNG = cv2.imencode(".png", plain_scene())[1].tobytes()


@pytest.mark.parametrize(
    ("image_format", "data", "reason"),
    [
        ("jpeg", b"", "without data"),
        ("jpeg", JPEG[:-40], "jpeg data of .* cut off"),
        ("png", PNG[:-40], "png data of .* cut off"),
        ("h264", b"\x00\x00\x00\x01\x67", "format 'h264'.* neither jpeg nor png: begins with 00 00 00 01"),
        ("16UC1; compressedDepth png", bytes(12) + PNG, "compressed depth image"),
        ("jpeg", b"RIFF1234WEBP", "neither jpeg nor png"),
    ],
)
def test_compressed_images_that_are_refused(tmp_path, ros2, image_format, data, reason):
    path = ros2.write_mcap(tmp_path / "a.mcap", [("/cam", 1, ros2.compressed(5, image_format, data))])
    recording = open_recording(path)
    with pytest.raises(DataError, match=f"/cam message 0: .*{reason}"):
        recording.decode(next(iter(recording.messages())))


@pytest.mark.parametrize(
    ("encoding", "height", "width", "step", "size", "reason"),
    [
        ("bgr8", 0, 10, 30, 0, "10 x 0 has no pixels"),
        ("bgr8", 10, 0, 0, 0, "0 x 10 has no pixels"),
        ("bgr8", 10, 10, 30, 299, "299 bytes is short of 10 rows of 30 bytes"),
        ("bgr8", 10, 10, 29, 300, "row of 29 bytes is short of 10 pixels"),
        ("bgr8", 10, 10, 0, 300, "row of 0 bytes"),
        ("32FC1", 10, 10, 40, 400, "encoding '32FC1' is not read; read are mono8"),
        ("", 10, 10, 30, 300, "encoding '' is not read"),
        ("bgr8", 2**31, 2**31, 2**32 - 1, 300, "is short of"),
    ],
)
def test_raw_images_that_are_refused(tmp_path, ros2, encoding, height, width, step, size, reason):
    message = ros2.image(5, encoding, height, width, step, bytes(size))
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", [("/cam", 1, message)]))
    with pytest.raises(DataError, match=f"/cam message 0: .*{reason}"):
        recording.decode(next(iter(recording.messages())))


def test_opencv_names_of_raw_encodings(tmp_path, ros2):
    message = ros2.image(5, "8UC3", 2, 2, 6, bytes(12))
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", [("/cam", 1, message)]))
    assert recording.decode(next(iter(recording.messages()))).encoding == "bgr8"


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (EncodedImage(1, "c", "jpeg", JPEG[:100] + JPEG[-2:]), "jpeg"),
        (EncodedImage(1, "c", "jpeg", b"\xff\xd8\xff"), "no frame header"),
        (EncodedImage(1, "c", "png", PNG[:20]), "without a complete header"),
        (EncodedImage(1, "c", "png", PNG[:16] + b"\x7f\xff\xff\xff" * 2 + PNG[24:]), "at most"),
        (EncodedImage(1, "c", "png", PNG[:33] + bytes(len(PNG) - 33)), "cannot be decoded"),
        (EncodedImage(1, "c", "bgr8", b"", 0, 0, 0), "has no pixels"),
        (EncodedImage(1, "c", "bgr8", b"abc", 2, 2, 6), "short of 2 rows"),
        (EncodedImage(1, "c", "nv12", bytes(12), 2, 2, 2), "encoding 'nv12' is not read"),
        (EncodedImage(1, "c", "yuv422", bytes(6), 1, 3, 6), "yuv422 image cannot be decoded"),
    ],
)
def test_pixels_that_cannot_be_had(image, reason):
    with pytest.raises(DataError, match=reason):
        decode_bgr(image)


def test_random_bytes_in_a_jpeg_give_pixels_or_a_data_error():
    random = np.random.default_rng(3)
    outcomes = set()
    for _ in range(200):
        data = bytearray(JPEG)
        for _ in range(3):
            data[random.integers(3, len(data))] = random.integers(0, 256)
        try:
            outcomes.add(decode_bgr(EncodedImage(1, "c", "jpeg", bytes(data)), at_least=(8, 8)).bgr.ndim)
        except DataError:
            outcomes.add("refused")
    assert outcomes == {3, "refused"}
