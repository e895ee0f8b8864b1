"""A list of what could be read instead stands once among many reasons."""

from rt_sched.app.runs.reasons import choices_once, without_choices


def test_the_choices_are_given_once():
    depth = "depth: 4 refused, first: encoding '16UC1' is not read; read are mono8, bgr8"
    other = "nv12: 4 refused, first: encoding 'nv12' is not read; read are mono8, bgr8"
    third = "pose: 1 refused; first: format x is not read; read are json, yaml"
    plain = "imu: not finite; see (a; b)"
    assert list(choices_once([depth, plain, other, third, plain])) == [
        depth,
        plain,
        "nv12: 4 refused, first: encoding 'nv12' is not read",
        third,
        plain,
    ]


def test_a_reason_without_choices_stays_whole():
    assert without_choices("format '16UC1; png' is cut off") == "format '16UC1; png' is cut off"
