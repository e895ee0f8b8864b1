import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.messages import ArbiterState, Command, Detections2D, SensorView, canonical_digest


def command(**changes):
    values = {
        "capture_time_ns": 1,
        "source": "primary",
        "counter": 2,
        "acceleration_m_s2": -1.5,
        "emergency": False,
        "time_to_collision_ns": None,
        "valid": True,
        "views": (SensorView("front", 1),),
    }
    return Command(**(values | changes))


@pytest.mark.parametrize(
    "change",
    [
        {"capture_time_ns": 2},
        {"source": "Primary"},
        {"acceleration_m_s2": np.nextafter(-1.5, 0)},
        {"emergency": True},
        {"time_to_collision_ns": 0},
        {"views": ()},
        {"views": (SensorView("front", 2),)},
    ],
)
def test_every_field_counts(change):
    assert canonical_digest(command()) == canonical_digest(command())
    assert canonical_digest(command(**change)) != canonical_digest(command())


def test_arrays_count_by_content_shape_and_type_not_by_layout():
    base = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert canonical_digest(base) == canonical_digest(np.asfortranarray(base))
    assert canonical_digest(base) == canonical_digest(np.repeat(base, 2, axis=1)[:, ::2])
    others = [base.reshape(3, 2), base.astype(np.float64), base.view(np.int32), base + np.float32(1e-6), base[:1]]
    assert len({canonical_digest(a) for a in [base, *others]}) == 6


def test_neighbouring_values_cannot_run_into_each_other():
    pairs = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ("", "abc"),
        (b"abc",),
        (b"a", b"bc"),
        (1, 23),
        (12, 3),
        (True, 1),
        (1, 1),
    ]
    assert len({canonical_digest(pair) for pair in pairs}) == len(pairs)


@given(st.lists(st.floats(width=64), max_size=20))
def test_floats_count_bit_by_bit(values):
    array = np.array(values)
    assert canonical_digest(array) == canonical_digest(array.copy())
    assert canonical_digest(tuple(values)) == canonical_digest(list(values))


def test_negative_zero_is_not_zero():
    assert canonical_digest(0.0) != canonical_digest(-0.0)


def test_another_process_gives_the_same_digest():
    code = (
        "import numpy as np; from rt_sched.messages import canonical_digest;"
        "print(canonical_digest((1, 'x', np.arange(9.0), None)).hex())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == canonical_digest((1, "x", np.arange(9.0), None)).hex()


@pytest.mark.parametrize("value", [{1: 2}, {1}, object(), np.array([None]), np.zeros(2, ">f4")])
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(TypeError, match="canonical form"):
        canonical_digest(value)


def test_enumerations_and_message_types_are_told_apart():
    assert canonical_digest(ArbiterState.BACKUP) == canonical_digest("BACKUP")
    empty = Detections2D(
        0, "", "", 1, 1, np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int32), ()
    )
    fields = tuple(getattr(empty, field.name) for field in dataclasses.fields(empty))
    assert canonical_digest(empty) != canonical_digest(fields)
