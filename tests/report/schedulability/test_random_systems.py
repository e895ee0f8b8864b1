"""Reports on random systems: bounds follow from what the page prints, and one worst case moves what depends on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from page_reading import numbers_without_origin

SEEDS = range(4)


@dataclass(frozen=True)
class Wanted:
    """A sporadic or periodic task on a core of its own choice; lower `priority` is more urgent."""

    name: str
    core: int
    priority: int
    period_us: int
    jitter_us: int
    wcet_us: int


def tasks(seed: int) -> list[Wanted]:
    """Nine tasks on two cores, each core busy for a third to a half."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(9):
        period_us = int(draw.choice([5_000, 8_000, 10_000, 20_000, 33_333, 50_000]))
        jitter_us = int(draw.choice([0, 0, period_us // 10]))
        wcet_us = max(1, period_us * int(draw.integers(4, 12)) // 100)
        found.append(Wanted(f"t{number}", int(draw.integers(2)), number, period_us, jitter_us, wcet_us))
    return found


def text(wanted: list[Wanted]) -> str:
    lines = [
        f"  {one.name}: {{runs_on: d.c, core: {one.core}, priority: {one.priority}, "
        f"activation: {{period: {one.period_us}us, jitter: {one.jitter_us}us}}, "
        f"execution: {{bcet: 1us, wcet: {one.wcet_us}us}}, deadline: {one.period_us}us}}"
        for one in wanted
    ]
    head = "rt_sched: 1\nname: random\ndevices: {d: {processing_elements: {c: {kind: cpu, cores: 2}}}}\ntasks:\n"
    return head + "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_bound_is_the_fixed_point_of_what_is_printed_beside_it(report_on, seed) -> None:
    document = report_on(text(tasks(seed)), methods="fp_response_time")
    assert numbers_without_origin(document) == []
    for row in document["tasks"]:
        (own,) = row["own"]["arrivals"]
        others = [one for one in row["others"] if one["urgency"] == "more"]
        responses_ns, job, window_ns = [], 0, 0
        # The busy period ends with the first job that is over before the next one arrives.
        while job == 0 or window_ns > job * own["separation_ns"] - row["own"]["release_jitter_ns"]:
            before_ns, window_ns = -1, (job + 1) * row["own"]["cost_ns"]
            while window_ns != before_ns:
                before_ns = window_ns
                window_ns = (job + 1) * row["own"]["cost_ns"]
                for other in others:
                    (arrivals,) = other["arrivals"]
                    late_ns = arrivals["jitter_ns"] + other["release_jitter_ns"]
                    window_ns += -(-(before_ns + late_ns) // arrivals["separation_ns"]) * other["cost_ns"]
            responses_ns.append(window_ns - job * own["separation_ns"] + row["own"]["release_jitter_ns"])
            job += 1
        assert max(responses_ns) == row["response_bound_ns"] == sum(term["value_ns"] for term in row["terms"])


@pytest.mark.parametrize("seed", SEEDS)
def test_one_longer_worst_case_moves_exactly_the_bounds_at_and_below_it(report_on, seed) -> None:
    before = tasks(seed)
    changed = before[int(np.random.default_rng(seed).integers(len(before)))]
    after = [replace(one, wcet_us=one.wcet_us + 1) if one is changed else one for one in before]
    first, second = (
        {row["name"]: row for row in report_on(text(one), methods="fp_response_time")["tasks"]}
        for one in (before, after)
    )
    moved = {name for name in first if first[name]["response_bound_ns"] != second[name]["response_bound_ns"]}
    assert moved == {one.name for one in before if one.core == changed.core and one.priority >= changed.priority}, (
        "what is less urgent on its core, and itself"
    )
    for name in first.keys() - moved:
        assert first[name] == second[name]
