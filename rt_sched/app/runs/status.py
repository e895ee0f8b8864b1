"""The status of a run: the worst thing that can be said of it, in one sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rt_sched.units import format_ms


@dataclass(frozen=True, slots=True)
class LateJobs:
    """Deadline misses of one task. `limit`: at most so many of any so many consecutive jobs may miss, None for none.

    `most`: of so many consecutive jobs, how many did; `first_over`: number of the job that broke the limit, if any.
    """

    task: str
    jobs: int
    limit: tuple[int, int] | None = None
    most: int = 0
    first_over: int | None = None

    @property
    def allowed(self) -> bool:
        """Whether the task may miss, and did not do so more often."""
        return self.limit is not None and self.first_over is None


@dataclass(frozen=True, slots=True)
class Losses:
    """What is missing from a run. What came after a fault was injected is not counted, the fault may be its cause.

    `damage`: of the recording, None when it is whole. `messages`: recorded ones that were dropped or not decoded, ever.
    `quarantined`: recorded ones that were not replayed, as their stamps jump or step back.
    `refused_jobs`: completed jobs without output, as a stage refused its input. `dropped_outputs`: of jobs, on edges.
    """

    damage: str | None = None
    messages: int = 0
    quarantined: int = 0
    refused_jobs: int = 0
    dropped_outputs: int = 0


def run_status(
    *,
    late: Sequence[LateJobs],
    chains: Sequence[Mapping[str, Any]],
    faults: Sequence[Mapping[str, Any]],
    trace_check: Mapping[str, Any],
    violated: str | None,
    tripped: str | None,
    losses: Losses,
    arbiter_states: Collection[str],
    after_recording_ns: int,
) -> tuple[str, str]:
    """Status and reason. `late`: of the tasks that missed deadlines. `chains`, `faults`: rows of the summary.

    `trace_check`: what the independent checker found. `violated`, `tripped`: a bound that was exceeded, an assumption
    that broke, in words. `arbiter_states`: those that it was in at any time.
    `after_recording_ns`: from the last arrival of the recording to the end of the run, when no chain can react.
    """
    broken = _broken_rules(trace_check)
    if broken:
        return "failed", broken
    if violated:
        return "bound_violated", violated
    missed = _missed(late) or _over_limit(chains) or _stalled(chains, after_recording_ns) or _not_recovered(faults)
    missed = missed or _nobody_commands(arbiter_states)
    if missed:
        return "deadline_miss", missed
    lacking = _lacking(losses)
    if lacking:
        return "incomplete", f"{lacking}; {tripped}" if tripped else lacking
    if tripped:
        return "assumption_violated", tripped
    lacking = _silent(chains, after_recording_ns) or _minimal_risk(arbiter_states, faults)
    if lacking:
        return "incomplete", lacking
    return "ok", _well(late)


def _broken_rules(trace_check: Mapping[str, Any]) -> str | None:
    if not trace_check["violations"]:
        return None
    first, count = trace_check["violations"][0], sum(trace_check["violation_counts"].values())
    where = f"{first['where']} at {format_ms(first['time_ns'])} ms: {first['expected']}"
    return f"a defect of rt-sched: its trace breaks the scheduling rules {count} times, first {where}"


def _missed(late: Sequence[LateJobs]) -> str | None:
    over = [one for one in late if not one.allowed]
    hard = [one for one in over if one.limit is None]
    if hard:
        worst = max(hard, key=lambda one: one.jobs)
        count = sum(one.jobs for one in hard)
        return f"{count} jobs missed their deadline, {worst.jobs} of them of task {worst.task}"
    for one in over:
        if one.limit is not None:
            allowed, consecutive = one.limit
            most = f"{one.most} of {consecutive} consecutive jobs missed their deadline"
            return f"task {one.task}: {most}, and {allowed} may; first over that is job {one.first_over}"
    return None


def _well(late: Sequence[LateJobs]) -> str:
    jobs = sum(one.jobs for one in late)
    if not jobs:
        return "every mapped message was delivered, every deadline and chain limit was met"
    return f"every mapped message was delivered, every chain limit was met, and {jobs} misses are within miss limits"


def _over_limit(chains: Sequence[Mapping[str, Any]]) -> str | None:
    for kind in ("reaction", "latency", "data_age"):
        for chain in chains:
            value, limit = chain[f"{kind}_max_ns"], chain[f"{kind}_limit_ns"]
            if value is not None and limit is not None and value > limit:
                limits = f"{format_ms(value)} ms is over its limit of {format_ms(limit)} ms"
                return f"chain {chain['name']}: {kind.replace('_', ' ')} {limits}"
    return None


def _waited_ns(chain: Mapping[str, Any], after_recording_ns: int) -> int | None:
    """How long, at the end of the recording, an event had waited for the chain, where that is over its limit."""
    waited_ns, limit_ns = chain["open_reaction_ns"], chain["reaction_limit_ns"]
    if waited_ns is None or limit_ns is None or chain["judged_until_ns"] is not None:
        return None
    waited_ns -= after_recording_ns
    return int(waited_ns) if waited_ns > limit_ns else None


def _stalled(chains: Sequence[Mapping[str, Any]], after_recording_ns: int) -> str | None:
    """A chain that stopped although its sensor went on: a reaction that is over the limit and has not even ended."""
    for chain in chains:
        waited_ns = _waited_ns(chain, after_recording_ns)
        if waited_ns is not None and chain["unreflected"]:
            limit = format_ms(chain["reaction_limit_ns"])
            return f"chain {chain['name']}: no reaction for the last {format_ms(waited_ns)} ms; the limit is {limit} ms"
    return None


def _not_recovered(faults: Sequence[Mapping[str, Any]]) -> str | None:
    for fault in faults:
        recovered, limit = fault["recovered_after_ns"], fault["recovery_limit_ns"]
        if limit is not None and (recovered is None or recovered > limit):
            how = "not recovered" if recovered is None else f"recovered after {format_ms(recovered)} ms"
            return f"fault {fault['fault']}: {how}; the limit is {format_ms(limit)} ms"
    return None


def _lacking(losses: Losses) -> str | None:
    if losses.damage:
        return f"the recording is damaged: {losses.damage}"
    if losses.messages:
        more = f", {losses.quarantined} were quarantined" if losses.quarantined else ""
        return f"{losses.messages} recorded messages were dropped or could not be decoded{more}"
    if losses.quarantined:
        return f"{losses.quarantined} recorded messages were quarantined, as their stamps jump or step back"
    if losses.dropped_outputs:
        return f"{losses.dropped_outputs} messages between tasks were dropped"
    if losses.refused_jobs:
        return f"{losses.refused_jobs} jobs published nothing, as a stage refused its input"
    return None


def _nobody_commands(arbiter_states: Collection[str]) -> str | None:
    return "no command any more: the arbiter was lost with its device" if "SILENT" in arbiter_states else None


def _minimal_risk(arbiter_states: Collection[str], faults: Sequence[Mapping[str, Any]]) -> str | None:
    if "MINIMAL_RISK" in arbiter_states and not faults:
        return "the arbiter went to MINIMAL_RISK without an injected fault: neither path had a command it could trust"
    return None


def _silent(chains: Sequence[Mapping[str, Any]], after_recording_ns: int) -> str | None:
    without_output = [c["name"] for c in chains if not c["outputs"] and c["judged_until_ns"] is None]
    if without_output:
        return f"no output on chain {', '.join(without_output)}"
    for chain in chains:
        waited_ns = _waited_ns(chain, after_recording_ns)
        if waited_ns is not None:
            silence = f"{chain['path'][0]} delivered nothing in the last {format_ms(waited_ns)} ms"
            return f"{silence}, more than chain {chain['name']} allows"
    return None
