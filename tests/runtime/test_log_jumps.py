"""A log clock that was set while it recorded: the clear part is replayed, without one the replay is refused."""

import numpy as np
import pytest

from rt_sched.errors import DataError
from rt_sched.runtime.log_jumps import JUMP_NS, Logged, replayed_window

S = 1_000_000_000
NOW = 1_700_000_000 * S


def logged(topic, *rows):
    """`rows`: (running number, log time), in any order."""
    ordered = sorted(rows, key=lambda row: (row[1], row[0]))
    return Logged(topic, np.array([r[1] for r in ordered], np.int64), np.array([r[0] for r in ordered], np.int64))


def test_a_recording_without_a_jump_is_replayed_whole():
    topics = [logged("/a", (0, NOW), (3, NOW + JUMP_NS)), logged("/b"), logged("/c", (1, NOW + S))]
    window = replayed_window("x", topics)
    assert (window.first_ns, window.last_ns, window.note) == (NOW, NOW + JUMP_NS, None)


@pytest.mark.parametrize(("early", "word"), [(range(2), "forward"), (range(8, 10), "back")])
def test_the_smaller_part_is_named_in_either_direction(early, word):
    """Ten messages, two of them logged in 1970: the first two, or the last two."""
    rows = [(k, k * S if k in early else NOW + k * S) for k in range(10)]
    window = replayed_window("x", [logged("/imu", *rows[:5]), logged("/cam", *rows[5:])])
    replayed = [time for _, time in rows if time >= NOW]
    assert (window.first_ns, window.last_ns) == (min(replayed), max(replayed))
    numbers = "1 (/imu) and 2 (/imu)" if word == "forward" else "7 (/cam) and 8 (/cam)"
    assert f"log time jumps {word} by 53.9 years between messages {numbers}" in window.note
    assert window.note.endswith(f"quarantined are 2 of {'/imu' if word == 'forward' else '/cam'}")


def test_several_jumps_leave_the_one_large_part():
    rows = [(k, NOW + k * S) for k in range(12)] + [(12, 0), (13, 2 * NOW), (14, NOW + 20 * S)]
    window = replayed_window("x", [logged("/imu", *rows)])
    assert (window.first_ns, window.last_ns) == (NOW, NOW + 20 * S)
    assert "quarantined are 2 of /imu" in window.note


@pytest.mark.parametrize(("outside", "clear"), [(25, True), (26, False)])
def test_a_part_must_outweigh_the_rest(outside, clear):
    rows = [(k, k * S if k < outside else NOW + k * S) for k in range(100)]
    if clear:
        assert replayed_window("x", [logged("/imu", *rows)]).first_ns == NOW + outside * S
        return
    with pytest.raises(DataError) as raised:
        replayed_window("drive.mcap", [logged("/imu", *rows)])
    assert str(raised.value) == (
        "drive.mcap: log time jumps forward by 53.9 years between messages 25 (/imu) and 26 (/imu), and no part "
        "outweighs the rest (messages: 26 from 1970-01-01 00:00:00.000 to 1970-01-01 00:00:25.000, "
        "74 from 2023-11-14 22:13:46.000 to 2023-11-14 22:14:59.000); cut the recording where the clock was set and "
        "replay one part"
    )


@pytest.mark.parametrize(
    ("jump_ns", "words"), [(JUMP_NS + S, "1.0 hours"), (49 * JUMP_NS, "2.0 days"), (9000 * JUMP_NS, "1.0 years")]
)
def test_the_jump_is_given_in_words_that_a_person_reads(jump_ns, words):
    rows = [(k, NOW + k * S + (jump_ns - S if k > 8 else 0)) for k in range(10)]
    assert f"by {words} between messages 8 (/imu) and 9 (/imu)" in replayed_window("x", [logged("/imu", *rows)]).note
