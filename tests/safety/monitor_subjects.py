"""The monitors of messages as subjects of the exploration, with the words of the concept on each.

Numbers are those of the table of monitors in docs/fault-scripts.md, written down again and not taken from the code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from monitor_exploration import EPOCH_NS, History, Next, Seen, Subject

from rt_sched.messages import EncodedImage, PointCloud
from safety.monitors import payload, pictures, rate, repeats, sectors, stamps
from safety.monitors.delivery import Delivery, Pace

PERIOD_NS, LATENCY_NS, JITTER_NS = 100, 20, 3
TIMEOUT_NS = 109
PACE = Pace(gap_ns=PERIOD_NS, latency_ns=LATENCY_NS, jitter_ns=JITTER_NS, timeout_ns=TIMEOUT_NS)


# Deliveries --------------------------------------------------------------------------------------------------------


def arrival_ns(number: int, late_ns: int = 0) -> int:
    """The nominal arrival of the message of a period, or later by so much."""
    return EPOCH_NS + number * PERIOD_NS + LATENCY_NS + late_ns


def stamped(stamp: Callable[[int, History], int | None], late_ns: int = 0) -> Next:
    return lambda number, seen: Seen(Delivery(arrival_ns(number, late_ns), stamp(number, seen), None))


def newest_ns(number: int, seen: History) -> int:
    stamps_ns = [one.capture_ns for one in seen if one.capture_ns is not None]
    return max(stamps_ns, default=EPOCH_NS + number * PERIOD_NS)


def aged(age_ns: int, late_ns: int = 0) -> Next:
    return stamped(lambda number, _: arrival_ns(number, late_ns) - age_ns, late_ns)


def after_ns(distance_ns: int) -> Next:
    return lambda _, seen: Seen(Delivery((seen[-1].arrival_ns if seen else EPOCH_NS) + distance_ns, None, None))


def holding(name: str, message: Any, problem: str | None = None, late_ns: int = 0) -> Next:
    def come(number: int, _: History) -> Seen:
        return Seen(Delivery(arrival_ns(number, late_ns), EPOCH_NS + number * PERIOD_NS, message, problem), name)

    return come


def named(messages: Mapping[str, Any]) -> dict[str, Next]:
    return {name: holding(name, message) for name, message in messages.items()}


# Stamps and rates --------------------------------------------------------------------------------------------------


def _stamp_order() -> Subject:
    def finds(seen: History) -> bool:
        *before, last = [one.capture_ns for one in seen]
        return last is None or any(stamp is not None and stamp >= last for stamp in before)

    back = {f"{by} ns back": stamped(lambda n, seen, by=by: newest_ns(n, seen) - by) for by in (0, 1, 250)}
    return Subject(
        "stamp_order",
        lambda: stamps.StampOrder(PACE),
        {
            "on time": stamped(lambda number, _: EPOCH_NS + number * PERIOD_NS),
            "1 ns newer": stamped(lambda n, seen: newest_ns(n, seen) + 1),
            **back,
            "without a stamp": stamped(lambda *_: None),
        },
        finds,
        window=3,
        depth=5,
        deeper=8,
        declared_ns=TIMEOUT_NS,
        fault=[stamped(newest_ns, JITTER_NS)],
        before=[stamped(lambda number, _: EPOCH_NS + number * PERIOD_NS)],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


def _stamp_age(latency_ns: int, jitter_ns: int, least_ns: int, most_ns: int) -> Subject:
    """Tolerance 7 ns; ages in [`least_ns`, `most_ns`] are good, and none that is negative."""

    def finds(seen: History) -> bool:
        stamp_ns = seen[-1].capture_ns
        return stamp_ns is not None and not max(least_ns, 0) <= seen[-1].arrival_ns - stamp_ns <= most_ns

    ages_ns = sorted({-1, 0, least_ns - 1, least_ns, latency_ns, most_ns, most_ns + 1})
    pace = Pace(PERIOD_NS, latency_ns, jitter_ns, TIMEOUT_NS)
    return Subject(
        f"stamp_age, latency {latency_ns} ns",
        lambda: stamps.StampAge(pace, tolerance_ns=7),
        {f"{age} ns old": aged(age) for age in ages_ns} | {"without a stamp": stamped(lambda *_: None)},
        finds,
        window=1,
        depth=3,
        deeper=6,
        declared_ns=TIMEOUT_NS,
        fault=[aged(most_ns + 1, JITTER_NS)],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


def _rate(fault_ns: int) -> Subject:
    """Five distances of 100 ns, each off by 20 at most, and 3 of jitter at either end."""

    def finds(seen: History) -> bool:
        return len(seen) >= 6 and not 394 <= seen[-1].arrival_ns - seen[-6].arrival_ns <= 606

    return Subject(
        f"rate, every {fault_ns} ns",
        lambda: rate.Rate(Pace(PERIOD_NS, LATENCY_NS, JITTER_NS, 130), PERIOD_NS),
        {f"after {distance} ns": after_ns(distance) for distance in (78, 79, 100, 121, 122)},
        finds,
        window=6,
        depth=6,
        deeper=12,
        declared_ns=6 * 130,
        fault=[after_ns(fault_ns)],
    )


# Pictures ----------------------------------------------------------------------------------------------------------


def grey(pixels: np.ndarray) -> EncodedImage:
    height, width = pixels.shape
    return EncodedImage(0, "eye", "mono8", pixels.astype(np.uint8).tobytes(), height, width, width)


def with_levels(level: int, per_mille: int, other: int = 128) -> EncodedImage:
    """So many of its thousand pixels at one level."""
    return grey(np.where(np.arange(1000) < per_mille, level, other).reshape(25, 40))


def with_dots(dots: int) -> EncodedImage:
    """Alone on grey, so that the energy of the edges is 5/4 of their number: 20 h² dots / pixels, with h = 10."""
    pixels = np.full((40, 40), 128)
    at = [(row, column) for row in range(2, 38, 3) for column in range(2, 38, 3)][:dots]
    for row, column in at:
        pixels[row, column] += 10
    return grey(pixels)


BROKEN = EncodedImage(0, "eye", "jpeg", b"\xff\xd8\xff\xd9")


def _at_an_end(name: str, end: int, inside: int) -> Subject:
    def finds(seen: History) -> bool:
        shown = [one.holds for one in seen if one.holds != "nothing"]
        useless = [one in ("97 %", "one pixel") for one in shown[-2:]]
        return seen[-1].holds != "nothing" and useless == [True, True]

    messages = {
        "97 %": with_levels(end, 970),
        "one pixel": grey(np.full((1, 1), end)),
        "96.9 %": with_levels(end, 969),
        "just inside": with_levels(inside, 1000),
        "the other end": with_levels(255 - end, 1000),
        "broken": BROKEN,
        "nothing": None,
    }
    return Subject(
        name,
        lambda: pictures.Pictures(name, PACE, pictures.Looks()),
        named(messages),
        finds,
        window=5,
        depth=3,
        deeper=6,
        declared_ns=206,
        fault=[holding("97 %", messages["97 %"], late_ns=JITTER_NS)],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


_EDGES = {f"{dots} dots": with_dots(dots) for dots in (100, 40, 20, 19, 13, 0)} | {
    "97 % black": with_levels(12, 970, 200),
    "97 % white": with_levels(250, 970, 20),
    "broken": BROKEN,
    "nothing": None,
}
_ENERGY = {f"{dots} dots": 1.25 * dots for dots in (100, 40, 20, 19, 13, 0)}


def _blurred(name: str, chosen: Sequence[str], before: Sequence[str], depth: int, is_promised: bool) -> Subject:
    def finds(seen: History) -> bool:
        energies: list[float] = []
        in_a_row = 0
        for one in seen:
            if one.holds == "nothing":
                continue
            energy = _ENERGY.get(one.holds)
            usual = median(energies[-30:]) if len(energies) >= 5 else 0.0
            is_blurred = energy is not None and energy * 5 < usual
            if energy is not None and not is_blurred:
                energies.append(energy)
            in_a_row = in_a_row + 1 if is_blurred else 0
        return seen[-1].holds != "nothing" and in_a_row >= 2

    events = named({event: _EDGES[event] for event in chosen})
    return Subject(
        f"blurred, {name}",
        lambda: pictures.Pictures("blurred", PACE, pictures.Looks()),
        events,
        finds,
        window=40,
        depth=depth,
        deeper=depth + 2,
        declared_ns=206,
        fault=[holding("19 dots", _EDGES["19 dots"], late_ns=JITTER_NS)] if is_promised else (),
        before=[holding(one, _EDGES[one]) for one in before],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


# Sweeps ------------------------------------------------------------------------------------------------------------


def cloud(degrees: Sequence[float] | np.ndarray, height_m: float = 0.0) -> PointCloud:
    """A point in each direction, counted counter-clockwise from behind."""
    angle = np.radians(np.asarray(degrees, np.float64) - 180.0)
    xyz = np.stack([np.cos(angle), np.sin(angle), np.full(len(angle), height_m)], axis=1).astype(np.float32)
    return PointCloud(0, "top", xyz, np.zeros(len(xyz), np.float32))


def spread(first: int, beside: int, third: int) -> PointCloud:
    """So many points at the end of the sector before the last, at the begin of the last, and in the second.

    Sixty lie just behind, and sixty across from the first.
    """
    places = cloud([349.9] * first + [350.1] * beside + [15.0] * third + [169.9] * 60)
    xyz = np.vstack([places.xyz_m, np.tile(np.float32([-1, 0, 0]), (60, 1))])
    return PointCloud(0, "top", xyz, np.zeros(len(xyz), np.float32))


def _short(name: str, before: Sequence[int], points: Sequence[int], depth: int) -> Subject:
    sweeps = {f"{count} points": cloud(np.linspace(0, 359, count)) for count in {*points, *before}}

    def finds(seen: History) -> bool:
        learned: list[int] = []
        is_short = False
        for one in seen:
            if one.holds == "undecodable":
                is_short = True
                continue
            count = int(one.holds.split()[0])
            usual = int(median(learned[-10:])) if len(learned) >= 3 else 0
            is_short = count == 0 or 4 * count < usual
            if not is_short:
                learned.append(count)
        return is_short

    return Subject(
        f"payload, {name}",
        lambda: payload.Payload(PACE),
        named({f"{count} points": sweeps[f"{count} points"] for count in points})
        | {"undecodable": holding("undecodable", None, "cut off")},
        finds,
        window=20,
        depth=depth,
        deeper=depth + 2,
        declared_ns=106,
        fault=[holding("undecodable", None, late_ns=JITTER_NS)],
        before=[holding(f"{count} points", sweeps[f"{count} points"]) for count in before],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


Counts = tuple[int, int, int]


def _sector(name: str, before: Sequence[Counts], counts: Sequence[Counts], depth: int, is_promised: bool) -> Subject:
    def finds(seen: History) -> bool:
        usual: list[list[float]] = []
        in_a_row = [0, 0, 0]
        for one in seen:
            if one.holds == "nothing":
                continue
            now = [int(count) for count in one.holds.split()]
            if len(usual) < 3:
                usual.append([float(count) for count in now])
                continue
            middle = [median(sweep[k] for sweep in usual[-10:]) for k in range(3)]
            gone = [middle[k] >= 50 and 20 * now[k] < middle[k] for k in range(3)]
            in_a_row = [in_a_row[k] + 1 if gone[k] else 0 for k in range(3)]
            usual.append([int(middle[k]) if gone[k] else now[k] for k in range(3)])
        return seen[-1].holds != "nothing" and max(in_a_row) >= 2

    def come(one: Counts, late_ns: int = 0) -> Next:
        return holding(" ".join(map(str, one)), sweeps[one], late_ns=late_ns)

    sweeps = {one: spread(*one) for one in {*before, *counts, (0, 0, 0)}}
    return Subject(
        f"sector, {name}",
        lambda: sectors.Sectors(PACE),
        {str(one): come(one) for one in counts} | {"nothing": holding("nothing", None)},
        finds,
        window=20,
        depth=depth,
        deeper=depth + 2,
        declared_ns=206,
        fault=[come((0, 0, 0), JITTER_NS)] if is_promised else (),
        before=[come(one) for one in before],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


def fired(first: int, last: int) -> PointCloud:
    """A sweep without a point, that measured so often in the first and last sectors and nowhere else."""
    return replace(cloud([]), fired=np.array([first, *[0] * 34, last]))


def _unmeasured() -> Subject:
    turns = {f"{first} {last}": fired(first, last) for first in (0, 1, 7) for last in (0, 1)}

    def finds(seen: History) -> bool:
        *before, now = [one.holds for one in seen]
        if now in ("nothing", "points"):
            return False
        measured = [[int(count) > 0 for count in one.split()] for one in before if one not in ("nothing", "points")]
        return any(any(turn[k] for turn in measured) and now.split()[k] == "0" for k in range(2))

    return Subject(
        "sector, packets",
        lambda: sectors.Sectors(PACE),
        named({**turns, "nothing": None, "points": cloud([])}),
        finds,
        window=20,
        depth=4,
        deeper=5,
        declared_ns=206,
        fault=[holding("0 0", turns["0 0"], late_ns=JITTER_NS)],
        before=[holding("1 1", turns["1 1"])],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


# Repeats -----------------------------------------------------------------------------------------------------------


def _frozen(name: str, messages: Mapping[str, Any]) -> Subject:
    def finds(seen: History) -> bool:
        held = [one.holds for one in seen if one.holds != "nothing"]
        return seen[-1].holds != "nothing" and len(held) >= 3 and len(set(held[-3:])) == 1

    def again(number: int, seen: History) -> Seen:
        held = next((one.holds for one in reversed(seen) if one.holds != "nothing"), next(iter(messages)))
        return holding(held, messages[held], late_ns=JITTER_NS)(number, seen)

    return Subject(
        f"frozen, {name}",
        lambda: repeats.Frozen(PACE),
        named({**messages, "nothing": None}),
        finds,
        window=8,
        depth=5,
        deeper=7,
        declared_ns=306,
        fault=[again],
        earlier_ns=JITTER_NS,
        period_ns=PERIOD_NS,
    )


_FULL, _HALF = (100, 50, 49), (50, 50, 49)

SUBJECTS: tuple[Subject, ...] = (
    _stamp_order(),
    _stamp_age(20, 3, 10, 30),
    _stamp_age(2, 1, -6, 10),
    _rate(78),
    _rate(122),
    _frozen("pictures", {"a": with_dots(1), "b": with_dots(2), "c": with_levels(1, 50)}),
    _frozen("sweeps", {"a": cloud([1.0, 2.0]), "b": cloud([1.0, 3.0]), "c": cloud([1.0])}),
    _at_an_end("black", 12, 13),
    _at_an_end("saturated", 250, 249),
    _blurred("learning", ("100 dots", "20 dots", "19 dots", "0 dots"), ["100 dots"] * 3, 5, False),
    _blurred("black is not learned", ("20 dots", "19 dots", "97 % black"), ["100 dots"] * 3, 5, False),
    _blurred(
        "promised", ("100 dots", "19 dots", "97 % black", "97 % white", "broken", "nothing"), ["100 dots"] * 5, 3, True
    ),
    _blurred("window", ("100 dots", "40 dots", "13 dots"), [*["40 dots"] * 16, *["100 dots"] * 14], 4, False),
    _blurred("window, falling", ("100 dots", "40 dots", "13 dots"), [*["100 dots"] * 16, *["40 dots"] * 14], 5, False),
    _short("learning", [400] * 2, (400, 100, 99, 0), 4),
    _short("window", [*[400] * 5, *[200] * 5], (400, 200, 75, 74, 50, 49), 3),
    _sector(
        "learning", [_FULL] * 2, (_FULL, (4, 50, 49), (5, 50, 49), (100, 2, 49), (100, 3, 49), (100, 50, 0)), 3, False
    ),
    _sector("promised", [_FULL] * 3, (_FULL, (0, 50, 49), (100, 0, 49)), 4, True),
    _sector("window", [*[_FULL] * 5, *[_HALF] * 5], (_FULL, _HALF, (3, 50, 49), (4, 50, 49)), 4, False),
    _unmeasured(),
    replace(_unmeasured(), name="sector, first packets", before=(), fault=()),
)
