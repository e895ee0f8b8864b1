"""Takeovers for several losses, as they follow on that for a part of these: bounds, and arrivals that wait long enough.

A timed task that arrives at once has to wait until what the takeover restores has come. That takes longest where the
takeover follows closely on another one, whose additional arrivals are still on their way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rt_sched.analysis.faults.takeover_recovery import Recoveries
from rt_sched.analysis.faults.takeover_steps import changes_schedule
from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.analysis.result import Verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Takeover
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses
from rt_sched.planner.failover.search import Outcome


@dataclass(frozen=True, slots=True)
class Step:
    """A takeover that follows on the one for `in_force` when the rest of its losses is noticed, however soon.

    `recovered_ns`: from those losses until all has recovered to which the limit applies, in the slowest mode; None: no
    bound. `reason`: why there is none, or what is not kept; empty where all limits are.
    """

    in_force: Losses
    recovered_ns: int | None
    reason: str

    @property
    def verdict(self) -> Verdict:
        """Whether it has bounds that keep every deadline and limit."""
        return Verdict.INCONCLUSIVE if self.reason else Verdict.SCHEDULABLE


def with_longer_waits(ground: Ground, outcome: Outcome, table: Mapping[Losses, Takeover]) -> Outcome:
    """The outcome with additional arrivals that wait for what comes last in any step; as it was where that keeps fewer
    limits than before.
    """
    takeover = outcome.takeover
    if takeover is None or not takeover.at_once:
        return outcome
    waits = dict(takeover.at_once)
    for first in _firsts(takeover, table):
        for mode in ground.modes:
            try:
                crossing = ground.judge.crossing_on(mode, first, takeover)
            except AnalysisNotApplicable:
                continue
            for name in waits:
                waits[name] = max(waits[name], Recoveries(crossing, waits).ready_ns(name) or 0)
    if waits == dict(takeover.at_once):
        return outcome
    waiting = replace(takeover, at_once=tuple(waits.items()))
    results = tuple(ground.judge.judge(mode, waiting) for mode in ground.modes)
    kept = len([p for one in results for p in one.problems]) <= len(
        [p for one in outcome.results for p in one.problems]
    )
    return replace(outcome, takeover=waiting, results=results) if kept else outcome


def steps_to(ground: Ground, takeover: Takeover, table: Mapping[Losses, Takeover]) -> tuple[Step, ...]:
    """What is known of a takeover that follows on any of the table for a part of its losses, in their order."""
    return tuple(_step(ground, first, takeover) for first in _firsts(takeover, table))


def _firsts(takeover: Takeover, table: Mapping[Losses, Takeover]) -> Iterator[Takeover]:
    """Those that change the schedule: behind others a takeover is as behind the nominal placement."""
    for losses, first in table.items():
        if set(losses) < set(takeover.losses) and changes_schedule(first):
            yield first


def _step(ground: Ground, first: Takeover, second: Takeover) -> Step:
    results: list[TakeoverResult] = []
    for mode in ground.modes:
        try:
            results.append(ground.judge.judge_on(mode, first, second))
        except AnalysisNotApplicable as refusal:
            return Step(first.losses, None, f"no bound: {refusal}")
    times = [one.recovered_ns for one in results]
    known = [time_ns for time_ns in times if time_ns is not None]
    problems = dict.fromkeys(problem for one in results for problem in one.problems)
    return Step(first.losses, max(known) if len(known) == len(times) else None, "; ".join(problems))
