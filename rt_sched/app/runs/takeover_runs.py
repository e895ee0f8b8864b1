"""The takeovers of a run beside their analysis: how soon each path recovered, and what was over its bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rt_sched.analysis.faults.takeover_steps import changes_schedule
from rt_sched.model import Fault, Plan, System, Takeover
from rt_sched.runtime.detection import Decision, Detection
from rt_sched.runtime.recovery import published_rows, recovered_ns
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import Bools, Trace
from rt_sched.units import MAX_TIME_NS, format_ms

if TYPE_CHECKING:
    from rt_sched.analysis.faults.takeovers import TakeoverResult
    from rt_sched.analysis.measured.observed import Exceeded
    from rt_sched.analysis.system.engine import Known


@dataclass(frozen=True, slots=True)
class PathRun:
    """One path that a takeover restores. `recovered_ns`: its first good output, an instant of the run; None: none came.

    `bound_ns`: from the switch until then at most; None: no bound. `counted`: whether the limit applies.
    """

    origin: str
    until: str
    path: tuple[str, ...]
    recovered_ns: int | None
    bound_ns: int | None
    counted: bool


@dataclass(frozen=True, slots=True)
class TakeoverRun:
    """A takeover that came into force. `paths`: what it restores. `noticed_bound_ns`: from the loss to the switch.

    `analysed`: whether the analysis covers it, which is about one that follows the nominal placement, or another that
    did; `reason`: why not. `alone_until_ns`: when something else is lost, which the analysis knows nothing of, or the
    takeover ends. `exceeded`: responses, and times of chains, over their bounds under it.
    """

    decision: Decision
    paths: tuple[PathRun, ...]
    noticed_bound_ns: int | None
    analysed: bool
    reason: str
    alone_until_ns: int = MAX_TIME_NS
    exceeded: tuple[Exceeded, ...] = ()

    @property
    def recovered_ns(self) -> int | None:
        """When the last path to which the limit applies had recovered; None where one had not."""
        counted = [one.recovered_ns for one in self.paths if one.counted]
        known = [at_ns for at_ns in counted if at_ns is not None]
        return max([self.decision.in_force_ns or 0, *known]) if len(known) == len(counted) else None

    @property
    def bound_ns(self) -> int | None:
        """From the loss until the last path has recovered to which the limit applies."""
        bounds = [one.bound_ns for one in self.paths if one.counted]
        known = [bound_ns for bound_ns in bounds if bound_ns is not None]
        if not self.analysed or self.noticed_bound_ns is None or len(known) < len(bounds):
            return None
        return self.noticed_bound_ns + max(known, default=0)


def takeover_runs(
    system: System,
    plan: Plan,
    trace: Trace,
    detection: Detection,
    faults: Sequence[Fault],
    recorded: Collection[str],
    silent: Sequence[int] = (),
    why_none: Callable[[TakeoverResult], str] = lambda _: "",
    known: Known | None = None,
) -> tuple[TakeoverRun, ...]:
    """Every takeover that came into force in a run, in order.

    `faults`: of the run. `recorded`: sensors that the recording holds; paths of others are left out. `silent`: rows
    of jobs that published nothing. `why_none`: why a takeover has no bounds in such a run, "" where it has.
    `known`: bounds by all methods that were computed before.
    """
    made = [
        (one, one.takeover, one.in_force_ns)
        for one in detection.decisions
        if one.takeover is not None and one.in_force_ns is not None and one.in_force_ns <= trace.horizon_ns
    ]
    if not made:
        return ()
    judged = TakeoverJudge(system, plan, known)
    changes_ns = [one.in_force_ns for one in detection.decisions if one.in_force_ns is not None]
    published = published_rows(trace, silent)
    useful = np.ones(len(trace.jobs), np.bool_)
    useful[list(silent)] = False
    missing = {sensor.name for sensor in system.sensors} - set(recorded)
    runs = []
    for decision, takeover, switch_ns in made:
        until_ns = min((at_ns for at_ns in changes_ns if at_ns > switch_ns), default=trace.horizon_ns + 1)
        found = judged.result(takeover, in_force_before(decision))
        if isinstance(found, str):
            runs.append(TakeoverRun(decision, (), None, False, found))
            continue
        paths = tuple(
            PathRun(
                one.origin,
                one.until,
                one.path,
                recovered_ns(trace, _tasks_of(trace, one.path), switch_ns, published),
                one.value_ns,
                one.counted,
            )
            for one in found.recoveries
            if one.origin not in missing
        )
        alone_ns = min(until_ns, _alone_until_ns(decision, faults, switch_ns))
        reason = _not_covered(system, trace, decision, alone_ns) or _third(decision, detection.decisions)
        reason = reason or why_none(found)
        exceeded = () if reason else _exceeded(trace, found, switch_ns, until_ns, alone_ns, useful)
        noticed_ns = found.detection.value_ns + found.decision_ns
        runs.append(TakeoverRun(decision, paths, noticed_ns, not reason, reason, alone_ns, exceeded))
    return tuple(runs)


def _tasks_of(trace: Trace, path: Sequence[str]) -> list[str]:
    """The tasks of a path; one that begins at a task names it once or twice."""
    return list(dict.fromkeys(name for name in path if name in trace.task_names))


def _alone_until_ns(decision: Decision, faults: Sequence[Fault], switch_ns: int) -> int:
    """When the first other thing is lost; those that are back when the takeover comes into force do not count."""
    others = [one for one in faults if str(one) not in decision.losses]
    lasting = [one.time_ns for one in others if one.until_ns is None or one.until_ns > switch_ns]
    return min(lasting, default=MAX_TIME_NS)


def _not_covered(system: System, trace: Trace, decision: Decision, alone_ns: int) -> str:
    if alone_ns <= (decision.in_force_ns or 0):
        return "something else was lost as well"
    if trace.setup is not None and (trace.setup.mode_changes and len(system.modes) > 1):
        return "the mode changed during the run"
    return ""


def _third(decision: Decision, decisions: Sequence[Decision]) -> str:
    """Why a takeover that follows on another is not covered: that one had followed on a third."""
    before = in_force_before(decision)
    if before is None:
        return ""
    earlier = [one for one in decisions if one.noticed_ns < decision.noticed_ns and one.in_force_ns is not None]
    if earlier and in_force_before(earlier[-1]) is None:
        return ""
    return "another takeover was in force: it had followed on a third one"


def in_force_before(decision: Decision) -> Takeover | None:
    """The takeover that a decision changes; None where only the nominal placement was in force, with other weights."""
    before = decision.before
    return before if before is not None and changes_schedule(before) else None


class TakeoverJudge:
    """The analysis of the first mode of a system and of takeovers in it, each made once."""

    def __init__(self, system: System, plan: Plan, known: Known | None = None) -> None:
        from rt_sched.analysis.faults.takeovers import Takeovers
        from rt_sched.analysis.loads.resolve import mode_loads
        from rt_sched.analysis.methods import METHODS
        from rt_sched.analysis.result import Verdict
        from rt_sched.analysis.system.engine import mode_bounds

        known = {} if known is None else known
        mode = mode_loads(system, plan)[0]
        bounds = mode_bounds(mode, METHODS, known)
        in_time = {
            (mode.name, one.task.name): Verdict.SCHEDULABLE
            for one in bounds.values()
            if one.bound is not None and one.bound.value_ns <= one.task.deadline_ns
        }
        self.mode = mode.name
        self.judge = Takeovers(system, {mode.name: mode}, {mode.name: bounds}, in_time, METHODS, known)
        self._found: dict[tuple[tuple[str, ...], ...], TakeoverResult | str] = {}

    def result(self, takeover: Takeover, before: Takeover | None = None) -> TakeoverResult | str:
        """What the analysis says of a takeover, or why it says nothing. `before`: the one that it follows on."""
        from rt_sched.errors import AnalysisNotApplicable

        key = (takeover.losses, () if before is None else before.losses)
        if key not in self._found:
            try:
                if before is None:
                    self._found[key] = self.judge.judge(self.mode, takeover)
                else:
                    self._found[key] = self.judge.judge_on(self.mode, before, takeover)
            except AnalysisNotApplicable as refusal:
                told = "another takeover was in force: " if before is not None else ""
                self._found[key] = f"{told}{refusal}"
        return self._found[key]


def _exceeded(
    trace: Trace, found: TakeoverResult, switch_ns: int, until_ns: int, alone_ns: int, useful: Bools
) -> tuple[Exceeded, ...]:
    """Jobs that end under a takeover and are over both the bound of the switch and that of what follows it; and what
    chains read and put out under it, over the bounds that hold from the switch on.
    """
    from rt_sched.analysis.measured.observed import exceeded_chains, exceeded_in
    from rt_sched.analysis.measured.spans import Span

    values_ns = {
        one.task: max(one.bound.value_ns, one.across.value_ns)
        for one in found.tasks
        if one.bound is not None and one.across is not None
    }
    measured = {
        one.chain: measure_chain(trace, one.path, useful, alone_ns, switch_ns)
        for one in found.chains_across
        if one.path[0] in trace.sensor_names or one.path[0] in trace.task_names
    }
    return (
        *exceeded_in(trace, Span(switch_ns, until_ns, found.mode, found.mode), values_ns),
        *exceeded_chains(found.chains_across, measured, alone_ns),
    )


def path_rows(run: TakeoverRun, fault_ns: int) -> list[dict[str, Any]]:
    """The paths of a takeover as rows of a summary, their times from the fault on."""
    covered = run.analysed and run.noticed_bound_ns is not None
    return [
        {
            "origin": one.origin,
            "until": one.until,
            "recovered_after_ns": None if one.recovered_ns is None else one.recovered_ns - fault_ns,
            "bound_ns": (run.noticed_bound_ns or 0) + one.bound_ns if covered and one.bound_ns is not None else None,
            "limited": one.counted,
        }
        for one in run.paths
    ]


def late_recoveries(run: TakeoverRun) -> list[Exceeded]:
    """Paths that recovered later after the switch than their bounds allow, with nothing else lost by then."""
    from rt_sched.analysis.measured.observed import Exceeded

    switch_ns = run.decision.in_force_ns or 0
    return [
        Exceeded(one.origin, "recovery", 0, one.recovered_ns, one.recovered_ns - switch_ns, one.bound_ns)
        for one in run.paths
        if run.analysed and one.recovered_ns is not None and one.bound_ns is not None
        if one.recovered_ns - switch_ns > one.bound_ns and switch_ns + one.bound_ns < run.alone_until_ns
    ]


def takeover_notes(detection: Detection, runs: Sequence[TakeoverRun] = ()) -> list[str]:
    """What a reader has to know of losses that were noticed in a run, and of the takeovers that answered them."""
    notes = [
        f"at {format_ms(one.noticed_ns)} ms nothing answers the loss of {', '.join(one.losses)}: {one.reason}"
        for one in detection.decisions
        if one.in_force_ns is None
    ]
    notes += [
        f"the takeover at {format_ms(one.decision.in_force_ns)} ms for {', '.join(one.decision.losses)} has no bounds: "
        f"{one.reason}"
        for one in runs
        if not one.analysed
    ]
    if detection.not_watched:
        notes.append(f"not watched, as the recording does not hold them: {', '.join(detection.not_watched)}")
    return notes
