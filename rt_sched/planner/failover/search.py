"""The search for one takeover: a proposal, what the analysis says of it, and what gives way where it is too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.faults.takeover_crossing import sampling_tasks
from rt_sched.analysis.faults.takeover_loads import faults_of
from rt_sched.analysis.faults.takeover_recovery import Recoveries
from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.analysis.result import Verdict, worst_verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.losses import lost_sensors
from rt_sched.model import FaultKind, Takeover
from rt_sched.planner.failover.giving_way import GivingWay
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses, targets
from rt_sched.planner.failover.memory import Memory
from rt_sched.planner.failover.parts import ORDER, levels_of, parts
from rt_sched.planner.failover.placing import Choices, Placing, Proposal
from rt_sched.planner.failover.weights import fusion_weights

#: Proposals that are analysed for one set of losses.
MOST_PROPOSALS = 24


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found for one set of losses.

    `takeover`: None where none goes in any mode, for the `reason`. `results`: its analysis in every mode. `unmoved`:
    lost tasks that are needed, but go nowhere, with the reason.
    """

    losses: Losses
    takeover: Takeover | None
    results: tuple[TakeoverResult, ...]
    unmoved: tuple[tuple[str, str], ...]
    reason: str

    @property
    def verdict(self) -> Verdict:
        """SCHEDULABLE: everything that is needed goes on, in time, and recovers within the limit."""
        if self.takeover is None or self.unmoved:
            return Verdict.INCONCLUSIVE
        return worst_verdict([one.verdict for one in self.results])


class Search:
    """Searches a takeover for one set of losses. `preferred`: by task the processor that it tries first."""

    def __init__(
        self, ground: Ground, losses: Losses, memory: Memory, preferred: Mapping[str, int] | None = None
    ) -> None:
        self._ground, self._losses = ground, losses
        self._placing = Placing(ground, losses, memory)
        self._preferred = preferred or {}
        self._begin({})

    def _begin(self, left: Mapping[str, str]) -> None:
        self._choices = Choices(preferred=self._preferred, left=dict(left))
        self._giving_way = GivingWay(self._ground, self._losses, self._placing, self._choices)

    def run(self) -> Outcome:
        """The first takeover that the analysis accepts, else the one with the least to object to.

        Where none goes, and of several losses also where a task finds no place that one of lower criticality has taken,
        the least important tasks are left out.
        """
        safety = self._ground.system.safety
        if safety is not None and self._is_gone(safety.arbiter):
            return self._nothing(f"the device of {safety.arbiter} is lost: nothing commands, and nothing watches")
        whole = self._best()
        if not self._falls_short(whole):
            return whole
        for left in parts(self._ground, self._placing.needed):
            self._begin(left)
            part = self._best()
            if part.takeover is not None and all(name in left for name, _ in part.unmoved):
                keeps_more = whole.takeover is None or self._lost_level(part) < self._lost_level(whole)
                return part if keeps_more else whole
        return whole

    def _falls_short(self, found: Outcome) -> bool:
        if found.takeover is None:
            return True
        moved = [move.task for move in found.takeover.moves if move.task in self._placing.needed]
        return len(self._losses) > 1 and self._lost_level(found) > min(
            levels_of(self._ground, moved), default=len(ORDER)
        )

    def _lost_level(self, found: Outcome) -> int:
        """The highest criticality of what goes nowhere; -1 where everything goes on."""
        return max(levels_of(self._ground, (name for name, _ in found.unmoved)), default=-1)

    def _best(self) -> Outcome:
        """By what has been chosen so far."""
        best: Outcome | None = None
        for _ in range(MOST_PROPOSALS):
            proposal = self._placing.propose(self._choices)
            try:
                found = self._analysed(proposal)
            except AnalysisNotApplicable as refusal:
                return best or self._nothing(str(refusal))
            if best is None or _objections(found) < _objections(best):
                best = found
            if self._is_accepted(found) or not self._giving_way.next(found.results, proposal):
                break
        return best if best is not None and _goes(best) else self._nothing("" if best is None else best.reason, best)

    def _is_accepted(self, found: Outcome) -> bool:
        """Whether the analysis objects to nothing, and everything goes on that is not left out."""
        is_whole = all(name in self._choices.left for name, _ in found.unmoved)
        return is_whole and worst_verdict([one.verdict for one in found.results]) is Verdict.SCHEDULABLE

    def _is_gone(self, task: str) -> bool:
        return self._ground.device_of(self._ground.home[task]) in targets(self._losses, FaultKind.DEVICE)

    def _nothing(self, reason: str, best: Outcome | None = None) -> Outcome:
        unmoved = () if best is None else best.unmoved
        return Outcome(self._losses, None, () if best is None else best.results, unmoved, reason)

    def _analysed(self, proposal: Proposal) -> Outcome:
        takeover = self._takeover(proposal)
        judge, modes = self._ground.judge, self._ground.modes
        crossings = {mode: judge.crossing(mode, takeover) for mode in modes}
        delays: dict[str, int] = {}
        for name, _ in takeover.at_once:
            ready = [Recoveries(one, delays).ready_ns(name) for one in crossings.values()]
            if all(one is not None for one in ready):
                delays[name] = max(one or 0 for one in ready)
            else:
                self._choices.not_again.add(name)
        if len(delays) < len(takeover.at_once):
            return self._analysed(proposal)
        takeover = replace(takeover, at_once=tuple(delays.items()))
        results = tuple(judge.judge(mode, takeover, replace(one, takeover=takeover)) for mode, one in crossings.items())
        unmoved = tuple((name, why) for name, why in proposal.unplaced.items() if name in self._placing.needed)
        problems = [f"task {name} goes nowhere: {why}" for name, why in unmoved]
        problems += [problem for one in results for problem in one.problems]
        reason = "; ".join(dict.fromkeys(problems)) or "all limits are kept"
        return Outcome(self._losses, takeover, results, unmoved, reason)

    def _takeover(self, proposal: Proposal) -> Takeover:
        ground = self._ground
        moved = proposal.moves
        order = [name for name in ground.tasks if name in moved]
        redone = [
            name
            for name in order
            if not ground.tasks[name].is_timed
            and name in self._placing.needed
            and name not in self._choices.not_again
            and any(source not in moved for source in ground.activating(name))
        ]
        variants = [
            (name, chosen)
            for name, chosen in self._choices.variants.items()
            if name in moved or self._giving_way.stays(name)
        ]
        return Takeover(
            self._losses,
            tuple(moved[name] for name in order),
            tuple(sorted(self._choices.dropped, key=ground.index_of.__getitem__)),
            tuple(redone),
            tuple((name, 0) for name in self._sampling(order)),
            tuple(sorted(variants, key=lambda pair: ground.index_of[pair[0]])),
            fusion_weights(ground.system, self._silent()),
        )

    def _silent(self) -> list[str]:
        """Sensors that are lost for good: by themselves, or with all their devices."""
        return list(lost_sensors(self._ground.system, faults_of(self._losses)))

    def _sampling(self, moved: Sequence[str]) -> list[str]:
        """Timed tasks that put together what changes: behind lost and restored sensors, and those that are moved."""
        ground = self._ground
        restored = {source for name in moved for source in ground.feeders[name] if source not in ground.tasks}
        found = {
            name for mode in ground.modes.values() for name in sampling_tasks(mode, restored | set(self._silent()))
        }
        safety = ground.system.safety
        found |= {n for n in moved if ground.tasks[n].is_timed and (safety is None or n != safety.arbiter)}
        alive = [name for name in found if name in moved or self._giving_way.stays(name)]
        return sorted((n for n in alive if n not in self._choices.not_again), key=ground.index_of.__getitem__)


def _objections(found: Outcome) -> tuple[int, int, int]:
    late = sum(bool(task.late) for result in found.results for task in result.tasks)
    return late, len(found.unmoved), sum(len(result.problems) for result in found.results)


def _goes(found: Outcome) -> bool:
    """Whether everything is in time once the takeover is in force."""
    return not any(task.late for result in found.results for task in result.tasks)
