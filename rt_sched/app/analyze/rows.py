"""Parts of results as the analysis document writes them, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.analysis.result import Bound, ChainResult, Misses, Quantity, Refusal, Witness


def refusal_rows(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """Methods that do not apply; `elsewhere`: they are there for something that the processor does not have."""
    return [
        {"method": one.method, "reason": one.reason, "instead": one.instead, "elsewhere": one.elsewhere}
        for one in refusals
    ]


def terms_rows(bound: Bound | None) -> list[dict[str, Any]]:
    """The terms of a bound; their `value_ns` add up to it."""
    return [
        {
            "kind": term.kind.value,
            "value_ns": term.value_ns,
            "by": term.by,
            "jobs": term.jobs,
            "each_ns": term.each_ns,
        }
        for term in (() if bound is None else bound.terms)
    ]


def reads_rows(bound: Bound | None) -> list[dict[str, Any]]:
    """Where known phases were used: the instants at which each reader on a clock reads in the worst case."""
    return [
        {
            "reader": read.reader,
            "rate_hz": float(read.rate_hz),
            "first_ns": read.first_ns,
            "number": read.number,
            "at_ns": read.at_ns,
        }
        for read in (() if bound is None else bound.reads)
    ]


def witness_row(witness: Witness | None) -> dict[str, Any] | None:
    """The run that misses."""
    if witness is None:
        return None
    return {
        "how": witness.how,
        "job": witness.job,
        "arrival_ns": witness.arrival_ns,
        "deadline_ns": witness.deadline_ns,
        "finish_ns": witness.finish_ns,
        "horizon_ns": witness.horizon_ns,
    }


def misses_row(one: Misses) -> dict[str, Any]:
    """How many of any `of` consecutive jobs may miss their deadline, at most, and how many are allowed to."""
    return {
        "at_most": one.at_most,
        "of": one.k,
        "allowed": one.allowed,
        "verdict": one.verdict.value,
        "reason": one.reason,
    }


def chain_bounds(one: ChainResult) -> tuple[tuple[Quantity, Bound | None], ...]:
    """The bounds of a chain by quantity."""
    return (
        (Quantity.REACTION, one.reaction),
        (Quantity.LATENCY, one.latency),
        (Quantity.DATA_AGE, one.data_age),
    )


def chain_limit_columns(one: ChainResult) -> dict[str, Any]:
    """The bound and the limit of every quantity of a chain."""
    limits = dict(one.limits_ns)
    columns: dict[str, Any] = {}
    for quantity, bound in chain_bounds(one):
        columns[f"{quantity.value}_bound_ns"] = None if bound is None else bound.value_ns
        columns[f"{quantity.value}_limit_ns"] = limits.get(quantity)
    return columns
