"""Times above their bounds: the run in which the largest one came is looked at once more, with every record.

Whether an assumption broke in that run decides between a bound that does not cover it and a defect of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rt_sched.app.runs.bounds import tripped, violated
from rt_sched.app.simulate.beginning import Beginning, beside, traced
from rt_sched.app.simulate.runs import Case
from rt_sched.sim.statistics import Counts, Distribution
from rt_sched.units import NS_PER_S, format_ms

#: A run is traced for at most so many jobs.
_MOST_JOBS = 2_000_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """`exceeded`: rows of times above bounds. `violated`, `tripped`: what a run with one shows, in words."""

    exceeded: list[dict[str, Any]] = field(default_factory=list)
    violated: str | None = None
    tripped: str | None = None


def evidence_of(case: Case, counts: Counts, beginning: Beginning) -> Evidence:
    """What exceeded a bound, and why; where nothing did, whether an assumption broke in the beginning."""
    exceeded = [_row(case, *one) for one in _largest(case, counts, beginning) if one[2].exceeded]
    if not exceeded:
        return Evidence(tripped=tripped(beginning.bounds))
    first = min(exceeded, key=lambda row: (row["run"], row["time_ns"]))
    until_ns = min(case.horizon_ns, first["time_ns"] + first["value_ns"] + 1)
    per_second = sum(NS_PER_S / max(task.separation_ns, 1) for task in case.system.tasks)
    if until_ns / NS_PER_S * per_second > _MOST_JOBS:
        return Evidence(exceeded, f"{_words(first)}; too far into the run to look at what it assumes", None)
    _, bounds = beside(case, first["run"], traced(case, first["run"], until_ns))
    broken = tripped(bounds)
    return Evidence(exceeded, None if broken else violated(bounds) or _words(first), broken)


def _largest(case: Case, counts: Counts, beginning: Beginning) -> Iterator[tuple[str, str, Distribution, int | None]]:
    for task, one in zip(case.system.tasks, counts.tasks, strict=True):
        yield task.name, "response", one.response, beginning.bounds.tasks.get(task.name, {}).get("bound_ns")
    for judged, chain in zip(beginning.chains, counts.chains, strict=True):
        known = beginning.bounds.chains.get(judged.chain.name, {})
        for quantity in ("reaction", "latency", "data_age"):
            yield judged.chain.name, quantity, getattr(chain, quantity), known.get(f"{quantity}_bound_ns")


def _row(case: Case, who: str, quantity: str, seen: Distribution, bound_ns: int | None) -> dict[str, Any]:
    at = seen.at
    return {
        "who": who,
        "quantity": quantity,
        "times": seen.exceeded,
        "value_ns": seen.max_ns,
        "bound_ns": bound_ns,
        "run": None if at is None else at.run,
        "seed": None if at is None else case.seed(at.run),
        "number": None if at is None else at.number,
        "time_ns": None if at is None else at.time_ns,
    }


def _words(row: dict[str, Any]) -> str:
    quantity = row["quantity"].replace("_", " ")
    values = f"{format_ms(row['value_ns'])} ms is over its bound of {format_ms(row['bound_ns'])} ms"
    return f"{row['who']} #{row['number']} of the run with seed {row['seed']}: {quantity} of {values}"
