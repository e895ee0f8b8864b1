"""One lot of runs for one goal: begins anew or where another lot ended, and climbs from there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rt_sched.search.candidates import Candidate, longest, run
from rt_sched.search.critical import critical_instant, instance, just_missed
from rt_sched.search.goals import Goal, Seen, seen_in
from rt_sched.search.mutations import mutated, scene_of
from rt_sched.search.random_choices import Generator, random_candidate, random_phases
from rt_sched.search.space import Space
from rt_sched.trace.records import JobStatus, Trace

#: How a candidate was made.
RANDOM, LONGEST, CRITICAL, MISSED, MUTATION = "random", "longest", "critical_instant", "just_missed", "mutation"


@dataclass(frozen=True, slots=True)
class Order:
    """A lot: `number` of all, `runs` long, for the goal with this index. `goal` None: random runs for all of them.

    `known_ns`: by goal, the largest value so far, -1 for none. `start`: where to go on, None to begin anew.
    """

    number: int
    goal: int | None
    runs: int
    known_ns: tuple[int, ...]
    start: Candidate | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A value of a goal above what was known. `run`: in its lot, from 0."""

    goal: int
    run: int
    value_ns: int
    end_ns: int
    candidate: Candidate
    strategy: str


@dataclass(frozen=True, slots=True)
class Lot:
    """`records`: in the order of runs. `last`: where the next lot for this goal goes on."""

    order: Order
    runs: int
    records: tuple[Record, ...]
    last: Candidate | None


@dataclass
class _Place:
    """Where a lot is: a candidate with its trace, and what it showed of the goal."""

    candidate: Candidate
    trace: Trace
    seen: Seen | None

    @property
    def value_ns(self) -> int:
        return -1 if self.seen is None else self.seen.value_ns


class Searcher:
    """Runs lots; the result of each depends on its order and the seed alone."""

    def __init__(self, space: Space, goals: tuple[Goal, ...], seed: int) -> None:
        self._space, self._goals, self._seed = space, goals, seed
        self._longest: Trace | None = None
        self._relevant: dict[int, tuple[int, ...]] = {}

    def lot(self, order: Order) -> Lot:
        """All runs of an order, fewer where the bound of its goal is reached."""
        rng = np.random.default_rng((self._seed, order.number))
        return _Run(self, order, rng).all()

    @property
    def space(self) -> Space:
        """What is searched."""
        return self._space

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What is looked for."""
        return self._goals

    def longest_trace(self) -> Trace:
        """What happens when all times are the longest, as every search begins with it."""
        if self._longest is None:
            self._longest = run(self._space, longest(self._space))
        return self._longest

    def relevant(self, goal: int) -> tuple[int, ...]:
        """Tasks that may matter for a goal: what its chain or task depends on, and what shares processors with that."""
        if goal not in self._relevant:
            wanted = self._goals[goal]
            index = {row.name: number for number, row in enumerate(self._space.given.tasks)}
            tasks = {wanted.task, *(index[name] for name in wanted.path if name in index)}
            self._relevant[goal] = tuple(sorted(self._space.beside(self._space.upstream(tasks))))
        return self._relevant[goal]


class _Run:
    """The runs of one lot."""

    def __init__(self, searcher: Searcher, order: Order, rng: Generator) -> None:
        self._searcher, self._order, self._rng = searcher, order, rng
        self._space, self._goals = searcher.space, searcher.goals
        self._known = list(order.known_ns)
        self._records: list[Record] = []
        self._runs = 0

    def all(self) -> Lot:
        if self._order.goal is None:
            if self._order.number == 0:
                self._try(longest(self._space), LONGEST)
            while self._runs < self._order.runs:
                self._try(random_candidate(self._space, self._rng), RANDOM)
            return Lot(self._order, self._runs, tuple(self._records), None)
        place = self._begin()
        while self._runs < self._order.runs and not self._reached():
            following = self._try(*self._next(place))
            if following.value_ns >= place.value_ns:
                place = following
        return Lot(self._order, self._runs, tuple(self._records), place.candidate)

    def _goal(self) -> Goal:
        return self._goals[self._order.goal or 0]

    def _reached(self) -> bool:
        bound_ns = self._goal().bound_ns
        return bound_ns is not None and self._known[self._order.goal or 0] >= bound_ns

    def _try(self, candidate: Candidate, strategy: str) -> _Place:
        trace = run(self._space, candidate)
        found = seen_in(trace, self._goals)
        for number, seen in enumerate(found):
            if seen is not None and seen.value_ns > self._known[number]:
                self._known[number] = seen.value_ns
                record = Record(number, self._runs, seen.value_ns, seen.end_ns, candidate, strategy)
                self._records.append(record)
        self._runs += 1
        return _Place(candidate, trace, found[self._order.goal or 0])

    def _begin(self) -> _Place:
        if self._order.start is not None:
            return self._try(self._order.start, MUTATION)
        start = longest(self._space)
        if self._rng.random() < 0.5:
            start = replace(start, phases=random_phases(self._space, self._rng))
        if self._rng.random() < 0.25:
            return self._try(random_candidate(self._space, self._rng), RANDOM)
        if start.phases == longest(self._space).phases:
            trace = self._searcher.longest_trace()
            place = _Place(start, trace, seen_in(trace, [self._goal()])[0])
        else:
            place = self._try(start, LONGEST)
        # What messages activate is moved by what was seen of it, so a second look corrects the first.
        for _ in range(2):
            if self._runs < self._order.runs:
                following = self._try(*self._aligned(place))
                if following.value_ns >= place.value_ns:
                    place = following
        return place

    def _next(self, place: _Place) -> tuple[Candidate, str]:
        chance = self._rng.random()
        if chance < 0.06:
            return random_candidate(self._space, self._rng), RANDOM
        if chance < 0.2:
            return self._aligned(place)
        relevant = self._searcher.relevant(self._order.goal or 0)
        scene = scene_of(self._space, self._goal(), relevant, place.candidate, place.trace, place.seen)
        return mutated(scene, self._rng), MUTATION

    def _aligned(self, place: _Place) -> tuple[Candidate, str]:
        """A critical instant of a job that counts; for chains, every other time, something just missed."""
        goal, trace = self._goal(), place.trace
        row = self._job(place)
        if row is None:
            return random_candidate(self._space, self._rng), RANDOM
        if goal.path and place.seen is not None:
            hops = instance(self._space, trace, goal.path, place.seen.job)
            if self._rng.random() < 0.5:
                missed = just_missed(self._space, place.candidate, trace, goal.path, place.seen.job, self._rng)
                return missed, MISSED
            row = int(self._rng.choice([place.seen.job, *(message for message, _, _ in hops if message >= 0)]))
        return critical_instant(self._space, place.candidate, trace, row, self._rng), CRITICAL

    def _job(self, place: _Place) -> int | None:
        """The job that showed the largest value, or any of its task."""
        jobs = place.trace.jobs
        if place.seen is not None and self._rng.random() < 0.5:
            return place.seen.job
        rows = np.flatnonzero((jobs.task == self._goal().task) & (jobs.status == JobStatus.COMPLETED))
        return int(self._rng.choice(rows)) if len(rows) else None
