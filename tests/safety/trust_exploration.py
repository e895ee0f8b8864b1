"""Trust in one sensor over every sequence of messages and looks, held against what the whole history says.

Messages are good, or one or both of two monitors find something; a good one may be seen after a later one. Looks come
at the last instant at which a message is in time, and just after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from monitor_exploration import Exploration

from rt_sched.messages import TrustState
from safety import sensor_watch
from safety.monitors import silence
from safety.monitors.delivery import Delivery

GAP_NS, TIMEOUT_NS, WORST_NS = 3, 4, 50
#: What the monitors find in a message.
MESSAGES: dict[str, tuple[str, ...]] = {
    "good": (),
    "good, seen late": (),
    "black": ("black",),
    "frozen": ("frozen",),
    "black and frozen": ("black", "frozen"),
}
#: By how much a look comes after the last instant at which a message is in time.
LOOKS = {"look in time": 0, "look too late": 1}
#: (good samples, end of the timer): never, at the instant at which it runs out, and just after it.
CASES = [(good, until_ns) for good in (1, 2, 3) for until_ns in (10**6, TIMEOUT_NS, TIMEOUT_NS + 1)]

#: (names of monitors told now, state, monitor that took the trust away).
Words = tuple[list[str], TrustState, str | None]


class _Marked:
    """Finds something in messages that say so."""

    worst_case_ns = WORST_NS

    def __init__(self, name: str) -> None:
        self.name = name

    def see(self, delivery: Delivery) -> str | None:
        return f"it is {self.name}" if self.name in delivery.message else None


def explore_trust(depth: int, limit: int = 1) -> Exploration:
    """All sequences of `depth` messages and looks."""
    result = Exploration("trust", depth, closed=False)
    for good, until_ns in CASES:
        for names in product((*MESSAGES, *LOOKS), repeat=depth):
            result.states += 1
            both = zip(_shown(names, good, until_ns), words(names, good, until_ns), strict=True)
            for number, (is_, should) in enumerate(both):
                result.steps += 1
                result.found += bool(is_[0])
                if is_ != should:
                    shown = ", ".join(names[: number + 1])
                    result.objections.append(f"{is_}, wanted {should} after {shown}; {good} good, until {until_ns}")
                    break
            if len(result.objections) >= limit:
                return result
    return result


def _times(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(instant of the message or the look, newest arrival by then)."""
    newest_ns = 0
    for name in names:
        if name in LOOKS:
            yield newest_ns + TIMEOUT_NS + LOOKS[name], newest_ns
        elif name == "good, seen late":
            yield newest_ns - 1, newest_ns
        else:
            newest_ns += GAP_NS
            yield newest_ns, newest_ns


def _shown(names: Sequence[str], good: int, until_ns: int) -> Iterator[Words]:
    """What the watch tells."""
    timer = silence.Silence(TIMEOUT_NS, 0, until_ns)
    watch = sensor_watch.SensorWatch("front", [_Marked("black"), _Marked("frozen")], timer, good)
    for name, (at_ns, _) in zip(names, _times(names), strict=True):
        if name in LOOKS:
            told = watch.look(at_ns)
            wanted_ns = TIMEOUT_NS
        else:
            told = watch.see(Delivery(at_ns, at_ns, MESSAGES[name]))
            wanted_ns = WORST_NS
        right = [one.monitor for one in told if one.worst_case_ns == wanted_ns]
        yield right, watch.trust.state, watch.trust.monitor


def words(names: Sequence[str], good: int, until_ns: int) -> Iterator[Words]:
    """What should be told: monitors when they begin to find something, silence once until a message comes."""
    state, by = TrustState.STARTING, None
    before: tuple[str, ...] = ()
    run, is_silent = 0, False
    for name, (at_ns, newest_ns) in zip(names, _times(names), strict=True):
        if name in LOOKS:
            is_over = newest_ns + TIMEOUT_NS >= until_ns
            told = ["silence"] if at_ns > newest_ns + TIMEOUT_NS and not is_over and not is_silent else []
            is_wrong = bool(told)
            is_silent = is_silent or is_wrong
        else:
            told = [one for one in MESSAGES[name] if one not in before]
            before, is_silent = MESSAGES[name], False
            is_wrong = bool(before)
            run += not is_wrong
        if is_wrong:
            run = 0
            by = by or told[0]
            state = TrustState.DISTRUSTED
        elif run >= good:
            state, by = TrustState.TRUSTED, None
        yield told, state, by
