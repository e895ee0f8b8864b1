"""`explain` of a chain: what each part of its path adds to its bounds, as one document and as text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from rt_sched.analysis.assumptions import assumptions_of
from rt_sched.analysis.chains.bounds import chain_results, davare_bound, sporadic_bound
from rt_sched.analysis.chains.delays import Unbounded
from rt_sched.analysis.chains.segments import Segment, segments_of
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Bound, Quantity
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.app.analyze.rows import chain_bounds, reads_rows, terms_rows
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import System
from rt_sched.units import NS_PER_S, format_ns

CHAIN_EXPLANATION_SCHEMA = "rt-sched/chain-explanation/1"

#: What a term of a kind is, for people; {by}: the task, sensor or link.
_WORDS = {
    "sensor": "from the capture of {by} to its arrival",
    "response": "response of {by}",
    "transfer": "on the link {by}",
    "partner": "{by} waits for what its message is paired with",
    "sampling": "until {by} looks next",
    "release_jitter": "jobs of {by} come or are released late",
    "clock": "the clocks of the first and the last task may be apart",
}
_ABOUT = {
    "reaction": "from an event, right after a look, to the first output that it lies behind",
    "latency": "from a look to the first output that it, or a later one, lies behind",
    "data_age": "from a look to the last output that it lies behind",
}


def chain_explanation(system: System, mode: ModeLoad, name: str) -> dict[str, Any]:
    """The document on chain `name` in a mode; raises AnalysisNotApplicable where a task of it does not exist there."""
    chain = next(one for one in system.chains if one.name == name)
    bounds = mode_bounds(mode, METHODS)
    result = next((one for one in chain_results(mode, bounds) if one.chain == name), None)
    if result is None:
        here = {row.name for row, active in zip(mode.setup.tasks, mode.active, strict=True) if not active}
        absent = ", ".join(task for task in chain.path if task in here)
        raise AnalysisNotApplicable(
            f"chain {name} does not exist in mode {mode.name}, which lacks {absent}; see --mode"
        )
    limits = dict(result.limits_ns)
    try:
        segments = segments_of(mode, bounds, chain.path, unlimited=True)
    except Unbounded:
        segments = []
    return {
        "schema": CHAIN_EXPLANATION_SCHEMA,
        "system": system.name,
        "chain": name,
        "mode": mode.name,
        "path": list(chain.path),
        "verdict": result.verdict.value,
        "reason": result.reason,
        "parts": [_part(one) for one in segments],
        "quantities": {
            quantity.value: _quantity(quantity, bound, limits.get(quantity), segments)
            for quantity, bound in chain_bounds(result)
        },
        "tasks": [_task(mode, one) for _, one in sorted(bounds.items()) if one.task.name in chain.path],
        "assumptions": [
            {"key": one.key, "text": one.text, "check": one.check}
            for one in assumptions_of(system)
            if set(one.tasks).intersection(chain.path)
        ],
    }


def _part(one: Segment) -> dict[str, Any]:
    """A part of the path: from a look on its own clock or activation until the next part sees what was found."""
    grid = one.grid
    return {
        "looks": one.name,
        "gap_ns": None if one.unlimited else one.gap_ns,
        "phase": None
        if grid is None
        else {
            "device": grid.device,
            "first_ns": grid.first_ns,
            "rate_hz": f"{grid.rate_hz.numerator}/{grid.rate_hz.denominator}",
            "clock_error_ns": grid.error_ns,
        },
        "repeats": one.repeats,
        "delay_ns": one.delay_ns,
        "terms": _rows(one.terms),
        "delay_to_next_ns": one.to_next_ns,
        "terms_to_next": _rows(one.terms_to_next),
    }


def _rows(terms: Any) -> list[dict[str, Any]]:
    return [{"kind": term.kind.value, "by": term.by, "value_ns": term.value_ns} for term in terms]


def _quantity(quantity: Quantity, bound: Bound | None, limit_ns: int | None, segments: list[Segment]) -> dict[str, Any]:
    """A bound with its steps, and what it would be with less knowledge: of phases, and of priorities."""
    row: dict[str, Any] = {
        "bound_ns": None,
        "limit_ns": limit_ns,
        "method": None,
        "source": None,
        "steps": [],
        "reads": [],
    }
    if bound is None:
        return row
    totals = accumulate(term.value_ns for term in bound.terms)
    return row | {
        "bound_ns": bound.value_ns,
        "method": bound.method,
        "source": bound.source,
        "steps": [step | {"total_ns": total} for step, total in zip(terms_rows(bound), totals, strict=True)],
        "reads": reads_rows(bound),
        "without_phases_ns": sporadic_bound(segments, quantity).value_ns,
        "plain_sum_ns": davare_bound(segments, quantity).value_ns,
    }


def _task(mode: ModeLoad, one: TaskBound) -> dict[str, Any]:
    row = mode.setup.tasks[one.task.index]
    return {
        "name": one.task.name,
        "processor": mode.setup.processors[row.processor].name,
        "response_bound_ns": None if one.bound is None else one.bound.value_ns,
        "method": None if one.bound is None else one.bound.method,
    }


def chain_text(document: Mapping[str, Any]) -> str:
    """The document for people, one step a line."""
    lines = [f"{document['chain']}, mode {document['mode']}: {' -> '.join(document['path'])}"]
    lines += ["", "1. Where it looks at its input by itself, and hands it on at once in between"]
    for part in document["parts"]:
        lines += _part_lines(part, last=part is document["parts"][-1])
    if not document["parts"]:
        lines.append(f"   it has no bound: {document['reason']}")
    for number, (name, one) in enumerate(document["quantities"].items(), start=2):
        lines += ["", f"{number}. {name.replace('_', ' ').capitalize()}: {_ABOUT[name]}"]
        lines += _quantity_lines(one, back=name == Quantity.DATA_AGE.value)
    lines += ["", "5. The verdict", f"   {document['verdict']}: {document['reason']}"]
    for task in document["tasks"]:
        if task["response_bound_ns"] is not None:
            bound = f"at most {format_ns(task['response_bound_ns'])} ({task['method']})"
            lines.append(f"   response of {task['name']} on {task['processor']}: {bound}; explain {task['name']}")
    lines += [f"   assumes {one['key']}: {one['text']}" for one in document["assumptions"]]
    return "\n".join(lines)


def _part_lines(part: Mapping[str, Any], *, last: bool) -> list[str]:
    gap = "at no largest distance" if part["gap_ns"] is None else f"at most {format_ns(part['gap_ns'])} apart"
    phase = part["phase"]
    known = ""
    if phase is not None:
        period_ns = round(NS_PER_S / _rate(phase["rate_hz"]))
        known = (
            f", at {format_ns(phase['first_ns'])} and every {format_ns(period_ns)} of the clock of {phase['device']}"
        )
    lines = [f"   {part['looks']} looks {gap}{known}"]
    delay_ns, terms = (part["delay_ns"], part["terms"]) if last else (part["delay_to_next_ns"], part["terms_to_next"])
    sums = " + ".join(f"{_words(term)} {format_ns(term['value_ns'])}" for term in terms) or "nothing"
    lines.append(
        f"      then {'the output' if last else 'seen by the next'} after at most {format_ns(delay_ns)}: {sums}"
    )
    if not last and part["delay_to_next_ns"] < part["delay_ns"]:
        less = format_ns(part["delay_ns"] - part["delay_to_next_ns"])
        lines.append(f"      {less} less than its responses: the next looks only when no job before it is pending")
    if part["repeats"]:
        lines.append("      other inputs make it publish what it looked at last once more")
    return lines


def _rate(text: str) -> float:
    numerator, denominator = text.split("/")
    return int(numerator) / int(denominator)


def _words(term: Mapping[str, Any], *, back: bool = False) -> str:
    """What a term is; `back`: on the way back from an output, as for data age."""
    words = "for which {by} finds nothing newer" if back and term["kind"] == "sampling" else _WORDS[term["kind"]]
    return words.format(by=term["by"])


def _quantity_lines(one: Mapping[str, Any], *, back: bool) -> list[str]:
    limit = "no limit" if one["limit_ns"] is None else f"limit {format_ns(one['limit_ns'])}"
    if one["bound_ns"] is None:
        return [f"   no bound; {limit}"]
    lines = []
    for step in one["steps"]:
        count = f" = {step['jobs']} x {format_ns(step['each_ns'])}" if step["jobs"] is not None else ""
        lines.append(
            f"   {format_ns(step['value_ns'])}{count}  {_words(step, back=back)}; {format_ns(step['total_ns'])} so far"
        )
    sign = "" if one["limit_ns"] is None else " <=" if one["bound_ns"] <= one["limit_ns"] else " >"
    lines.append(f"   together {format_ns(one['bound_ns'])}{sign or ';'} {limit}")
    lines.append(f"   method {one['method']}, source {one['source']}")
    if one["reads"]:
        told = ", ".join(f"{read['reader']} at {format_ns(read['at_ns'])}" for read in one["reads"])
        lines.append(f"   the waits are longest where they look at these instants: {told}")
    if one["without_phases_ns"] > one["bound_ns"]:
        lines.append(f"   without knowledge of phases it would be {format_ns(one['without_phases_ns'])}")
    if one["plain_sum_ns"] > one["without_phases_ns"]:
        lines.append(f"   and without knowledge of priorities {format_ns(one['plain_sum_ns'])}")
    return lines
