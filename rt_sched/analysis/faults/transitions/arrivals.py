"""How much work a busy period holds that contains a change of mode, given where the change is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.faults.transitions.loads import Presence
from rt_sched.analysis.methods.rows import Row, interference
from rt_sched.analysis.result import Term
from rt_sched.analysis.theory.fixed_points import NotConverged, exact_sum, least_fixed_point

#: Positions of a change, and jobs of one busy period, that are looked at for one task.
MOST_POSITIONS, MOST_JOBS = 2000, 2000


@dataclass(frozen=True, slots=True)
class Position:
    """A change `at_ns` after the begin of a busy period; None: there is none.

    `begun`: the change lies at the begin or before it, so that added tasks may already release at any instant.
    `most_removed_ns`: what removed jobs execute at most before they are aborted, None for all that they need.
    """

    at_ns: int | None
    begun: bool = False
    most_removed_ns: int | None = None


NEVER, BEFORE = Position(None), Position(0, begun=True)


class Arrivals:
    """How many jobs of each row are released in a busy period, given where the change is."""

    def __init__(self, presence: Mapping[int, Presence], latency_ns: Mapping[int, int]) -> None:
        self._presence, self._latency_ns = presence, latency_ns

    def presence(self, row: Row) -> Presence:
        return self._presence.get(row.task.index, Presence.KEPT)

    def first_ns(self, row: Row, position: Position) -> int:
        """Of an added task: earliest arrival after the begin of the busy period."""
        return (position.at_ns or 0) + self._latency_ns[row.task.index]

    def jobs(self, row: Row, window_ns: int, position: Position, free: Row | None = None) -> int:
        """Most releases in the first `window_ns` of a busy period; row `free` may release in all of it."""
        presence = Presence.KEPT if row is free else self.presence(row)
        if presence is Presence.KEPT:
            return row.jobs_within(window_ns)
        if presence is Presence.REMOVED:
            length_ns = window_ns if position.at_ns is None else min(window_ns, position.at_ns)
            return row.jobs_within(length_ns) if length_ns > 0 else 0
        if position.at_ns is None:
            return 0
        if position.begun:
            return row.jobs_within(window_ns)
        length_ns = window_ns - self.first_ns(row, position)
        return -(-(length_ns + row.stream.jitter_ns) // row.stream.period_ns) if length_ns > 0 else 0

    def positions(self, rows: Sequence[Row], reach_ns: int, switch_ns: int) -> Iterator[Position]:
        """For each release of a removed task in the first `reach_ns` of a busy period the worst change after it.

        `switch_ns`: what it costs to resume the job that an aborted one had preempted.
        """
        removed = [row for row in rows if self.presence(row) is Presence.REMOVED]
        releases = self._releases(removed, reach_ns)
        # Jobs that hold a lock are aborted only when they have released it.
        locks = any(row.task.locks for row in removed)
        for release_ns, next_ns in zip(releases, [*releases[1:], None], strict=True):
            if locks:
                yield Position(release_ns)
                continue
            needed_ns = sum(row.jobs_within(release_ns) * row.task.cost_ns for row in removed)
            at_ns = max(release_ns, needed_ns if next_ns is None else min(needed_ns, next_ns - 1))
            yield Position(at_ns, most_removed_ns=at_ns + 2 * switch_ns)

    def _releases(self, removed: Sequence[Row], reach_ns: int) -> list[int]:
        """The first instants of a busy period before which one more removed job may have been released."""
        # Without removed work, a change right after the begin leaves added tasks the most time after it.
        instants = {1}
        for row in removed:
            period_ns, jitter_ns = row.stream.period_ns, row.jitter_ns
            first, last = jitter_ns // period_ns + 1, (reach_ns + jitter_ns) // period_ns
            if last - first > MOST_POSITIONS:
                raise NotConverged(f"more than {MOST_POSITIONS} positions of the change have to be looked at")
            instants.update(number * period_ns - jitter_ns + 1 for number in range(first, last + 1))
        if len(instants) > MOST_POSITIONS:
            raise NotConverged(f"more than {MOST_POSITIONS} positions of the change have to be looked at")
        return sorted(instants)

    def work_ns(self, rows: Sequence[Row], window_ns: int, position: Position, free: Row | None = None) -> int:
        """What these rows need at most in the first `window_ns` of a busy period; row `free` as for `jobs`."""
        lasting_ns = removed_ns = 0
        for row in rows:
            needed_ns = self.jobs(row, window_ns, position, free) * row.task.cost_ns
            if row is not free and self.presence(row) is Presence.REMOVED:
                removed_ns += needed_ns
            else:
                lasting_ns += needed_ns
        most_ns = position.most_removed_ns
        return lasting_ns + (removed_ns if most_ns is None else min(removed_ns, most_ns))

    def terms(self, rows: Sequence[Row], window_ns: int, position: Position) -> list[Term]:
        """The terms of `work_ns`, one a task."""
        lasting = [row for row in rows if self.presence(row) is not Presence.REMOVED]
        removed = [row for row in rows if self.presence(row) is Presence.REMOVED]
        terms = interference([(row.task, self.jobs(row, window_ns, position)) for row in lasting])
        left_ns = position.most_removed_ns
        for term in interference([(row.task, self.jobs(row, window_ns, position)) for row in removed]):
            if left_ns is None or term.value_ns <= left_ns:
                terms.append(term)
            elif left_ns > 0:
                terms.append(Term(term.kind, left_ns, term.by))
            left_ns = None if left_ns is None else max(0, left_ns - term.value_ns)
        return terms

    def busy_ns(self, rows: Sequence[Row], blocked_ns: int, position: Position, free: Row | None = None) -> int:
        """Length of the busy period of `rows`, at least 1; row `free` may release in all of it."""
        gone = Presence.ADDED if position.at_ns is None else Presence.REMOVED
        lasting = (row for row in rows if row is free or self.presence(row) is not gone)
        if exact_sum(Fraction(row.task.cost_ns, row.stream.period_ns) for row in lasting) > 1:
            raise NotConverged("the load exceeds 1, so the busy period does not end")
        return least_fixed_point(
            lambda window_ns: blocked_ns + self.work_ns(rows, window_ns, position, free),
            1,
            horizon_ns=MOST_JOBS * max(row.stream.period_ns for row in rows),
        )
