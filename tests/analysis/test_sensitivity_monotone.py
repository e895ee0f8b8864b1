"""What bisection rests on, in random systems of every kind: what is once broken stays broken, as a margin is passed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from random_cases import random_case

from rt_sched.analysis.loads.resolve import ModeLoad, at_frequency, mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.sensitivity import MILLION
from rt_sched.analysis.sensitivity.execution import (
    MOST_PPM,
    critical_scaling,
    scaled,
    task_margin,
    with_more,
)
from rt_sched.analysis.sensitivity.frequencies import elements_with_frequency, frequency_margin
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.analysis.sensitivity.rates import rate_groups, rate_margin, with_rates
from rt_sched.analysis.sensitivity.search import Search
from rt_sched.lowering import check_plan
from rt_sched.model import Policy, System


def modes(
    seeds: range, wanted: Callable[[System], object] = lambda _: True
) -> Iterator[tuple[random.Random, ModeLoad, Promises]]:
    for seed in seeds:
        system, plan = random_case(seed)
        for mode in mode_loads(system, plan) if wanted(system) and not check_plan(system, plan) else ():
            yield random.Random(seed), mode, Promises(mode, METHODS)  # noqa: S311 - reproducible test data


def between(rng: random.Random, least: int, most: int) -> list[int]:
    return [rng.randint(least, most) for _ in range(3)] if least <= most else []


def kept_up_to(holds: Callable[[int], bool], inside: list[int], outside: list[int]) -> None:
    assert all(map(holds, inside)), inside
    assert not any(map(holds, outside)), outside


def keeps(promises: Promises, change: Callable[[int], ModeLoad], value: int) -> bool:
    return promises.broken(change(value), waits_as_declared=True) is None


def test_execution_times() -> None:
    seen: Counter[str] = Counter()
    for rng, mode, promises in modes(range(1, 22)):
        if promises.broken_now is not None:
            continue
        margins = []
        for index, bound in promises.bounds.items():
            one = task_margin(mode, promises, index)
            margins.append(one)
            assert one.limited_by is not None
            more = between(rng, one.margin_ns + 1, 2 * one.margin_ns + 5)
            kept_up_to(
                partial(keeps, promises, lambda ns, m=mode, i=index: with_more(m, {i: ns})),
                [one.margin_ns, *between(rng, 0, one.margin_ns)],
                [one.margin_ns + 1, *more],
            )
            seen["task"] += 1
            seen[bound.bound.method if bound.bound else "none"] += 1
        found = critical_scaling(mode, promises, margins)
        assert found.ppm is not None
        assert MILLION <= found.ppm < MOST_PPM
        kept_up_to(
            partial(keeps, promises, partial(scaled, mode)),
            [found.ppm, *between(rng, 1, found.ppm)],
            [found.ppm + 1, *between(rng, found.ppm + 1, 2 * found.ppm)],
        )
    assert seen["task"] > 12
    assert len(seen) > 3


def has_frequencies(system: System) -> bool:
    """Modes come with frequencies; busy periods of slices that are nearly overloaded take long to follow."""
    elements = [pe for device in system.devices for pe in device.processing_elements]
    return bool(system.modes) and all(pe.policy is not Policy.TIME_SLICED for pe in elements)


def test_frequencies() -> None:
    seen = 0
    for rng, mode, promises in modes(range(1, 75), has_frequencies):
        for device, pe in elements_with_frequency(mode):
            one = frequency_margin(mode, promises, device, pe, ())
            kept = [p for p in pe.operating_points if at_point(mode, promises, device, pe.name, p.frequency_hz)]
            assert one.point_hz == (kept[0].frequency_hz if kept else None)
            if one.smallest_hz is None:
                assert promises.broken_now is not None
                continue
            faster = between(rng, one.smallest_hz // 1000, (pe.frequency_hz or 0) // 1000)
            assert all(at_point(mode, promises, device, pe.name, khz * 1000) for khz in faster)
            assert at_point(mode, promises, device, pe.name, one.smallest_hz)
            seen += 1
    assert seen > 3


def at_point(mode: ModeLoad, promises: Promises, device: str, pe: str, frequency_hz: int) -> bool:
    return promises.broken(at_frequency(mode, device, pe, frequency_hz)) is None


def test_rates() -> None:
    seen = paired = 0
    for rng, mode, promises in modes(range(1, 250), lambda system: system.sensors):
        for name, mine in rate_groups(mode) if promises.broken_now is None else ():
            one = rate_margin(mode, promises, name, mine)
            if one.scaling_ppm is None:
                paired += 1
                continue
            kept_up_to(
                partial(keeps, promises, partial(with_rates, mode, mine)),
                [one.scaling_ppm, *between(rng, MILLION, one.scaling_ppm)],
                [one.scaling_ppm + 1, *between(rng, one.scaling_ppm + 1, 2 * one.scaling_ppm)]
                if one.limited_by
                else [],
            )
            seen += 1
    assert seen > 3
    assert paired > 0


def test_any_guess_leads_to_the_same_value() -> None:
    for last in (0, 1, 7, 8, 100):
        for guess in (None, 0, 1, 6, 7, 8, 9, 99, 100, 1000):
            up = Search(lambda value, last=last: None if value <= last else "over")
            assert up.largest(0, 100, guess) == last
            down = Search(lambda value, last=last: None if value >= last else "under")
            assert down.smallest(0, 100, guess) == last
