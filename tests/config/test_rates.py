"""Rates derived along message activation, and circles found in it, against direct definitions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rt_sched.config.rates import Activated, derive_rates, find_circles, separation_ns
from rt_sched.model import Join, OnMessage, Periodic

SENSORS = {"camera": Fraction(30), "lidar": Fraction(10), "imu": Fraction(200)}


@st.composite
def graphs(draw) -> dict[str, Activated]:
    names = [f"t{n}" for n in range(draw(st.integers(1, 8)))]
    tasks = {}
    for name in names:
        if draw(st.integers(0, 4)) == 0:
            tasks[name] = Activated(Periodic(Fraction(draw(st.integers(1, 100)))), ())
            continue
        join = draw(st.sampled_from(Join))
        sources = draw(st.lists(st.sampled_from([*names, *SENSORS]), min_size=1, max_size=3))
        tasks[name] = Activated(OnMessage(join), sources[:1] if join is Join.LATEST else sources)
    return tasks


def _reachable(tasks: dict[str, Activated], start: str) -> set[str]:
    """Every task that messages come from on their way to `start`."""
    found: set[str] = set()
    open_names = [source for source in tasks[start].sources if source in tasks]
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            open_names += [source for source in tasks[name].sources if source in tasks]
    return found


@given(graphs())
def test_circles(tasks) -> None:
    circles = find_circles(tasks)
    for circle in circles:
        following = (*circle[1:], circle[0])
        assert all(before in tasks[after].sources for before, after in zip(circle, following, strict=True))
        assert len(set(circle)) == len(circle)
    assert bool(circles) == any(name in _reachable(tasks, name) for name in tasks)


@given(graphs())
def test_rates(tasks) -> None:
    rates = derive_rates(SENSORS, tasks)
    for name, task in tasks.items():
        behind = _reachable(tasks, name) | {name}
        endless = any(other in _reachable(tasks, other) for other in behind)
        assert (name in rates) == (not endless)
        if name not in rates:
            continue
        if isinstance(task.activation, Periodic):
            assert rates[name] == task.activation.rate_hz
            continue
        of_sources = [(SENSORS | rates)[source] for source in task.sources]
        expected = sum(of_sources) if task.activation.join is Join.ANY else min(of_sources)
        assert rates[name] == expected


def test_a_source_that_does_not_exist_leaves_the_rate_open() -> None:
    tasks = {"a": Activated(OnMessage(Join.LATEST), ("nobody",)), "b": Activated(OnMessage(Join.LATEST), ("a",))}
    assert derive_rates(SENSORS, tasks) == {}
    assert find_circles(tasks) == []


def test_separation_rounds_down_and_stays_positive() -> None:
    assert separation_ns(Fraction(30)) == 33_333_333
    assert separation_ns(Fraction(30000, 1001)) == 33_366_666
    assert separation_ns(Fraction(10**12)) == 1
