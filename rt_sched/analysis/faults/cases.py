"""One fault scenario in one mode: what it takes, what goes on, and how long it takes to handle it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.chains.disparity import disparity_results
from rt_sched.analysis.faults.detection import Watches, detection_of
from rt_sched.analysis.faults.handling import Struck, handling_of, handling_of_overrun
from rt_sched.analysis.faults.losses import Loss, loss_of, passes, surviving
from rt_sched.analysis.faults.misses import overrun_misses
from rt_sched.analysis.faults.overrun import Overrun, overrun_bounds
from rt_sched.analysis.faults.result import FaultCase
from rt_sched.analysis.faults.takeovers import Takeovers
from rt_sched.analysis.faults.transitions.results import Bounds, Transitions
from rt_sched.analysis.faults.waits import waits_after
from rt_sched.analysis.faults.witness import overrun_witnesses
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import Method
from rt_sched.analysis.result import ChainResult, TaskResult, Verdict, WaitResult, Witness, worst_verdict
from rt_sched.analysis.system.engine import Known, TaskBound, mode_bounds
from rt_sched.analysis.system.waits import wait_results
from rt_sched.lowering.changes import losses_of
from rt_sched.lowering.losses import fed_only_by, recovery_limit_ns
from rt_sched.lowering.routes import as_placed
from rt_sched.units import format_ns


@dataclass(frozen=True, slots=True)
class Study:
    """A system with what was found of its modes. `verdicts`: by mode and task, without any fault.

    `bounds`: by mode and index of the task. `known`: bounds of processors that were met before. `takeovers`: judges
    those of the plan.
    """

    system: model.System
    modes: Mapping[str, ModeLoad]
    bounds: Mapping[str, Bounds]
    verdicts: Mapping[tuple[str, str], Verdict]
    transitions: Transitions
    watches: Watches
    methods: Sequence[Method]
    known: Known
    takeovers: Takeovers


def lost_case(study: Study, scenario: model.FaultScenario, old: ModeLoad) -> FaultCase:
    """Something falls silent, or is no longer true, while the system operates in `old`."""
    new = old if scenario.mode is None else study.modes[scenario.mode]
    loss = loss_of(new, scenario)
    after = surviving(new, loss)
    bounds = mode_bounds(after, study.methods, study.known)
    tasks = tuple(_task(new, one, *_after(study, new.name, one)) for _, one in sorted(bounds.items()))
    chains = tuple(one for one in chain_results(after, bounds) if passes(new, loss, one.path))
    transitions = _transitions(study, scenario)
    struck = _struck(study, scenario, old, new, loss, bounds, chains, transitions)
    responses = {index: None if one is None else one.value_ns for index, one in struck.responses.items()}
    handling = handling_of(struck, detection_of(old, struck.loss_before, study.watches, responses))
    change = None if new is old else transitions.result(old.name, new.name)
    verdicts = [(one.verdict, f"task {one.task}: {one.reason}") for one in tasks]
    verdicts += [(one.verdict, f"chain {one.chain}: {one.reason}") for one in chains if one.limits_ns]
    verdicts += _of_waits(waits_after(after, bounds, losses_of(study.system, scenario)))
    verdicts.append((handling.verdict, handling.reason))
    if change is not None:
        verdicts.append((change.verdict, f"the change {change.name} is {change.verdict.value}"))
    verdict, reason = _worst(verdicts)
    return FaultCase(
        old=old.name,
        new=new.name,
        lost_sensors=tuple(sorted(loss.sensors)),
        lost_tasks=tuple((new.setup.tasks[index].name, why) for index, why in sorted(loss.dead.items())),
        stale_tasks=tuple((new.setup.tasks[index].name, inputs) for index, inputs in sorted(loss.stale.items())),
        lost_chains=_lost_chains(new, loss),
        tasks=tasks,
        chains=chains,
        misses=(),
        transition=None if change is None else change.name,
        handling=handling,
        verdict=verdict,
        reason=reason or handling.reason,
    )


def _transitions(study: Study, scenario: model.FaultScenario) -> Transitions:
    """Changes of mode while a scenario is in force: where it only takes something away, those without it.

    Old stamps may be paired otherwise than true ones, so after a freeze changes are looked at with that.
    """
    if scenario.effect is not model.FaultEffect.FREEZE:
        return study.transitions
    modes = {name: surviving(mode, loss_of(mode, scenario)) for name, mode in study.modes.items()}
    return Transitions(study.system, modes, study.bounds, study.methods)


def _lost_chains(mode: ModeLoad, loss: Loss) -> tuple[str, ...]:
    """Chains of the mode that the fault breaks."""
    nothing = Loss(frozenset(), frozenset(), frozenset(), {}, {})
    chains = (chain for chain in mode.system.chains if passes(mode, nothing, chain.path))
    return tuple(chain.name for chain in chains if not passes(mode, loss, chain.path))


def _struck(
    study: Study,
    scenario: model.FaultScenario,
    old: ModeLoad,
    new: ModeLoad,
    loss: Loss,
    bounds: Bounds,
    chains: Sequence[ChainResult],
    transitions: Transitions,
) -> Struck:
    changes = new is not old
    across: Bounds = transitions.bounds(old.name, new.name) if changes else bounds
    lasting = transitions.chains(old.name, new.name) if changes else chains
    added = tuple(
        index for index, active in enumerate(new.active) if active and not old.active[index] and index not in loss.dead
    )
    silenced = set(loss.sensors)
    if any(device.name == scenario.target for device in study.system.devices):
        silenced |= fed_only_by(as_placed(study.system, old.plan), scenario.target)
    return Struck(
        scenario=scenario,
        old=old,
        new=new,
        loss_before=loss_of(old, scenario),
        loss=loss,
        chains={one.chain: one for one in lasting},
        responses={index: one.bound for index, one in across.items()},
        limit_ns=recovery_limit_ns(study.system, silenced),
        added=added,
    )


def _after(study: Study, mode: str, one: TaskBound) -> tuple[Verdict, str]:
    """Of a task that goes on when something has been lost: what held before holds, and bounds may be lower."""
    if one.bound is not None and one.bound.value_ns <= one.task.deadline_ns:
        return Verdict.SCHEDULABLE, "the bound is within the deadline"
    if study.verdicts.get((mode, one.task.name)) is Verdict.SCHEDULABLE:
        return Verdict.SCHEDULABLE, "as without the fault, which only takes work away"
    return Verdict.INCONCLUSIVE, one.reason if one.bound is None else _over(one)


def overrun_case(study: Study, scenario: model.FaultScenario, mode: ModeLoad, overrun: Overrun) -> FaultCase:
    """Listed jobs of one task overrun while the system operates in `mode`."""
    bounds = overrun_bounds(mode, overrun, study.methods)
    misses = overrun_misses(mode, overrun, study.bounds[mode.name], bounds)
    bearable = {one.task for one in misses if one.allowed is not None and one.verdict is Verdict.SCHEDULABLE}
    late = {
        index: one
        for index, one in bounds.items()
        if one.task.name not in bearable and (one.bound is None or one.bound.value_ns > one.task.deadline_ns)
    }
    witnesses = overrun_witnesses(study.system, mode, scenario, tuple(late))
    tasks = []
    for index, one in sorted(bounds.items()):
        witness = witnesses.get(index)
        tasks.append(_task(mode, one, *_while(one, one.task.name in bearable, witness), witness))
    chains = chain_results(mode, bounds)
    handling = handling_of_overrun(scenario, mode, bounds[overrun.index].bound)
    verdicts = [(one.verdict, f"task {one.task}: {one.reason}") for one in tasks]
    verdicts += [(one.verdict, f"task {one.task}: {one.reason}") for one in misses if one.allowed is not None]
    verdicts += [(one.verdict, f"chain {one.chain}: {one.reason}") for one in chains if one.limits_ns]
    limited = [one for one in disparity_results(mode, bounds) if one.limit_ns is not None]
    verdicts += [(one.verdict, f"disparity of {one.task}: {one.reason}") for one in limited]
    verdicts += _of_waits(wait_results(mode, bounds))
    if handling is not None:
        verdicts.append((handling.verdict, handling.reason))
    verdict, reason = _worst(verdicts)
    return FaultCase(
        old=mode.name,
        new=mode.name,
        lost_sensors=(),
        lost_tasks=(),
        stale_tasks=(),
        lost_chains=(),
        tasks=tuple(tasks),
        chains=chains,
        misses=tuple(misses),
        transition=None,
        handling=handling,
        verdict=verdict,
        reason=reason or "all that overruns adds is within deadlines and limits",
    )


def _of_waits(waits: Sequence[WaitResult]) -> list[tuple[Verdict, str]]:
    return [(one.verdict, f"wait of {one.task} for {one.element}: {one.reason}") for one in waits]


def _while(one: TaskBound, bearable: bool, witness: Witness | None) -> tuple[Verdict, str]:
    """Of a task while jobs overrun."""
    if one.bound is not None and one.bound.value_ns <= one.task.deadline_ns:
        return Verdict.SCHEDULABLE, "the bound is within the deadline"
    if bearable:
        return Verdict.SCHEDULABLE, "no more jobs are late than its weakly-hard deadline allows"
    if witness is not None:
        return Verdict.UNSCHEDULABLE, f"a legal run misses: {witness.how}"
    return Verdict.INCONCLUSIVE, one.reason if one.bound is None else _over(one)


def _over(one: TaskBound) -> str:
    over_ns = 0 if one.bound is None else one.bound.value_ns - one.task.deadline_ns
    return f"the bound exceeds the deadline by {format_ns(over_ns)}"


def _worst(verdicts: Sequence[tuple[Verdict, str]]) -> tuple[Verdict, str]:
    """The worst verdict with all its reasons; none for SCHEDULABLE."""
    worst = worst_verdict([verdict for verdict, _ in verdicts])
    if worst is Verdict.SCHEDULABLE:
        return worst, ""
    return worst, "; ".join(reason for verdict, reason in verdicts if verdict is worst)


def _task(mode: ModeLoad, one: TaskBound, verdict: Verdict, reason: str, witness: Witness | None = None) -> TaskResult:
    processor = mode.plan.processors[mode.setup.tasks[one.task.index].processor].name
    return TaskResult(
        one.task.name, mode.name, processor, one.task.deadline_ns, one.bound, verdict, reason, one.refusals, witness
    )
