"""What a recording holds, measured: rates, jitter, latency, stamps, sizes, and what cannot be decoded."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage, PointCloud
from rt_sched.ports.source import RecordedMessage, Recording, TopicInfo, TopicKind
from rt_sched.units import NS_PER_S
from sensors.image_headers import compressed_size

#: Stamps further from the log time than this are of another clock.
_COMPARABLE_NS = 10 * NS_PER_S
#: A pause longer than this many periods is a gap.
_GAP_PERIODS = 1.5
_NO_STAMP = -1
#: Rates that sensors are built for, and the broadcast rates beside them.
_USUAL_RATES_HZ = (
    *(
        Fraction(n)
        for n in (1, 2, 4, 5, 10, 12, 15, 20, 24, 25, 30, 40, 50, 60, 100, 120, 125, 200, 250, 400, 500, 1000)
    ),
    *(Fraction(n * 1000, 1001) for n in (15, 24, 30, 60, 120)),
)
_RATE_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Spread:
    """Smallest, median and largest of a quantity."""

    min_ns: int
    median_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class TopicSurvey:
    """One topic, measured.

    `period`, `rate_hz`, `nominal_rate_hz`: from the stamps that `timed_by` names ("capture" or "log"), None below two
    usable ones. `nominal_rate_hz` is a guess: the usual sensor rate within 1 %, else the measured one.
    `drift_ppm`: by how much the sensor is faster than that, rounded to a hundredth.
    `latency`: log minus capture time, None where the two clocks cannot be compared. `jitter_ns`: largest deviation of
    the latency from its median, or where there is none, of the log times from the best regular grid.
    `grid_deviation_ns`: the same for the stamps that time the topic. `gaps`: pauses above
    1.5 periods, the longest being `longest_gap_ns`.
    `stamp_steps_back`, `duplicate_stamps`, `future_stamps`, `missing_stamps`: counts over capture stamps in log order.
    `image_*`, `frame_id`: of the first decodable message. `points_median`: finite points per sweep.
    `undecodable`: messages that cannot be decoded (sensor kinds only), with the first reason.
    """

    name: str
    schema: str
    kind: TopicKind
    messages: int
    first_log_ns: int | None
    last_log_ns: int | None
    first_capture_ns: int | None
    last_capture_ns: int | None
    timed_by: str | None
    period: Spread | None
    rate_hz: float | None
    nominal_rate_hz: Fraction | None
    drift_ppm: Fraction | None
    jitter_ns: int | None
    grid_deviation_ns: int | None
    latency: Spread | None
    gaps: int
    longest_gap_ns: int | None
    stamp_steps_back: int
    duplicate_stamps: int
    future_stamps: int
    missing_stamps: int
    image_height: int | None
    image_width: int | None
    image_encoding: str | None
    frame_id: str | None
    points_median: int | None
    undecodable: int
    first_problem: str | None


@dataclass(frozen=True, slots=True)
class RecordingSurvey:
    """A recording, measured. Topics are in the recording's order; times are log times."""

    path: str
    messages: int
    first_log_ns: int | None
    last_log_ns: int | None
    damage: str | None
    topics: tuple[TopicSurvey, ...]


@dataclass(slots=True)
class _Tally:
    """What one pass over the messages collects per topic."""

    log_ns: array[int] = field(default_factory=lambda: array("q"))
    capture_ns: array[int] = field(default_factory=lambda: array("q"))
    points: array[int] = field(default_factory=lambda: array("q"))
    image: tuple[int, int, str] | None = None
    frame_id: str | None = None
    undecodable: int = 0
    first_problem: str | None = None


def survey(recording: Recording, *, decode_all: bool = True) -> RecordingSurvey:
    """Measure every topic in one pass over the messages; raises DataError when the file cannot be read.

    `decode_all`: decode every sensor message (no pixels), which finds all that are undecodable; else only up to the
    first good one of each topic, which is faster.
    """
    kinds = {topic.name: topic.kind for topic in recording.topics}
    tallies = {name: _Tally() for name in kinds}
    for message in recording.messages():
        tally = tallies.setdefault(message.topic, _Tally())
        tally.log_ns.append(message.log_time_ns)
        tally.capture_ns.append(_NO_STAMP if message.capture_time_ns is None else message.capture_time_ns)
        if kinds.get(message.topic, TopicKind.OTHER) is not TopicKind.OTHER and (decode_all or tally.frame_id is None):
            _decode_into(tally, recording, message)
    topics = tuple(_topic_survey(topic, tallies[topic.name]) for topic in recording.topics)
    first = min((t.first_log_ns for t in topics if t.first_log_ns is not None), default=None)
    last = max((t.last_log_ns for t in topics if t.last_log_ns is not None), default=None)
    return RecordingSurvey(recording.path, sum(t.messages for t in topics), first, last, recording.damage, topics)


def _decode_into(tally: _Tally, recording: Recording, message: RecordedMessage) -> None:
    try:
        decoded = recording.decode(message)
        if isinstance(decoded, EncodedImage):
            height, width = decoded.height, decoded.width
            if decoded.encoding in ("jpeg", "png"):
                height, width = compressed_size(decoded.encoding, decoded.data)
            tally.image = tally.image or (height, width, decoded.encoding)
        elif isinstance(decoded, PointCloud):
            tally.points.append(len(decoded.xyz_m))
        if tally.frame_id is None:
            tally.frame_id = decoded.frame_id
    except DataError as error:
        tally.undecodable += 1
        tally.first_problem = tally.first_problem or str(error)


def _topic_survey(topic: TopicInfo, tally: _Tally) -> TopicSurvey:
    log_ns = np.array(tally.log_ns, np.int64)
    capture_ns = np.array(tally.capture_ns, np.int64)
    stamped = capture_ns != _NO_STAMP
    stamps_ns = capture_ns[stamped]
    steps = np.diff(stamps_ns)
    latency = _latency(log_ns[stamped], stamps_ns)

    # Stamps time the sensor itself; log times also hold the recorder's delays, so they only serve where stamps fail.
    by_capture = (
        len(stamps_ns) >= 2 and 2 * len(stamps_ns) >= len(log_ns) and 2 * np.count_nonzero(steps > 0) >= len(steps)
    )
    times_ns = stamps_ns if by_capture else log_ns
    forward = np.diff(times_ns)
    forward = forward[forward > 0]
    period = _spread(forward)
    fitted_ns, deviation_ns = _fit_grid(times_ns, period.median_ns) if period else (None, None)
    nominal_hz = _nominal_rate_hz(fitted_ns) if fitted_ns else None
    gaps = forward[forward > _GAP_PERIODS * period.median_ns] if period else forward[:0]
    jitter_ns = deviation_ns if not by_capture else None
    if latency is not None:
        jitter_ns = max(latency.max_ns - latency.median_ns, latency.median_ns - latency.min_ns)
    elif by_capture and (log_period := _spread(np.diff(log_ns)[np.diff(log_ns) > 0])):
        _, jitter_ns = _fit_grid(log_ns, log_period.median_ns)
    height, width, encoding = tally.image or (None, None, None)
    return TopicSurvey(
        name=topic.name,
        schema=topic.schema,
        kind=topic.kind,
        messages=len(log_ns),
        first_log_ns=int(log_ns[0]) if len(log_ns) else None,
        last_log_ns=int(log_ns[-1]) if len(log_ns) else None,
        first_capture_ns=int(stamps_ns[0]) if len(stamps_ns) else None,
        last_capture_ns=int(stamps_ns[-1]) if len(stamps_ns) else None,
        timed_by=("capture" if by_capture else "log") if period else None,
        period=period,
        rate_hz=NS_PER_S / period.median_ns if period else None,
        nominal_rate_hz=nominal_hz,
        drift_ppm=None if nominal_hz is None or fitted_ns is None else _drift_ppm(nominal_hz, fitted_ns),
        jitter_ns=jitter_ns,
        grid_deviation_ns=deviation_ns,
        latency=latency,
        gaps=len(gaps),
        longest_gap_ns=int(gaps.max()) if len(gaps) else None,
        stamp_steps_back=int(np.count_nonzero(steps < 0)),
        duplicate_stamps=int(np.count_nonzero(steps == 0)),
        future_stamps=int(np.count_nonzero(stamps_ns > log_ns[stamped])) if latency else 0,
        missing_stamps=int(np.count_nonzero(~stamped)),
        image_height=height,
        image_width=width,
        image_encoding=encoding,
        frame_id=tally.frame_id,
        points_median=int(np.median(tally.points)) if tally.points else None,
        undecodable=tally.undecodable,
        first_problem=tally.first_problem,
    )


def _spread(values_ns: npt.NDArray[np.int64]) -> Spread | None:
    if len(values_ns) == 0:
        return None
    return Spread(int(values_ns.min()), int(np.median(values_ns)), int(values_ns.max()))


def _latency(log_ns: npt.NDArray[np.int64], capture_ns: npt.NDArray[np.int64]) -> Spread | None:
    """None when the stamps are of another clock: far off, or all over the place."""
    if len(log_ns) == 0:
        return None
    latency_ns = log_ns - capture_ns
    low, high = np.percentile(latency_ns, (10, 90))
    if abs(int(np.median(latency_ns))) > _COMPARABLE_NS or high - low > NS_PER_S:
        return None
    return _spread(latency_ns)


def _fit_grid(times_ns: npt.NDArray[np.int64], period_ns: int) -> tuple[float, int]:
    """(period, largest deviation) of the regular grid closest to the times in the least squares sense.

    Missing ticks are stepped over, so a dropped message is a gap and no jitter.
    """
    ordered = np.sort(times_ns)
    ticks = np.concatenate([[0], np.cumsum(np.maximum(np.rint(np.diff(ordered) / period_ns), 0))])
    since_ns = (ordered - ordered[0]).astype(np.float64)
    if ticks[-1] == 0:
        return float(period_ns), 0
    centred = ticks - ticks.mean()
    fitted_ns = float(centred @ since_ns / (centred @ centred))
    residual_ns = since_ns - since_ns.mean() - fitted_ns * centred
    return fitted_ns, int(np.ceil(np.abs(residual_ns).max()))


def _drift_ppm(nominal_hz: Fraction, fitted_ns: float) -> Fraction:
    ratio = NS_PER_S / (float(nominal_hz) * fitted_ns)
    return Fraction(round((ratio - 1) * 1e8), 100)


def _nominal_rate_hz(period_ns: float) -> Fraction:
    rate_hz = NS_PER_S / period_ns
    nearest = min(_USUAL_RATES_HZ, key=lambda usual: abs(float(usual) - rate_hz))
    if abs(float(nearest) - rate_hz) <= _RATE_TOLERANCE * rate_hz:
        return nearest
    rounded = Fraction(round(rate_hz * 100), 100)
    return rounded if rounded > 0 else Fraction(NS_PER_S, round(period_ns))
