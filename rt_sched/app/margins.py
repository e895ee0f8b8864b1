"""How much longer jobs may execute: the margins beside an analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.sensitivity import MILLION, Sensitivity, sensitivity
from rt_sched.model import Plan, System
from rt_sched.units import format_ns


def margin_rows(
    system: System, plan: Plan, methods: Sequence[str] | None, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """One row a mode; `methods`: names, None for all; `progress` is told how many searches of a mode are done."""
    chosen = tuple(method for method in METHODS if methods is None or method.name in methods)
    return [_row(sensitivity(mode, chosen, progress)) for mode in mode_loads(system, plan)]


def _row(found: Sensitivity) -> dict[str, Any]:
    return {
        "mode": found.mode,
        "scaling_ppm": found.scaling_ppm,
        "tasks": [
            {
                "name": one.task,
                "wcet_ns": one.wcet_ns,
                "margin_ns": one.margin_ns,
                "margin_ppm": _ppm(one.margin_ns, one.wcet_ns),
            }
            for one in found.tasks
        ],
    }


def _ppm(margin_ns: int, wcet_ns: int) -> int:
    return margin_ns * MILLION // wcet_ns


def print_margins(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """The tables of all modes, the least margin of each first."""
    for row in rows:
        several = f", mode {row['mode']}" if len(rows) > 1 else ""
        if row["scaling_ppm"] is None:
            console.print(Text(f"Margins{several}: none, even the shortest jobs are not proven to meet all deadlines"))
            continue
        scaling = f"all execution times together may grow to {row['scaling_ppm'] / MILLION:.6f} of what they are"
        console.print(Text(f"Margins{several}: {scaling}"))
        if not row["tasks"]:
            continue
        table = Table(box=None, pad_edge=False)
        table.add_column("task")
        for header in ("worst case", "may grow by", "that is"):
            table.add_column(header, justify="right")
        for task in sorted(row["tasks"], key=lambda one: int(one["margin_ppm"])):
            share = f"{100 * task['margin_ppm'] / MILLION:.1f} %"
            table.add_row(Text(task["name"]), format_ns(task["wcet_ns"]), format_ns(task["margin_ns"]), share)
        console.print(table)
