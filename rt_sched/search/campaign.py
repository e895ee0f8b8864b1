"""A whole search: lots for every goal in rounds, on any number of processes, until the budget is spent.

Lots are merged in the order in which they were given out, so that the result depends on the seed and the number of runs
alone: one that ran out of time is repeated by asking for as many runs.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field

from rt_sched.search.candidates import Candidate
from rt_sched.search.goals import Goal
from rt_sched.search.lots import MUTATION, Lot, Order, Record, Searcher
from rt_sched.search.space import Space

#: Runs of a lot, by round; the last one for all further rounds.
_LOTS = (4, 8, 16, 32)
#: Random runs for all goals at the begin of a round; how often so many when all runs are random.
_RANDOM, _RANDOM_LOTS = 16, 8
#: How often the process that waits looks at the clock, in seconds.
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Found:
    """The worst case of one goal. `run`: of the search, from 0. `begun_with`: what a mutation was first made from."""

    goal: Goal
    value_ns: int
    end_ns: int
    candidate: Candidate
    strategy: str
    begun_with: str
    run: int


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a search found. `found`: by goal, None where no run had a value."""

    goals: tuple[Goal, ...]
    found: tuple[Found | None, ...]
    runs: int


@dataclass
class _Known:
    """What is known of a goal while a search goes on."""

    best: Found | None = None
    last: Candidate | None = None
    begun_with: str = MUTATION


@dataclass
class _State:
    goals: tuple[Goal, ...]
    known: list[_Known] = field(default_factory=list)
    runs: int = 0
    lots: int = 0

    def __post_init__(self) -> None:
        self.known = [_Known() for _ in self.goals]

    def values_ns(self) -> tuple[int, ...]:
        return tuple(-1 if one.best is None else one.best.value_ns for one in self.known)

    def open_goals(self) -> list[int]:
        """Goals that have not reached their bound."""
        return [
            number
            for number, (goal, value_ns) in enumerate(zip(self.goals, self.values_ns(), strict=True))
            if goal.bound_ns is None or value_ns < goal.bound_ns
        ]

    def merge(self, lot: Lot, most: int | None) -> None:
        """What a lot found, as far as the budget of runs goes."""
        room = lot.runs if most is None else min(lot.runs, most - self.runs)
        for record in lot.records:
            if record.run < room:
                self._take(lot, record)
        if lot.order.goal is not None:
            self.known[lot.order.goal].last = lot.last
        self.runs += room

    def _take(self, lot: Lot, record: Record) -> None:
        known = self.known[record.goal]
        if known.best is not None and record.value_ns <= known.best.value_ns:
            return
        begun_with = record.strategy
        if record.strategy == MUTATION:
            begun_with = self._origin(lot, record)
        known.best = Found(
            self.goals[record.goal],
            record.value_ns,
            record.end_ns,
            record.candidate,
            record.strategy,
            begun_with,
            self.runs + record.run,
        )

    def _origin(self, lot: Lot, record: Record) -> str:
        """What the runs of this lot were first made from: the last one before it that was no mutation."""
        earlier = [one.strategy for one in lot.records if one.run < record.run and one.strategy != MUTATION]
        if earlier:
            return earlier[-1]
        best = None if lot.order.goal is None else self.known[lot.order.goal].best
        return record.strategy if best is None else best.begun_with


def search(
    space: Space,
    goals: Sequence[Goal],
    *,
    seed: int,
    runs: int | None = None,
    over: Callable[[], bool] = lambda: False,
    processes: int = 1,
    guided: bool = True,
    tell: Callable[[int, Sequence[Found | None]], None] = lambda _runs, _found: None,
) -> Campaign:
    """Look for the worst case of every goal, for so many runs, until it is `over`, or until every bound is reached.

    `guided` False: random runs only. `tell`: hears how many runs there were so far, and the best of them.
    """
    state = _State(tuple(goals))
    with _workers(space, state.goals, seed, processes) as execute:
        for orders in _rounds(state, guided):
            merged = 0
            for lot in execute(orders, over):
                state.merge(lot, runs)
                merged += 1
                tell(state.runs, [one.best for one in state.known])
                if runs is not None and state.runs >= runs:
                    break
            if merged < len(orders) or (runs is not None and state.runs >= runs):
                break
    return Campaign(state.goals, tuple(one.best for one in state.known), state.runs)


def _rounds(state: _State, guided: bool) -> Iterator[list[Order]]:
    """Orders that depend only on what was merged before; none when every bound is reached."""
    number = 0
    while wanted := state.open_goals():
        values_ns, runs = state.values_ns(), _LOTS[min(number, len(_LOTS) - 1)]
        lots = 1 if guided else _RANDOM_LOTS
        orders = [Order(state.lots + place, None, _RANDOM, values_ns) for place in range(lots)]
        for goal in wanted if guided else ():
            known = state.known[goal]
            # Every third round a goal begins anew.
            start = (None, known.last, _best(known))[number % 3]
            orders.append(Order(state.lots + len(orders), goal, runs, values_ns, start))
        state.lots += len(orders)
        number += 1
        yield orders


def _best(known: _Known) -> Candidate | None:
    return None if known.best is None else known.best.candidate


#: Lots for orders, in their order; fewer when it is over.
Execute = Callable[[Sequence[Order], Callable[[], bool]], Iterator[Lot]]


@contextlib.contextmanager
def _workers(space: Space, goals: tuple[Goal, ...], seed: int, processes: int) -> Iterator[Execute]:
    if processes == 1:
        searcher = Searcher(space, goals, seed)

        def here(orders: Sequence[Order], over: Callable[[], bool]) -> Iterator[Lot]:
            for order in orders:
                if over():
                    return
                yield searcher.lot(order)

        yield here
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(space, goals, seed))
    try:
        with _no_interrupts():
            # Each of the first jobs starts a process, which inherits that it leaves interrupts to this one.
            for _ in range(processes):
                pool.submit(_nothing)

        def there(orders: Sequence[Order], over: Callable[[], bool]) -> Iterator[Lot]:
            futures = [pool.submit(_lot, order) for order in orders]
            for future in futures:
                if not _done_before(future, over):
                    for one in futures:
                        one.cancel()
                    return
                yield future.result()

        yield there
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _done_before(future: Future[Lot], over: Callable[[], bool]) -> bool:
    """Waits for a lot, until it is over."""
    while not future.done():
        if over():
            return False
        wait([future], timeout=_PAUSE_S)
    return True


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C is not heard for a moment; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_searcher: Searcher


def _begin(space: Space, goals: tuple[Goal, ...], seed: int) -> None:
    global _searcher
    _searcher = Searcher(space, goals, seed)


def _nothing() -> None:
    pass


def _lot(order: Order) -> Lot:
    return _searcher.lot(order)
