"""By how much a system may change: the margins beside an analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.sensitivity import MILLION, Sensitivity, sensitivity
from rt_sched.model import Plan, System
from rt_sched.units import format_ms, format_ns

Row = Mapping[str, Any]


def margin_rows(
    system: System, plan: Plan, methods: Sequence[str] | None, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """One row a mode; `methods`: names, None for all; `progress` is told how many searches of a mode are done."""
    chosen = tuple(method for method in METHODS if methods is None or method.name in methods)
    return [_row(sensitivity(mode, chosen, progress)) for mode in mode_loads(system, plan)]


def _row(found: Sensitivity) -> dict[str, Any]:
    return {
        "mode": found.mode,
        "not_proven": found.broken,
        "scaling_ppm": found.scaling.ppm,
        "limited_by": found.scaling.limited_by,
        "tasks": [
            {
                "name": one.task,
                "wcet_ns": one.wcet_ns,
                "margin_ns": one.margin_ns,
                "margin_ppm": one.margin_ns * MILLION // one.wcet_ns,
                "limited_by": one.limited_by,
            }
            for one in found.tasks
        ],
        "chains": [
            {
                "name": one.chain,
                "limits": [
                    {
                        "quantity": quantity.value,
                        "bound_ns": bound_ns,
                        "limit_ns": limit_ns,
                        "margin_ns": limit_ns - bound_ns,
                    }
                    for quantity, bound_ns, limit_ns in one.bounds
                ],
                "scaling_ppm": one.scaling_ppm,
                "limited_by": one.limited_by,
            }
            for one in found.chains
        ],
        "frequencies": [
            {
                "pe": one.pe,
                "frequency_hz": one.frequency_hz,
                "smallest_hz": one.smallest_hz,
                "smallest_operating_point_hz": one.point_hz,
                "limited_by": one.limited_by,
            }
            for one in found.frequencies
        ],
        "rates": [
            {
                "name": one.name,
                "sensors": list(one.sensors),
                "rate_hz": str(one.rate_hz),
                "largest_rate_hz": None if one.scaling_ppm is None else str(_faster(one.rate_hz, one.scaling_ppm)),
                "scaling_ppm": one.scaling_ppm,
                "limited_by": one.limited_by,
                "reason": one.reason or None,
            }
            for one in found.rates
        ],
    }


def _faster(rate_hz: Fraction, ppm: int) -> Fraction:
    return rate_hz * Fraction(ppm, MILLION)


def print_margins(rows: Sequence[Row], console: Console) -> None:
    """The tables of all modes, the least margin of each first."""
    for row in rows:
        several = f", mode {row['mode']}" if len(rows) > 1 else ""
        console.print(Text(f"Margins{several}: {_scaling(row)}"))
        if row["not_proven"] is not None:
            console.print(Text(f"margins of tasks, chains and rates: none, the {row['not_proven']} is not proven"))
        for make in (_task_table, _chain_table, _frequency_table, _rate_table):
            table = make(row)
            if table.row_count:
                console.print(table)


def _scaling(row: Row) -> str:
    if row["scaling_ppm"] is None:
        return "none, even the shortest jobs are not proven to keep all deadlines and limits"
    grown = f"all execution times together may grow to {row['scaling_ppm'] / MILLION:.6f} of what they are"
    return f"{grown}, up to the {row['limited_by']}" if row["limited_by"] else grown


def _table(*headers: str, right: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    return table


def _task_table(row: Row) -> Table:
    figures = ("worst case", "may grow by", "that is")
    table = _table("task", *figures, "up to", right=figures)
    for task in sorted(row["tasks"], key=lambda one: int(one["margin_ppm"])):
        table.add_row(
            Text(task["name"]),
            format_ns(task["wcet_ns"]),
            format_ns(task["margin_ns"]),
            _percent(task["margin_ppm"]),
            Text(task["limited_by"] or ""),
        )
    return table


def _chain_table(row: Row) -> Table:
    figures = ("reaction left (ms)", "latency left (ms)", "data age left (ms)", "its tasks may grow by")
    table = _table("chain", *figures, "up to", right=figures)
    for chain in sorted(row["chains"], key=lambda one: int(one["scaling_ppm"])):
        left = {limit["quantity"]: limit["margin_ns"] for limit in chain["limits"]}
        table.add_row(
            Text(chain["name"]),
            *(format_ms(left.get(quantity)) for quantity in ("reaction", "latency", "data_age")),
            _percent(chain["scaling_ppm"] - MILLION),
            Text(chain["limited_by"] or ""),
        )
    return table


def _frequency_table(row: Row) -> Table:
    figures = ("frequency (MHz)", "at least", "operating point")
    table = _table("processing element", *figures, "down to", right=figures)
    for one in row["frequencies"]:
        shown = [_megahertz(one[key]) for key in ("frequency_hz", "smallest_hz", "smallest_operating_point_hz")]
        table.add_row(Text(one["pe"]), *shown, Text(one["limited_by"] or ""))
    return table


def _megahertz(value_hz: int | None) -> str:
    return "–" if value_hz is None else f"{value_hz / MILLION:.3f}"


def _rate_table(row: Row) -> Table:
    figures = ("rate (Hz)", "at most", "that is")
    table = _table("sensor or trigger", *figures, "up to", right=figures)
    for one in row["rates"]:
        rate_hz, ppm = Fraction(one["rate_hz"]), one["scaling_ppm"]
        most = "–" if ppm is None else f"{float(_faster(rate_hz, ppm)):.3f}"
        share = "–" if ppm is None else f"+{_percent(ppm - MILLION)}"
        table.add_row(Text(one["name"]), f"{float(rate_hz):.3f}", most, share, Text(one["limited_by"] or one["reason"]))
    return table


def _percent(ppm: int) -> str:
    return f"{100 * ppm / MILLION:.1f} %"
