"""The chains of a schedulability report: bounds step by step, who holds them up, and what runs measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.app.report.bounds import delays_of, share_ppm

Row = dict[str, Any]

QUANTITIES = ("reaction", "latency", "data_age")
#: Figures of a chain in the summary of a run: jobs at its end, and what became of the samples at its begin.
_COUNTS = ("outputs", "samples", "lost", "unreflected", "repeated")


def chain_rows(rows: Sequence[Row], tasks: Sequence[Row], runs: Sequence[Row]) -> list[Row]:
    """The chains of an analysis document with shares of limits, delays on the way and the maxima of runs.

    `tasks`: those of the report; `runs`: from `report_evidence.evidence`.
    """
    by_task = {(task["mode"], task["name"]): task for task in tasks}
    found = []
    for row in rows:
        seen = [(run["name"], one) for run in runs for one in run["chains"] if one["name"] == row["name"]]
        found.append(
            {
                **row,
                **{
                    f"{quantity}_share_ppm": share_ppm(row[f"{quantity}_bound_ns"], row[f"{quantity}_limit_ns"])
                    for quantity in QUANTITIES
                },
                **{
                    f"{quantity}_margin_ns": _margin_ns(row[f"{quantity}_bound_ns"], row[f"{quantity}_limit_ns"])
                    for quantity in QUANTITIES
                },
                "delays": _delays(row, by_task),
                "observed": [
                    {
                        "run": name,
                        **{f"{quantity}_max_ns": one.get(f"{quantity}_max_ns") for quantity in QUANTITIES},
                        **{count: one.get(count) for count in _COUNTS},
                    }
                    for name, one in seen
                ],
                **{
                    f"{quantity}_observed_ns": max(
                        (one[f"{quantity}_max_ns"] for _, one in seen if one.get(f"{quantity}_max_ns") is not None),
                        default=None,
                    )
                    for quantity in QUANTITIES
                },
            }
        )
    return found


def _margin_ns(bound_ns: int | None, limit_ns: int | None) -> int | None:
    return None if bound_ns is None or limit_ns is None else limit_ns - bound_ns


def _delays(row: Mapping[str, Any], by_task: Mapping[tuple[str, str], Row]) -> list[Row]:
    """What delays the chain's own tasks by others, the longest first."""
    found = [
        {"task": name, **delay}
        for name in row["path"]
        if (row["mode"], name) in by_task
        for delay in delays_of(by_task[row["mode"], name])
    ]
    return sorted(found, key=lambda one: -int(one["value_ns"]))


def tightest(chains: Sequence[Row]) -> Row | None:
    """The limit of any chain that its bound comes nearest to, or exceeds most; None where no chain has both."""
    found = [
        {
            "chain": row["name"],
            "mode": row["mode"],
            "quantity": quantity,
            "bound_ns": row[f"{quantity}_bound_ns"],
            "limit_ns": row[f"{quantity}_limit_ns"],
            "margin_ns": row[f"{quantity}_margin_ns"],
            "share_ppm": row[f"{quantity}_share_ppm"],
        }
        for row in chains
        for quantity in QUANTITIES
        if row[f"{quantity}_share_ppm"] is not None
    ]
    return max(found, key=lambda one: int(one["share_ppm"]), default=None)
