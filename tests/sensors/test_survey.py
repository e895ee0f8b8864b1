"""What the survey measures, on recordings whose figures are known."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np
import pytest

from sensors.recording import open_recording
from sensors.survey import Spread, survey

NS = 10**9
START_NS = 1_700_000_000 * NS
XYZ = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])


@pytest.fixture
def measure(tmp_path, ros2):
    """The survey of one topic made of (log, message) pairs."""

    def run(pairs, **options):
        path = ros2.write_mcap(tmp_path / "a.mcap", [("/topic", log_ns, message) for log_ns, message in pairs])
        (topic,) = survey(open_recording(path), **options).topics
        return topic

    return run


def imus(ros2, stamps_ns, latencies_ns):
    return [(s + lat, ros2.imu(s)) for s, lat in zip(stamps_ns, latencies_ns, strict=True)]


@pytest.mark.parametrize(
    ("rate_hz", "count"),
    [(Fraction(30), 300), (Fraction(30000, 1001), 300), (Fraction(10), 40), (Fraction(200), 400), (Fraction(1), 5)],
)
def test_nominal_rates_are_told_apart(ros2, measure, rate_hz, count):
    stamps = [START_NS + int(k * NS / rate_hz) for k in range(count)]
    topic = measure(imus(ros2, stamps, [1000] * count))
    assert topic.nominal_rate_hz == rate_hz
    assert topic.rate_hz == pytest.approx(float(rate_hz), rel=1e-6)
    assert topic.timed_by == "capture"
    assert topic.latency == Spread(1000, 1000, 1000)
    assert topic.jitter_ns == 0
    assert topic.grid_deviation_ns <= 2
    assert topic.gaps == 0


def test_an_unusual_rate_is_given_as_measured(ros2, measure):
    stamps = [START_NS + k * 104_732_672 for k in range(50)]
    assert measure(imus(ros2, stamps, [0] * 50)).nominal_rate_hz == Fraction(955, 100)


def test_latency_and_its_jitter(ros2, measure):
    stamps = [START_NS + k * 100_000_000 for k in range(9)]
    latencies = [5_000_000, 5_100_000, 4_800_000] * 3
    topic = measure(imus(ros2, stamps, latencies))
    assert topic.latency == Spread(4_800_000, 5_000_000, 5_100_000)
    assert topic.jitter_ns == 200_000
    assert (topic.first_capture_ns, topic.last_capture_ns) == (stamps[0], stamps[-1])
    assert (topic.first_log_ns, topic.last_log_ns) == (stamps[0] + 5_000_000, stamps[-1] + 4_800_000)


def test_gaps_are_counted_and_are_no_jitter(ros2, measure):
    ticks = [k for k in range(60) if k not in (7, 30, 31, 32)]
    topic = measure(imus(ros2, [START_NS + k * 10_000_000 for k in ticks], [0] * len(ticks)))
    assert (topic.gaps, topic.longest_gap_ns) == (2, 40_000_000)
    assert topic.nominal_rate_hz == 100
    assert topic.grid_deviation_ns <= 1
    assert topic.period == Spread(10_000_000, 10_000_000, 40_000_000)


def test_stamps_that_step_back_repeat_come_from_the_future_or_are_missing(ros2, measure):
    stamps = [START_NS + k * 10_000_000 for k in range(40)]
    logs = [s + 2_000_000 for s in stamps]
    stamps[10] = stamps[9]
    stamps[20] -= 35_000_000
    stamps[30] += 7_000_000
    stamps[35] = 0
    topic = measure([(log, ros2.imu(s)) for log, s in zip(logs, stamps, strict=True)])
    assert topic.duplicate_stamps == 1
    assert topic.stamp_steps_back == 1
    assert topic.future_stamps == 1
    assert topic.missing_stamps == 1
    assert topic.messages == 40


@pytest.mark.parametrize("offset_ns", [-1_600_000_000 * NS, 11 * NS, 3600 * NS])
def test_a_clock_of_another_day_gives_no_latency(ros2, measure, offset_ns):
    stamps = [START_NS + offset_ns + k * 100_000_000 for k in range(20)]
    logs = [START_NS + k * 100_000_000 + (k % 2) * 3_000_000 for k in range(20)]
    topic = measure([(log, ros2.imu(s)) for log, s in zip(logs, stamps, strict=True)])
    assert topic.latency is None
    assert topic.future_stamps == 0
    assert topic.nominal_rate_hz == 10
    assert topic.timed_by == "capture"
    assert 1_500_000 <= topic.jitter_ns <= 2_000_000


def test_without_stamps_the_log_times_it(ros2, measure):
    logs = [START_NS + k * 50_000_000 + (k % 3) * 1_000_000 for k in range(30)]
    topic = measure([(log, ros2.imu(0)) for log in logs])
    assert (topic.timed_by, topic.nominal_rate_hz, topic.latency) == ("log", 20, None)
    assert (topic.missing_stamps, topic.first_capture_ns) == (30, None)
    assert 900_000 <= topic.jitter_ns <= 1_200_000


def test_one_message_has_no_rate(ros2, measure):
    topic = measure([(START_NS, ros2.imu(START_NS))])
    assert (topic.period, topic.rate_hz, topic.nominal_rate_hz, topic.timed_by, topic.gaps) == (None,) * 4 + (0,)


def test_equal_times_have_no_rate(ros2, measure):
    topic = measure([(START_NS, ros2.imu(START_NS))] * 5)
    assert (topic.period, topic.duplicate_stamps, topic.timed_by) == (None, 4, None)


def test_images_and_what_cannot_be_decoded(ros2, measure):
    jpeg = cv2.imencode(".jpg", np.zeros((20, 30, 3), np.uint8))[1].tobytes()
    datas = [b"", jpeg, jpeg[:-30], jpeg]
    pairs = [(START_NS + k, ros2.compressed(START_NS + k, "jpeg", data)) for k, data in enumerate(datas)]
    topic = measure(pairs)
    assert (topic.image_height, topic.image_width, topic.image_encoding, topic.frame_id) == (20, 30, "jpeg", "cam")
    assert topic.undecodable == 2
    assert topic.first_problem == "/topic message 0: compressed image without data"
    assert measure(pairs, decode_all=False).undecodable == 1


def test_points_per_sweep(ros2, measure):
    pairs = []
    for k, count in enumerate((10, 30, 20)):
        points = np.zeros(count, XYZ)
        points["x"][0] = np.nan
        pairs.append((START_NS + k, ros2.cloud(START_NS + k, points)))
    topic = measure(pairs)
    assert (topic.points_median, topic.frame_id, topic.undecodable) == (19, "lidar", 0)


def test_the_whole_recording(tmp_path, ros2):
    path = ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(5))
    result = survey(open_recording(path))
    assert [t.name for t in result.topics] == ["/cam", "/imu", "/lidar"]
    assert (result.messages, result.damage, result.path) == (15, None, str(path))
    assert (result.first_log_ns, result.last_log_ns) == (START_NS + 2_000_000, START_NS + 404_000_000)
    assert [t.latency.median_ns for t in result.topics] == [2_000_000, 4_000_000, 3_000_000]


def test_an_empty_recording(tmp_path, ros2):
    result = survey(open_recording(ros2.write_mcap(tmp_path / "a.mcap", [])))
    assert (result.messages, result.topics, result.first_log_ns) == (0, (), None)
