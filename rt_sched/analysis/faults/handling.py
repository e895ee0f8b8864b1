"""How long it takes until a fault is handled: detection, decision, change of mode, first output.

Source: ISO 26262-1:2018 (fault handling time interval, of detection and reaction, within the fault tolerant one).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched import model
from rt_sched.analysis.faults.losses import Loss, passes
from rt_sched.analysis.faults.overrun import overrun_demand_ns
from rt_sched.analysis.faults.result import Detection, Handling
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Bound, ChainResult, Verdict
from rt_sched.units import format_ns


@dataclass(frozen=True, slots=True)
class Struck:
    """A scenario that strikes in `old` and leads to `new`, with what it takes from either.

    `chains`: bounds that hold from the fault on, by name of the chain. `responses`: bounds of the tasks of `new`, by
    index. `limit_ns`: of the safety concept. `added`: indices of tasks that the change of mode adds, those that the
    fault leaves.
    """

    scenario: model.FaultScenario
    old: ModeLoad
    new: ModeLoad
    loss_before: Loss
    loss: Loss
    chains: Mapping[str, ChainResult]
    responses: Mapping[int, Bound | None]
    limit_ns: int | None
    added: tuple[int, ...]

    @property
    def changes(self) -> bool:
        """Whether the mode changes."""
        return self.new is not self.old


@dataclass(frozen=True, slots=True)
class _Output:
    """What works first after the detection: `path` (None: nothing does, for the `reason`) and its delays.

    `at_hand`: it commands all the time, so nothing has to be waited for.
    """

    path: str | None
    latency_ns: int
    output_ns: int | None
    reason: str = ""
    at_hand: bool = False


def handling_of(struck: Struck, derived: Detection | None) -> Handling:
    """Detection, reaction and margin of a scenario, with the verdict on what was declared of them."""
    scenario = struck.scenario
    declared_ns = scenario.detection_ns
    known = [value for value in (declared_ns, None if derived is None else derived.value_ns) if value is not None]
    detection_ns = max(known, default=None)
    output = _first_output(struck)
    decision_ns = _decision_ns(struck, output, detection_ns or 0)
    reaction_ns = None if output.output_ns is None else decision_ns + output.latency_ns + output.output_ns
    limit_ns = _limit_ns(struck)
    margin_ns = None
    if limit_ns is not None and reaction_ns is not None and detection_ns is not None:
        margin_ns = limit_ns - reaction_ns - detection_ns
    problems = [
        *_detection_problems(scenario, derived, detection_ns, limit_ns),
        *(_change_problems(scenario, detection_ns) if struck.changes else ()),
        *_reaction_problems(scenario, reaction_ns, output),
    ]
    if margin_ns is not None and margin_ns < 0:
        problems.append(
            f"detection and reaction are over the limit of {format_ns(limit_ns or 0)} by {format_ns(-margin_ns)}"
        )
    return Handling(
        declared_ns,
        derived,
        detection_ns,
        decision_ns,
        output.latency_ns,
        output.output_ns,
        output.path,
        reaction_ns,
        scenario.reaction_ns,
        limit_ns,
        margin_ns,
        _longest_detection_ns(struck, output, limit_ns),
        Verdict.INCONCLUSIVE if problems else Verdict.SCHEDULABLE,
        "; ".join(problems) or ("handled within its limit" if limit_ns is not None else "it has no limit"),
    )


def _decision_ns(struck: Struck, output: _Output, detection_ns: int) -> int:
    """From the detection to the change of mode, where what works first waits for that."""
    if output.at_hand or not struck.changes:
        return 0
    return max(0, struck.scenario.mode_after_ns - detection_ns)


def _longest_detection_ns(struck: Struck, output: _Output, limit_ns: int | None) -> int | None:
    """The largest detection that keeps the limit if all else stays as declared; None where there is none.

    The mode must not change before the fault is noticed. What waits for that change ends at the same instant after the
    fault whenever that is noticed.
    """
    if limit_ns is None or output.output_ns is None:
        return None
    longest_ns = limit_ns - output.latency_ns - output.output_ns
    if struck.changes:
        change_ns = struck.scenario.mode_after_ns
        if not output.at_hand and change_ns > longest_ns:
            return None
        longest_ns = min(longest_ns, change_ns)
    return longest_ns if longest_ns > 0 else None


def _limit_ns(struck: Struck) -> int | None:
    """What detection, reaction and margin add up to where the margin is declared, else the limit on recovery."""
    scenario = struck.scenario
    if scenario.margin_ns is not None:
        return (scenario.detection_ns or 0) + (scenario.reaction_ns or 0) + scenario.margin_ns
    return struck.limit_ns


def _detection_problems(
    scenario: model.FaultScenario, derived: Detection | None, detection_ns: int | None, limit_ns: int | None
) -> list[str]:
    problems = []
    if derived is not None and scenario.detection_ns is not None and scenario.detection_ns < derived.value_ns:
        problems.append(
            f"a detection within {format_ns(scenario.detection_ns)} is declared, but {derived.by} is only known to "
            f"notice within {format_ns(derived.value_ns)}"
        )
    if detection_ns is None and limit_ns is not None:
        problems.append("nothing says within which time it is noticed; declare its detection")
    return problems


def _change_problems(scenario: model.FaultScenario, detection_ns: int | None) -> list[str]:
    if detection_ns is None or scenario.mode_after_ns >= detection_ns:
        return []
    return [
        f"the mode changes {format_ns(scenario.mode_after_ns)} after the fault, but that may be noticed only "
        f"{format_ns(detection_ns)} after it"
    ]


def _reaction_problems(scenario: model.FaultScenario, reaction_ns: int | None, output: _Output) -> list[str]:
    if reaction_ns is None:
        return [output.reason]
    if scenario.reaction_ns is not None and scenario.reaction_ns < reaction_ns:
        return [
            f"a reaction within {format_ns(scenario.reaction_ns)} is declared, its bound is {format_ns(reaction_ns)}"
        ]
    return []


def _first_output(struck: Struck) -> _Output:
    """The path that works first once the fault has been noticed and the mode, if it changes, has changed.

    A command path that goes on all the time has its commands at hand. One that the change of mode restores counts from
    an event at the last first arrival on it. Without a safety concept nothing says which paths stand in for each other:
    what the change of mode restores or adds has to work then.
    """
    safety = struck.new.system.safety
    chains = [one for one in struck.new.system.chains if safety is None or brings_command(safety, one.path)]
    working = [one for one in chains if _exists(struck.new, one.path) and passes(struck.new, struck.loss, one.path)]
    going_on = [
        one for one in working if _exists(struck.old, one.path) and passes(struck.old, struck.loss_before, one.path)
    ]
    restored = [one for one in working if one not in going_on]
    if safety is not None and going_on:
        return _Output(going_on[0].name, 0, 0, at_hand=True)
    if restored:
        return _soonest(struck, restored)
    if safety is not None:
        return _Output(None, 0, None, f"no chain to {safety.arbiter} is left that could command")
    if going_on and not struck.added:
        return _Output(going_on[0].name, 0, 0)
    claimed = struck.scenario.reaction_ns is not None or struck.scenario.margin_ns is not None
    if chains and claimed and not struck.added:
        return _Output(None, 0, None, "no chain is left, and nothing takes over")
    return _added_tasks(struck)


def brings_command(safety: model.SafetyConcept, path: Sequence[str]) -> bool:
    """Whether the arbiter gets a command along `path`: from the primary or the backup, straight to it."""
    sources = (safety.primary, safety.backup)
    return len(path) > 1 and path[-1] == safety.arbiter and path[-2] in sources


def _exists(mode: ModeLoad, path: Sequence[str]) -> bool:
    index_of = {row.name: index for index, row in enumerate(mode.setup.tasks)}
    return all(mode.active[index_of[name]] for name in path if name in index_of)


def _soonest(struck: Struck, restored: Sequence[model.CauseEffectChain]) -> _Output:
    best: _Output | None = None
    for chain in restored:
        result = struck.chains.get(chain.name)
        if result is None or result.reaction is None:
            best = best or _Output(
                None, 0, None, f"chain {chain.name}: {'no bound' if result is None else result.reason}"
            )
            continue
        latencies = [
            struck.new.setup.tasks[index].start_latency_ns
            for index in struck.added
            if struck.new.setup.tasks[index].name in chain.path
        ]
        one = _Output(chain.name, max(latencies, default=0), result.reaction.value_ns)
        if best is None or best.output_ns is None or _total_ns(one) < _total_ns(best):
            best = one
    return best or _Output(None, 0, None, "no chain is restored")


def _total_ns(one: _Output) -> int:
    return one.latency_ns + (one.output_ns or 0)


def _added_tasks(struck: Struck) -> _Output:
    """Where no chain says what has to work: the first job of every task that the change of mode adds."""
    slowest = _Output(None, 0, 0)
    for index in struck.added:
        row, bound = struck.new.setup.tasks[index], struck.responses.get(index)
        if not row.timed:
            return _Output(None, 0, None, f"when {row.name} first runs is not known; declare a chain through it")
        if bound is None:
            return _Output(None, 0, None, f"no bound on {row.name}")
        one = _Output(row.name, row.start_latency_ns, bound.value_ns)
        slowest = max(slowest, one, key=_total_ns)
    return slowest


def handling_of_overrun(scenario: model.FaultScenario, mode: ModeLoad, bound: Bound | None) -> Handling | None:
    """Of an overrun whose handling time is declared: it is noticed when the job has used up its budget.

    Nothing changes then but what the budget does at once. None where nothing is declared.
    """
    if scenario.detection_ns is None and scenario.reaction_ns is None and scenario.margin_ns is None:
        return None
    row = next(row for row in mode.setup.tasks if row.name == scenario.target)
    watched = row.budget_ns is not None and overrun_demand_ns(mode, scenario) > row.budget_ns
    derived = None
    if watched and bound is not None:
        derived = Detection(bound.value_ns, row.name, "its budget", 0, 0, bound.value_ns, 0)
    known = [one for one in (scenario.detection_ns, None if derived is None else derived.value_ns) if one is not None]
    detection_ns = max(known, default=None)
    limit_ns = None
    if scenario.margin_ns is not None:
        limit_ns = (scenario.detection_ns or 0) + (scenario.reaction_ns or 0) + scenario.margin_ns
    margin_ns = None if limit_ns is None or detection_ns is None else limit_ns - detection_ns
    problems = _detection_problems(scenario, derived, detection_ns, limit_ns)
    return Handling(
        scenario.detection_ns,
        derived,
        detection_ns,
        0,
        0,
        0,
        row.name,
        0,
        scenario.reaction_ns,
        limit_ns,
        margin_ns,
        limit_ns,
        Verdict.INCONCLUSIVE if problems else Verdict.SCHEDULABLE,
        "; ".join(problems) or "handled within its limit",
    )
