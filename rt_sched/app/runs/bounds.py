"""The analysis beside a run: bounds of the plan that ran, monitors of what they assume, and what exceeded them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rt_sched.app.runs.judged_chains import JudgedChain, measured_between
from rt_sched.app.runs.takeover_runs import TakeoverRun, late_recoveries
from rt_sched.model import Plan, System
from rt_sched.trace.disparity import measure_disparity
from rt_sched.trace.records import Trace
from rt_sched.units import format_ms, format_ns

if TYPE_CHECKING:
    from rt_sched.analysis.measured.after_change import AfterChange
    from rt_sched.analysis.measured.deviation import Deviation
    from rt_sched.analysis.measured.monitors import Monitor
    from rt_sched.analysis.measured.observed import Exceeded
    from rt_sched.analysis.methods import Method
    from rt_sched.analysis.result import DisparityResult
    from rt_sched.analysis.system.engine import Known

#: Assumptions whose breach already makes a run incomplete, in words of its own.
TOLD_OTHERWISE = ("outputs", "partners", "queues")
#: Exceeded bounds that a summary lists.
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class RunBounds:
    """`tasks`, `chains`: rows by name, each with its bounds and where they come from. `monitors`, `exceeded`: rows.

    `covered_until_ns`: until when the responses of jobs are covered, None when they are in the whole run. Bounds of
    chains and disparities are those of the mode in which the run began, until `chains_until_ns`, likewise; those of
    later modes are not told, but what exceeds them is.
    `spans`: rows of the parts of the run that have bounds of their own.
    """

    tasks: dict[str, dict[str, Any]]
    chains: dict[str, dict[str, Any]]
    monitors: list[dict[str, Any]]
    exceeded: list[dict[str, Any]]
    covered_until_ns: int | None
    chains_until_ns: int | None
    spans: list[dict[str, Any]]


def without_bounds(bounds: RunBounds, why: str) -> RunBounds:
    """The monitors alone, of a run for which no bound can be given."""
    none: dict[str, Any] = {"bound_ns": None, "bound_method": None, "bound_missing": why, "bound_terms": []}
    return replace(
        bounds, tasks={name: {**row, **none} for name, row in bounds.tasks.items()}, chains={}, exceeded=[], spans=[]
    )


def run_bounds(
    system: System,
    plan: Plan,
    trace: Trace,
    chains: Sequence[JudgedChain],
    silent: Sequence[int],
    takeovers: Sequence[TakeoverRun] = (),
    methods: Sequence[Method] | None = None,
    further: Sequence[Monitor] = (),
    known: Known | None = None,
) -> RunBounds:
    """Bounds of the mode in which the run began, and the trace beside them; after a change of mode, its jobs beside the
    bounds of the change and of the mode after it.

    `silent`: rows of completed jobs that published nothing. `takeovers`: those of the run. `methods`: None for all.
    `further`: monitors beside those of every trace. `known`: bounds of `methods` that were computed before.
    """
    from rt_sched.analysis.analyze import analyze_mode
    from rt_sched.analysis.loads.resolve import mode_loads
    from rt_sched.analysis.measured.after_change import after_change
    from rt_sched.analysis.measured.monitors import monitor, together
    from rt_sched.analysis.measured.observed import (
        bounds_end_ns,
        exceeded_chains,
        exceeded_disparities,
        exceeded_responses,
    )
    from rt_sched.analysis.measured.spans import spans_of
    from rt_sched.analysis.methods import METHODS
    from rt_sched.app.analyze.rows import terms_rows

    loads = mode_loads(system, plan)
    load = loads[0]
    mode = analyze_mode(load, METHODS if methods is None else methods, search_witnesses=False, known=known)
    until_ns = bounds_end_ns(trace)
    spans = spans_of(trace, loads)
    later = [after_change(trace, span, loads, silent) for span in spans[1:]]
    exceeded = exceeded_responses(trace, mode) + exceeded_disparities(trace, mode)
    exceeded += [one for part in later for one in part.exceeded]
    exceeded += [one for run in takeovers for one in (*run.exceeded, *late_recoveries(run))]
    disparities = {one.task: one for one in mode.disparities}
    for judged in chains:
        limit_ns = until_ns if judged.first_broken_ns is None else min(until_ns, judged.first_broken_ns)
        mine = [one for one in mode.chains if one.chain == judged.chain.name]
        exceeded += exceeded_chains(mine, {judged.chain.name: judged.measurement}, limit_ns)
        for part in later:
            exceeded += _chains_of_part(trace, judged, silent, part)
    return RunBounds(
        tasks={
            one.task: {
                "bound_ns": None if one.bound is None else one.bound.value_ns,
                "bound_method": None if one.bound is None else one.bound.method,
                "bound_missing": one.reason if one.bound is None else None,
                "bound_terms": terms_rows(one.bound),
                **_disparity(disparities.get(one.task), trace),
            }
            for one in mode.tasks
        },
        chains={
            one.chain: {
                f"{name}_bound_ns": None if bound is None else bound.value_ns
                for name, bound in (("reaction", one.reaction), ("latency", one.latency), ("data_age", one.data_age))
            }
            | {"latency_bound_terms": terms_rows(one.latency)}
            for one in mode.chains
        },
        monitors=[
            {
                "assumption": one.key,
                "text": f"{one.text}: {one.relation} what is assumed",
                "holds": one.holds,
                "checked": one.checked,
                "broken": one.broken,
                "unit": one.unit,
                "first": [_deviation(deviation, one) for deviation in one.first],
            }
            for one in together([monitor(load, trace, silent), further, *(part.monitors for part in later)])
        ],
        exceeded=[asdict(one) for one in exceeded[:_MOST_LISTED]],
        covered_until_ns=None if spans[-1].end_ns > trace.horizon_ns else spans[-1].end_ns,
        chains_until_ns=None if until_ns > trace.horizon_ns else until_ns,
        spans=[asdict(span) for span in spans],
    )


def _chains_of_part(trace: Trace, judged: JudgedChain, silent: Sequence[int], part: AfterChange) -> list[Exceeded]:
    """One chain beside the bounds that hold in a part of the run after a change of mode."""
    from rt_sched.analysis.measured.observed import exceeded_chains

    mine = [one for one in part.chains if one.chain == judged.chain.name]
    measured = measured_between(trace, judged, silent, part.span.begin_ns, part.span.end_ns - 1) if mine else None
    return [] if measured is None else exceeded_chains(mine, {judged.chain.name: measured}, part.span.end_ns)


def _deviation(one: Deviation, of: Monitor) -> dict[str, Any]:
    """`value` and `limit`, with the unit in their names where that is ns; `evidence`: both in words."""
    suffix = "_ns" if of.unit == "ns" else ""
    value, limit = (_shown(number, of.unit) for number in (one.value, one.limit))
    return {
        "who": one.who,
        "number": one.number,
        "time_ns": one.time_ns,
        f"value{suffix}": one.value,
        f"limit{suffix}": one.limit,
        "evidence": f"{value}, assumed was {of.relation} {limit}",
    }


def _shown(value: int, unit: str) -> str:
    if unit == "ns":
        return format_ns(value)
    return f"{value} {unit.removesuffix('s') if value == 1 else unit}"


def _disparity(one: DisparityResult | None, trace: Trace) -> dict[str, int | None]:
    """Largest difference of the capture stamps that jobs of a task read, its bound and limit; None for one input."""
    bound = None if one is None else one.bound
    return {
        "disparity_max_ns": None if one is None else measure_disparity(trace, one.task).spread.max_ns,
        "disparity_bound_ns": None if bound is None else bound.value_ns,
        "disparity_limit_ns": None if one is None else one.limit_ns,
    }


def tripped(bounds: RunBounds) -> str | None:
    """The first assumption that did not hold, in words with the job or sample that broke it; None when all held, or
    when outputs are missing, of which the status of the run tells."""
    broken = [one for one in bounds.monitors if not one["holds"] and one["assumption"] not in TOLD_OTHERWISE]
    if not broken:
        return None
    worst = min(broken, key=lambda one: one["first"][0]["time_ns"])
    first = worst["first"][0]
    where = f"{first['who']} #{first['number']} at {format_ms(first['time_ns'])} ms"
    others = f"; {len(broken) - 1} more assumptions broke" if len(broken) > 1 else ""
    return f"assumption {worst['assumption']} broke {worst['broken']} times, first {where}: {first['evidence']}{others}"


def violated(bounds: RunBounds) -> str | None:
    """The first bound that was exceeded, in words; None when there is none, or when an assumption broke."""
    if not bounds.exceeded or not all(one["holds"] for one in bounds.monitors):
        return None
    first = min(bounds.exceeded, key=lambda one: int(one["time_ns"]))
    quantity = first["quantity"].replace("_", " ")
    values = f"{format_ms(first['value_ns'])} ms is over its bound of {format_ms(first['bound_ns'])} ms"
    return f"{first['who']} #{first['number']}: {quantity} of {values} although every assumption held"
