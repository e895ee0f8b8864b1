"""Each monitor by itself: what it finds at the first message that shows it, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.messages import EncodedImage, PointCloud
from safety.monitors.alive import silent_at
from safety.monitors.delivery import Delivery, Pace
from safety.monitors.payload import Payload
from safety.monitors.pictures import BLACK, SATURATED, Looks, Pictures
from safety.monitors.rate import Rate
from safety.monitors.repeats import Frozen
from safety.monitors.sectors import Sectors, by_direction
from safety.monitors.stamps import StampAge, StampOrder

GAP = 100
PACE = Pace(gap_ns=GAP, latency_ns=20, jitter_ns=3, timeout_ns=120)


def stamped(stamp_ns, arrival_ns=0):
    return Delivery(arrival_ns, stamp_ns, None)


def picture(pixels):
    height, width = pixels.shape
    return Delivery(0, 0, EncodedImage(0, "eye", "mono8", pixels.tobytes(), height, width, width))


def scene(seed, sigma=0.0):
    """Blocks with sharp edges, and a little noise."""
    rng = np.random.default_rng(seed)
    blocks = np.kron(rng.integers(40, 200, (12, 16)), np.ones((8, 8)))
    sharp = (blocks + rng.normal(0, 2, blocks.shape)).astype(np.uint8)
    return sharp if sigma == 0 else cv2.GaussianBlur(sharp, (0, 0), sigma)


def sweep(seed=0, points=3600, without=()):
    """Evenly around; `without`: degrees at which nothing is seen."""
    degrees = np.linspace(-180, 180, points, endpoint=False) + 0.01
    keep = ~np.isin(np.floor(degrees).astype(int), list(without))
    angle = np.radians(degrees[keep])
    xyz = np.stack([np.cos(angle), np.sin(angle), np.full(len(angle), 1e-3 * seed)], axis=1).astype(np.float32)
    return Delivery(0, 0, PointCloud(0, "top", xyz, np.zeros(len(xyz), np.float32)))


def first(monitor, deliveries):
    """Number of the delivery at which the monitor finds something; None: at none."""
    return next((number for number, one in enumerate(deliveries) if monitor.see(one)), None)


@pytest.mark.parametrize(
    ("stamps", "found"), [([1, 2, 3], None), ([1, 2, 2], 2), ([1, 3, 2], 2), ([5, None], 1), ([9, 3, 4, 10], 1)]
)
def test_stamps_must_grow(stamps, found):
    assert first(StampOrder(PACE), map(stamped, stamps)) == found


@settings(max_examples=40)
@given(st.lists(st.integers(0, 20), max_size=12))
def test_a_stamp_is_held_against_the_newest_of_all_before(stamps):
    monitor = StampOrder(PACE)
    found = [monitor.see(stamped(stamp)) is not None for stamp in stamps]
    assert found == [any(earlier >= stamp for earlier in stamps[:number]) for number, stamp in enumerate(stamps)]


@pytest.mark.parametrize(("age", "is_found"), [(20, 0), (10, 0), (9, 1), (30, 0), (31, 1), (0, 1), (-1, 1)])
def test_the_age_at_arrival_is_latency_give_or_take_jitter_and_tolerance(age, is_found):
    assert bool(StampAge(PACE, tolerance_ns=7).see(stamped(1000, 1000 + age))) == is_found


@pytest.mark.parametrize(
    ("distance", "found"), [(100, None), (85, None), (115, None), (75, 5), (130, 5), (50, 5), (200, 5)]
)
def test_a_rate_is_judged_by_five_distances(distance, found):
    arrivals = [stamped(0, number * distance) for number in range(12)]
    assert first(Rate(PACE, GAP), arrivals) == found


def test_jitter_alone_never_makes_a_rate_wrong():
    rng = np.random.default_rng(1)
    arrivals = [stamped(0, number * GAP + int(rng.integers(-3, 4))) for number in range(500)]
    assert first(Rate(PACE, GAP), arrivals) is None


def test_a_rate_that_changes_is_noticed_in_time():
    for every in (50, 75, 130):
        arrivals = [number * GAP for number in range(10)]
        begin = arrivals[-1] + 1
        arrivals += [arrivals[-1] + every * number for number in range(1, 12)]
        monitor = Rate(PACE, GAP)
        at = next(ns for ns in arrivals if monitor.see(stamped(0, ns)))
        assert begin <= at <= begin + monitor.worst_case_ns


def test_two_repeats_of_a_picture_are_a_frozen_camera():
    a, b = picture(scene(1)), picture(scene(2))
    assert first(Frozen(PACE), [a, b, a, b, a]) is None
    assert first(Frozen(PACE), [a, b, b, a, a, a]) == 5
    assert first(Frozen(PACE), [sweep(1), sweep(2), sweep(2), sweep(2)]) == 3


def test_what_cannot_be_decoded_says_why():
    assert Payload(PACE).see(Delivery(0, 0, None, "cut off")) == "cut off"
    assert Payload(PACE).see(picture(scene(1))) is None


def test_a_sweep_is_short_beside_those_before():
    usual = [sweep(number) for number in range(4)]
    assert first(Payload(PACE), [*usual, sweep(points=1000), sweep(points=800)]) == 5
    assert first(Payload(PACE), [sweep(points=800), *usual]) is None
    assert first(Payload(PACE), [sweep(points=0)]) == 0


def pictures(name, levels):
    monitor = Pictures(name, PACE, Looks())
    return first(monitor, [picture(np.full((40, 50), level, np.uint8)) for level in levels])


@pytest.mark.parametrize(
    ("name", "bad", "good"), [("black", BLACK, BLACK + 1), ("saturated", SATURATED, SATURATED - 1)]
)
def test_two_pictures_at_an_end_of_the_levels(name, bad, good):
    assert pictures(name, [good, bad, good, bad, bad]) == 4
    assert pictures(name, [good] * 5) is None


def test_lamps_at_night_make_a_picture_useful():
    dark = np.zeros((100, 100), np.uint8)
    dark[:4] = 200
    monitor = Pictures("black", PACE, Looks())
    assert first(monitor, [picture(dark)] * 3) is None


def test_a_blur_is_told_from_the_pictures_before():
    sharp, soft = [picture(scene(number)) for number in range(6)], [picture(scene(number, 4.0)) for number in range(3)]
    assert first(Pictures("blurred", PACE, Looks()), [*sharp, soft[0], sharp[0], *soft]) == 9
    assert first(Pictures("blurred", PACE, Looks()), soft * 5) is None
    black = [picture(np.zeros((96, 128), np.uint8))] * 3
    assert first(Pictures("blurred", PACE, Looks()), [*sharp, *black]) is None


def test_a_picture_is_decoded_once_for_all_who_ask():
    looks, image = Looks(), picture(scene(1)).message
    assert looks.of(image) is looks.of(image)
    broken = EncodedImage(0, "eye", "jpeg", b"\xff\xd8\xff\xd9")
    assert looks.of(broken) is None


def test_sectors_are_counted_from_behind():
    cloud = PointCloud(
        0, "top", np.array([[-1, -0.01, 0], [0, -1, 0], [1, 0.01, 0]], np.float32), np.zeros(3, np.float32)
    )
    assert np.flatnonzero(by_direction(cloud)).tolist() == [0, 9, 18]


def test_a_sector_must_be_missing_twice():
    usual, covered = [sweep(number) for number in range(4)], sweep(without=range(30, 60))
    assert first(Sectors(PACE), [*usual, covered, usual[0], covered, covered]) == 7
    monitor = Sectors(PACE)
    for one in (*usual, covered):
        monitor.see(one)
    assert monitor.see(covered) == "3 sectors of 10 degrees see nothing, the first from 30 degrees on"


def test_a_sector_that_never_held_much_is_not_missing():
    sparse = [sweep(number, points=360) for number in range(4)]
    assert first(Sectors(PACE), [*sparse, sweep(points=360, without=range(30, 60))] * 2) is None
    always = [sweep(number, without=range(30, 60)) for number in range(12)]
    assert first(Sectors(PACE), always) is None


def packets(fired=(), points=36):
    """A turn in which sectors were fired at so often, 100 times where none is given; few points return."""
    turn = sweep(points=points)
    return replace(turn, message=replace(turn.message, fired=np.array([dict(fired).get(k, 100) for k in range(36)])))


def test_a_direction_that_was_measured_before_and_is_not_now_is_missing_at_once():
    """Also where nothing ever returned from, and in the second turn."""
    monitor = Sectors(PACE)
    assert monitor.see(packets()) is None
    assert monitor.see(packets({3: 0, 4: 0, 35: 0})) == (
        "3 sectors of 10 degrees were not measured, the first from -150 degrees on"
    )
    assert monitor.see(packets({3: 1})) is None


def test_a_direction_that_was_never_measured_is_not_missing():
    """The sensor may be told to send a part of the turn, and the first turn of a recording is seldom whole."""
    part = dict.fromkeys(range(10), 0)
    assert first(Sectors(PACE), [packets(part), packets(part), packets(), packets(), packets(part)]) == 4


def test_a_recording_of_points_says_nothing_of_what_was_measured():
    assert first(Sectors(PACE), [packets(), sweep(points=36), packets()]) is None


@settings(max_examples=60)
@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 30), st.integers(1, 80))
def test_a_timer_runs_out_when_nothing_came_for_longer(times, timeout, end):
    """Against every instant one by one."""
    times = [time for time in times if time < end]
    last, wanted = 0, []
    for now in range(end):
        if now - last == timeout and now not in times:
            wanted.append(now)
        last = now if now in times else last
    assert silent_at(times, timeout, end) == wanted


def test_worst_cases_hold_for_every_phase_of_the_fault():
    """From any instant on, every picture is black: the second of them is within what the monitor declares."""
    monitor = Pictures("black", PACE, Looks())
    arrivals = [number * GAP + jitter for number, jitter in enumerate((17, 23, 20, 23, 17, 17, 23, 20, 23, 17))]
    for begin in range(arrivals[1], arrivals[6]):
        struck = [at for at in arrivals if at >= begin]
        assert struck[1] - begin <= monitor.worst_case_ns
    assert max(later - earlier for earlier, later in pairwise(arrivals)) <= PACE.within_ns(1)
