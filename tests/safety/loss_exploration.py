"""The timers of silence and the return of what was lost, over every sequence of messages, held against every instant.

A message of each period comes on time, as early or as late as jitter allows, far too late, or not at all. The words go
through time nanosecond by nanosecond. A period is ten of them here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from monitor_exploration import Exploration
from sensor_subjects import quad_orin, sensor_of

from rt_sched.model import SafetyConcept, SensorKind, System
from rt_sched.model.safety import Silence
from rt_sched.runtime import signs_of_life
from rt_sched.trace.records import SampleTable
from rt_sched.units import NS_PER_S
from safety.monitors import alive

PERIOD_NS, LATENCY_NS, JITTER_NS, MARGIN_NS, RETURN_NS = 10, 2, 1, 1, 25
#: One period, jitter at both ends, and the margin.
TIMEOUT_NS = 13
#: By how much a message is late; None: it never comes.
EVENTS: dict[str, int | None] = {"early": -1, "on time": 0, "late": 1, "far too late": 6, "missing": None}
HEALTHY = ("early", "on time", "late")
#: What is lost may be back only after so many messages, none of them too late after the one before.
LEAST_MESSAGES = RETURN_NS // TIMEOUT_NS + 1


def small_system() -> System:
    sensor = replace(
        sensor_of(SensorKind.IMU),
        rate_hz=Fraction(NS_PER_S, PERIOD_NS),
        latency_ns=LATENCY_NS,
        jitter_ns=JITTER_NS,
    )
    concept = SafetyConcept(
        "arbiter", "control", None, silence=((SensorKind.IMU, Silence(1, MARGIN_NS)),), return_after_ns=RETURN_NS
    )
    return replace(quad_orin(), sensors=(sensor,), safety=concept)


def arrivals_of(names: Sequence[str]) -> list[int]:
    late = [EVENTS[name] for name in names]
    return sorted(number * PERIOD_NS + LATENCY_NS + by for number, by in enumerate(late) if by is not None)


def words(arrivals_ns: Sequence[int], over_ns: int) -> list[tuple[int, bool]]:
    """(instant, whether lost): what is told until `over_ns`, gone through instant by instant."""
    told = []
    last_ns = LATENCY_NS + JITTER_NS  # by then the first message must have been captured and come
    back_ns, is_lost = None, False
    for now_ns in range(over_ns):
        if now_ns in arrivals_ns:
            if is_lost and back_ns is None:
                back_ns = now_ns + RETURN_NS
            last_ns = now_ns
        if is_lost and back_ns == now_ns and now_ns < last_ns + TIMEOUT_NS:
            told.append((now_ns, False))
            is_lost, back_ns = False, None
        if now_ns == last_ns + TIMEOUT_NS and now_ns not in arrivals_ns:
            if not is_lost:
                told.append((now_ns, True))
            is_lost, back_ns = True, None
    return told


def explore_losses(depth: int, limit: int = 1) -> Exploration:
    """All sequences of `depth` messages, and those behind them that let everything be told."""
    result = Exploration("silence and return", depth, closed=False)
    system = small_system()
    name = system.sensors[0].name
    for names in product(EVENTS, repeat=depth):
        arrivals_ns = arrivals_of([*names, *["on time"] * 4])
        samples = _table(arrivals_ns)
        over_ns = arrivals_ns[-1] + TIMEOUT_NS  # what would be told just then no longer is
        told = signs_of_life.notices(system, samples, (), {name}, over_ns + 1, over_ns)
        found = [(one.time_ns, one.lost) for one in told]
        result.steps += depth
        result.states += 1
        result.found += bool(found)
        wanted = words(arrivals_ns, over_ns)
        shown = ", ".join(names)
        if found != wanted:
            result.objections.append(f"told {found}, wanted {wanted} after {shown}")
        result.objections += [f"{rule}: {found} after {shown}" for rule in _violated(names, arrivals_ns, found)]
        if len(result.objections) >= limit:
            break
    return result


def _violated(names: Sequence[str], arrivals_ns: Sequence[int], found: Sequence[tuple[int, bool]]) -> Iterator[str]:
    """The invariants, apart from the words."""
    if found and all(name in HEALTHY for name in names):
        yield "nothing is lost within the declared jitter"
    if [lost for _, lost in found] != [number % 2 == 0 for number in range(len(found))]:
        yield "loss and return are told in turn, each once"
    for (lost_ns, _), (back_ns, _) in zip(found[::2], found[1::2], strict=False):
        if sum(lost_ns < at <= back_ns for at in arrivals_ns) < LEAST_MESSAGES:
            yield "no return before enough good messages"
    for begin_ns, end_ns in pairwise(arrivals_ns):
        due_ns = begin_ns + TIMEOUT_NS
        if end_ns > due_ns and not _is_lost(found, due_ns):
            yield "silence is told within the declared worst case"


def _is_lost(found: Sequence[tuple[int, bool]], at_ns: int) -> bool:
    """Whether it counts as lost then."""
    before = [lost for time_ns, lost in found if time_ns <= at_ns]
    return bool(before) and before[-1]


def _table(arrivals_ns: Sequence[int]) -> SampleTable:
    size = len(arrivals_ns)
    arrival = np.array(arrivals_ns, np.int64)
    return SampleTable(
        np.zeros(size, np.int32), np.arange(size, dtype=np.int64), arrival, arrival, np.zeros(size, np.int8)
    )


def explore_alive(end_ns: int, limit: int = 1) -> Exploration:
    """The timer of tasks, over every set of instants before `end_ns`, and every length up to half of that."""
    result = Exploration("alive", end_ns, closed=False)
    for *chosen, is_later in product((False, True), repeat=end_ns + 1):
        times = [instant for instant, is_in in enumerate(chosen) if is_in] + [end_ns + 3] * is_later
        for timeout_ns in range(1, end_ns // 2 + 1):
            last_ns, wanted = 0, []
            for now_ns in range(end_ns):
                if now_ns - last_ns == timeout_ns and now_ns not in times:
                    wanted.append(now_ns)
                last_ns = now_ns if now_ns in times else last_ns
            found = alive.silent_at(times[::-1], timeout_ns, end_ns)
            result.states += 1
            result.steps += end_ns
            result.found += bool(found)
            if found != wanted:
                result.objections.append(f"told {found}, wanted {wanted} of {times}, {timeout_ns} ns until {end_ns}")
                if len(result.objections) >= limit:
                    return result
    return result
