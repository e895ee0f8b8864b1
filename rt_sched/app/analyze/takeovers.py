"""Takeovers in the section `faults` of an analysis, as rows for programs and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rt_sched.analysis.faults.result import TakeoverCase, TakeoverTask
from rt_sched.analysis.faults.takeover_recovery import Recovery
from rt_sched.analysis.result import Bound, ChainResult, Term
from rt_sched.app.analyze.rows import chain_bounds, terms_rows
from rt_sched.units import format_ns

Row = dict[str, Any]


def takeover_row(one: TakeoverCase | None) -> Row | None:
    """A takeover with the bounds of every task and the recovery of every path; None where there is none."""
    if one is None:
        return None
    takeover = one.takeover
    return {
        "losses": list(takeover.losses),
        "recovered_ns": one.recovered_ns,
        "moves": [{"task": task.task, "processor": task.processor} for task in one.tasks if task.moved],
        "dropped": list(takeover.dropped),
        "redone": list(takeover.redone),
        "at_once": [{"task": name, "delay_ns": delay_ns} for name, delay_ns in takeover.at_once],
        "variants": [{"task": name, "variant": variant} for name, variant in takeover.variants],
        "weights": [{"sensor": name, "factor": float(factor)} for name, factor in takeover.weights],
        "tasks": [_task(task) for task in one.tasks],
        "recoveries": [_recovery(path) for path in one.recoveries],
        "chains_across": [_chain(chain) for chain in one.chains_across],
    }


def _chain(one: ChainResult) -> Row:
    """A chain with its bounds from the switch on; `reason`: why it has none."""
    bounds = {f"{quantity.value}_bound_ns": _value_ns(bound) for quantity, bound in chain_bounds(one)}
    missing = all(bound is None for bound in bounds.values())
    return {"name": one.chain, **bounds, "reason": one.reason if missing else None}


def _task(one: TakeoverTask) -> Row:
    return {
        "name": one.task,
        "processor": one.processor,
        "moved": one.moved,
        "deadline_ns": one.deadline_ns,
        "response_bound_ns": _value_ns(one.bound),
        "across_bound_ns": _value_ns(one.across),
        "across_terms": terms_rows(one.across),
        "reason": one.late or one.late_across or None,
    }


def _value_ns(bound: Bound | None) -> int | None:
    return None if bound is None else bound.value_ns


def _recovery(one: Recovery) -> Row:
    return {
        "origin": one.origin,
        "until": one.until,
        "path": list(one.path),
        "recovered_ns": one.value_ns,
        "terms": None if one.terms is None else [_term(term) for term in one.terms],
        "counted": one.counted,
        "reason": one.reason or None,
    }


def _term(term: Term) -> Row:
    return {"kind": term.kind.value, "value_ns": term.value_ns, "by": term.by}


def takeover_lines(row: Mapping[str, Any] | None) -> Iterator[str]:
    """What a takeover does and how soon each path recovers."""
    if row is None:
        return
    if row["moves"]:
        yield "moved: " + ", ".join(f"{one['task']} to {one['processor']}" for one in row["moves"])
    if row["redone"]:
        yield f"kept messages are processed again by {', '.join(row['redone'])}"
    for one in row["at_once"]:
        yield f"{one['task']} runs once more {format_ns(one['delay_ns'])} after the switch"
    if row["dropped"]:
        yield f"dropped: {', '.join(row['dropped'])}"
    if row["variants"]:
        yield "cheaper: " + ", ".join(f"{one['task']} as {one['variant']}" for one in row["variants"])
    if row["weights"]:
        yield "weights: " + ", ".join(f"{one['sensor']} x {one['factor']:.2f}" for one in row["weights"])
    for one in row["recoveries"]:
        took = one["reason"] if one["recovered_ns"] is None else f"{format_ns(one['recovered_ns'])} after the switch"
        limited = "" if one["counted"] else " (reported, not limited)"
        yield f"{one['origin']} -> {one['until']}: {took}{limited}"
    for one in row["chains_across"]:
        known = [(what, one[f"{what}_bound_ns"]) for what in ("reaction", "latency", "data_age")]
        bounds = [f"{what.replace('_', ' ')} {format_ns(value)}" for what, value in known if value is not None]
        yield f"chain {one['name']}, from the switch on: {', '.join(bounds) or one['reason']}"
