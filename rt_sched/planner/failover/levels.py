"""Levels of standbys: every task may come to every processor without meeting a level that is taken there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rt_sched.model import Placement, Plan, System, Takeover
from rt_sched.planner.priorities import urgency_levels


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels with room for every task of the system before, between and behind the residents of each processor.

    Resident k of a processor, the most urgent first, gets the last level of block k; a standby that k residents go
    before gets its rank in block k. `ranks`: of every task, by the policy of the plan, as if all shared one processor.
    """

    ranks: tuple[int, ...]
    residents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, system: System, plan: Plan) -> Levels:
        ranks = urgency_levels(system.tasks, [0] * len(system.tasks), plan.policy)
        residents: list[list[int]] = [[] for _ in plan.processors]
        for index, placement in enumerate(plan.placements):
            residents[placement.processor].append(index)
        by_level = (tuple(sorted(here, key=lambda index: plan.placements[index].level)) for here in residents)
        return cls(ranks, tuple(by_level))

    @property
    def _block(self) -> int:
        return len(self.ranks) + 1

    def spread(self, plan: Plan) -> Plan:
        """The plan with the same order of urgency and room between its levels."""
        level_of = {
            index: place * self._block + self._block - 1 for here in self.residents for place, index in enumerate(here)
        }
        placements = (replace(one, level=level_of[index]) for index, one in enumerate(plan.placements))
        return replace(plan, placements=tuple(placements))

    def standby(self, index: int, processor: int) -> int:
        """The level of task `index` on a processor where it is not at home: behind all that are more urgent."""
        here = self.residents[processor]
        more_urgent = [place for place, other in enumerate(here) if self.ranks[other] < self.ranks[index]]
        return (max(more_urgent) + 1 if more_urgent else 0) * self._block + self.ranks[index]

    def in_plan(
        self, plan: Plan, moves: Sequence[Placement], known: Mapping[tuple[str, int], int]
    ) -> tuple[Placement, ...] | None:
        """`moves`, whose levels are those of `standby`, with levels between those that `plan` has; None: no room.

        `plan`: the one that these levels are of. `known`: by task and processor, levels that its takeovers give.
        """
        found: dict[str, Placement] = {}
        last: dict[int, int] = {}
        for move in sorted(moves, key=lambda one: one.level):
            taken = [plan.placements[index].level for index in self.residents[move.processor]]
            before = move.level // self._block
            least = max(last.get(move.processor, -1), taken[before - 1] if before else -1) + 1
            level = max(known.get((move.task, move.processor), least), least)
            if before < len(taken) and level >= taken[before]:
                return None
            last[move.processor] = level
            found[move.task] = replace(move, level=level)
        return tuple(found[move.task] for move in moves)


def closed_up(plan: Plan, takeovers: Sequence[Takeover]) -> Plan:
    """The plan with these takeovers and with the least levels that keep every order of urgency."""
    used: dict[int, set[int]] = {}
    every: list[Placement] = [*plan.placements, *(move for one in takeovers for move in one.moves)]
    for placement in every:
        used.setdefault(placement.processor, set()).add(placement.level)
    number = {processor: {old: new for new, old in enumerate(sorted(levels))} for processor, levels in used.items()}

    def closed(placement: Placement) -> Placement:
        return replace(placement, level=number[placement.processor][placement.level])

    return replace(
        plan,
        placements=tuple(map(closed, plan.placements)),
        takeovers=tuple(replace(one, moves=tuple(map(closed, one.moves))) for one in takeovers),
    )
