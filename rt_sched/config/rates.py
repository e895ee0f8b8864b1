"""Nominal rates that follow from the graph: a message-activated task is as fast as what activates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched import units
from rt_sched.model import Activation, Join, Periodic, Sporadic


@dataclass(frozen=True, slots=True)
class Activated:
    """What matters of a task here. `sources`: the sensors and tasks whose messages activate it."""

    activation: Activation | None
    sources: Sequence[str]


def derive_rates(sensor_rates_hz: Mapping[str, Fraction], tasks: Mapping[str, Activated]) -> dict[str, Fraction]:
    """Task name -> nominal rate in hertz.

    A queue's one activating input passes its rate on; `any` adds the rates up; `all` is as slow as the slowest.
    Tasks without a known rate (a source that does not exist, a circle) are left out.
    """
    rates = dict(sensor_rates_hz)
    waiting = {name: sum(source in tasks for source in task.sources) for name, task in tasks.items()}
    followers: dict[str, list[str]] = {}
    for name, task in tasks.items():
        for source in task.sources:
            followers.setdefault(source, []).append(name)
    ready = [name for name, count in waiting.items() if count == 0]
    while ready:
        name = ready.pop()
        rate_hz = _rate_of(tasks[name], rates)
        if rate_hz is not None:
            rates[name] = rate_hz
        for follower in followers.get(name, ()):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return {name: rate_hz for name, rate_hz in rates.items() if name in tasks}


def _rate_of(task: Activated, rates: Mapping[str, Fraction]) -> Fraction | None:
    if isinstance(task.activation, Periodic):
        return task.activation.rate_hz
    if isinstance(task.activation, Sporadic):
        return Fraction(units.NS_PER_S, task.activation.min_separation_ns)
    source_rates = [rates[source] for source in task.sources if source in rates]
    if task.activation is None or not source_rates or len(source_rates) < len(task.sources):
        return None
    return sum(source_rates, Fraction(0)) if task.activation.join is Join.ANY else min(source_rates)


def find_circles(tasks: Mapping[str, Activated]) -> list[tuple[str, ...]]:
    """The circles of message activation, each as task names in the direction of the messages, starting anywhere.

    Circles that share a task are reported by one of them.
    """
    finished: set[str] = set()
    circles: list[tuple[str, ...]] = []
    for start in tasks:
        path: list[str] = []
        position: dict[str, int] = {}
        stack: list[list[str]] = [[start]]
        while stack:
            if not stack[-1]:
                stack.pop()
                if path:
                    finished.add(path.pop())
                continue
            name = stack[-1].pop()
            if name in finished or name not in tasks:
                continue
            if name in position and position[name] < len(path) and path[position[name]] == name:
                circles.append(tuple(reversed(path[position[name] :])))
                continue
            position[name] = len(path)
            path.append(name)
            stack.append(list(tasks[name].sources))
    return circles


def separation_ns(rate_hz: Fraction) -> int:
    """The distance of arrivals at a rate, rounded down, at least 1 ns."""
    return max(1, units.floor_int(units.NS_PER_S / rate_hz))
