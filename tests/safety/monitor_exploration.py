"""Every sequence of deliveries that a monitor can meet, explored state by state against its words.

A subject is a monitor, the deliveries that may come next, and the words of the concept on what it must find, which look
at what came and never into the monitor. After each delivery both must agree. States that differ only in instants of no
more consequence are one; where no new state appears before the depth is reached, sequences of any length are covered.
From every state on, a fault in full must be found within the monitor's declared worst case.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from safety.monitors.delivery import Delivery, Monitor
from safety.monitors.pictures import Looks
from safety.monitors.telling import Telling

#: Instants are larger than half of this, and durations are smaller.
EPOCH_NS = 10**15


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A delivery, and what it holds in the words of the subject."""

    delivery: Delivery
    holds: str = ""

    @property
    def arrival_ns(self) -> int:
        return self.delivery.arrival_ns

    @property
    def capture_ns(self) -> int | None:
        return self.delivery.capture_ns

    def key(self, now_ns: int) -> Hashable:
        return _shape((self.arrival_ns, self.capture_ns, self.holds), now_ns)


History = Sequence[Seen]
#: What is delivered next: by the number of the sensor's period that has come, after what was seen.
Next = Callable[[int, History], Seen]


@dataclass(frozen=True)
class Subject:
    """`finds`: the words. `window`: so many deliveries back they look. `before`: what came before the exploration.

    `depth`: how many deliveries long the sequences are; `deeper`: where there is time. `fault`: what each further
    message is when the fault is there in full; none where no fault is promised to be found. `declared_ns`: the worst
    case that the concept states. `earlier_ns`: by how much the message before the fault may have come earlier than it
    did. `period_ns`: of the grid that deliveries come on; 0: each comes so long after the one before.
    """

    name: str
    make: Callable[[], Monitor]
    events: Mapping[str, Next]
    finds: Callable[[History], bool]
    window: int
    depth: int
    deeper: int
    declared_ns: int | None = None
    fault: Sequence[Next] = ()
    before: Sequence[Next] = ()
    earlier_ns: int = 0
    period_ns: int = 0


@dataclass
class Exploration:
    """`states`: distinct ones, `steps`: deliveries looked at. `closed`: no new state was left before the depth was.

    `promises`: states from which a fault was followed until it was found; `slowest_ns`: the longest that it took.
    """

    subject: str
    depth: int
    states: int = 0
    steps: int = 0
    closed: bool = False
    found: int = 0
    promises: int = 0
    slowest_ns: int = 0
    objections: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """`number`: of the period that comes next. `names`: of the events so far, for people."""

    telling: Telling
    seen: tuple[Seen, ...] = ()
    number: int = 0
    names: tuple[str, ...] = ()

    def key(self, subject: Subject) -> Hashable:
        now_ns = self.seen[-1].arrival_ns if self.seen else EPOCH_NS
        recent = self.seen[-subject.window :]
        phase_ns = now_ns - EPOCH_NS - self.number * subject.period_ns if subject.period_ns else 0
        return phase_ns, _shape(self.telling, now_ns), tuple(one.key(now_ns) for one in recent)


def explore(subject: Subject, depth: int | None = None, limit: int = 1) -> Exploration:
    """All sequences of `depth` deliveries, the subject's own where left out; ends after `limit` objections."""
    result = Exploration(subject.name, subject.depth if depth is None else depth)
    declared_ns = subject.make().worst_case_ns
    if subject.declared_ns is not None and declared_ns != subject.declared_ns:
        result.objections.append(f"it declares {declared_ns} ns, the concept {subject.declared_ns} ns")
    world = _World(Telling(subject.make()))
    for come in subject.before:
        world = _after(world, "before", come, subject, result)
    known = {world.key(subject)}
    frontier = [world]
    for _ in range(result.depth):
        following = []
        for world in frontier:
            if subject.fault:
                _follow_the_fault(world, subject, declared_ns, result)
            for name, come in subject.events.items():
                after = _after(world, name, come, subject, result)
                if len(result.objections) >= limit:
                    return result
                if (key := after.key(subject)) not in known:
                    known.add(key)
                    following.append(after)
        frontier = following
        if not frontier:
            break
    result.closed, result.states = not frontier, len(known)
    return result


def _after(world: _World, name: str, come: Next, subject: Subject, result: Exploration) -> _World:
    """The world after one more delivery; objects where monitor and words differ, or where it is not told just once."""
    seen, telling = come(world.number, world.seen), _copy(world.telling)
    told = telling.see(seen.delivery)
    history, names = (*world.seen, seen), (*world.names, name)
    result.steps += 1
    result.found += telling.finds
    if telling.finds != subject.finds(history):
        result.objections.append(f"{'found' if telling.finds else 'not found'} after {', '.join(names)}")
    elif (told is not None) != (telling.finds and not world.telling.finds):
        result.objections.append(f"{'not told' if told is None else 'told again'} after {', '.join(names)}")
    return _World(telling, history, world.number + 1, names)


def _follow_the_fault(world: _World, subject: Subject, declared_ns: int, result: Exploration) -> None:
    """From just after the last arrival on every message is wrong: found within the declared worst case."""
    if not world.seen:
        return
    monitor, history = _copy(world.telling.monitor), world.seen
    begin_ns = history[-1].arrival_ns - subject.earlier_ns + 1
    result.promises += 1
    for number in count():
        seen = subject.fault[number % len(subject.fault)](world.number + number, history)
        history = (*history, seen)
        if seen.arrival_ns - begin_ns > declared_ns:
            result.objections.append(f"the fault is not found in time after {', '.join(world.names)}")
            return
        if monitor.see(seen.delivery) is not None:
            result.slowest_ns = max(result.slowest_ns, seen.arrival_ns - begin_ns)
            return


def _copy(thing: Any) -> Any:
    """A monitor that goes its own way; what it has learned is never changed in place."""
    other = object.__new__(type(thing))
    other.__dict__.update((name, _copied(value)) for name, value in vars(thing).items())
    return other


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(one) for one in value]
    if isinstance(value, deque):
        return value.copy()
    return _copy(value) if hasattr(value, "__dict__") and not isinstance(value, Looks | type) else value


def _shape(value: Any, now_ns: int) -> Hashable:
    """What a state is, but for the instant at which it is."""
    if isinstance(value, bool | str | bytes) or value is None:
        return value
    if isinstance(value, int | np.integer):
        return ("at", int(value) - now_ns) if value > EPOCH_NS // 2 else int(value)
    if isinstance(value, float | np.floating):
        return round(float(value), 9)
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, deque | list | tuple):
        return tuple(_shape(one, now_ns) for one in value)
    if isinstance(value, Looks | frozenset | type):
        return None
    return tuple(_shape(one, now_ns) for one in vars(value).values())
