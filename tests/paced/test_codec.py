"""Messages survive the way through bytes: every value, every array, in place or as a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rt_sched.messages import EncodedImage
from rt_sched.runtime.paced.jobs.codec import Encoded, decoded

ARRAYS = hnp.arrays(
    st.sampled_from([np.uint8, np.int64, np.float32, np.bool_]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)
)
VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | ARRAYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def _through_bytes(value: Any, *, copy: bool) -> Any:
    encoded = Encoded(value)
    place = bytearray(encoded.size + 100)
    encoded.write(memoryview(place))
    assert bytes(place[: encoded.size]) == encoded.to_bytes()
    return decoded(memoryview(place), copy=copy)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other, equal_nan=False)
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


@given(VALUES, st.booleans())
def test_every_value_comes_back(value: Any, copy: bool) -> None:
    found = _through_bytes(value, copy=copy)
    assert _equal(value, found) or _has_nan(value)


def _has_nan(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == np.float32 and bool(np.isnan(value).any())
    if isinstance(value, list):
        return any(map(_has_nan, value))
    return isinstance(value, dict) and any(map(_has_nan, value.values()))


def test_arrays_that_are_not_contiguous_come_back() -> None:
    image = np.arange(24).reshape(4, 6)
    assert np.array_equal(_through_bytes(image[:, ::2], copy=False), image[:, ::2])


def test_a_recorded_frame_keeps_its_bytes() -> None:
    frame = EncodedImage(5, "camera", "jpeg", memoryview(b"0123456789"))
    assert bytes(_through_bytes(frame, copy=True).data) == b"0123456789"


def test_nobody_can_write_into_a_message() -> None:
    for copy in (False, True):
        with pytest.raises(ValueError, match="read-only"):
            _through_bytes(np.zeros(3), copy=copy)[0] = 1


def test_only_a_copy_outlives_its_place() -> None:
    encoded = Encoded(np.zeros(8))
    place = bytearray(encoded.size)
    encoded.write(memoryview(place))
    in_place, copied = decoded(memoryview(place), copy=False), decoded(memoryview(place), copy=True)
    place[-64:] = bytes([1] * 64)
    assert in_place.any() and not copied.any()
