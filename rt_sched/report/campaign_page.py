"""A campaign of faults as a page that needs nothing else: what was noticed, tolerated and missed, by kind of fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.report.spread_figure import detection_figure
from rt_sched.report.templating import environment
from rt_sched.report.text import count, percent, plural, printable, time_ms

#: Verdicts in the order of the bar, with what each means and how it is coloured.
VERDICTS = (
    ("detected", "noticed within the declared worst case", "good"),
    ("tolerated", "unnoticed, and every command as without it", "fill"),
    ("unknown", "not noticed, and nothing tells whether commands changed", "caution"),
    ("late", "noticed later than declared", "bad"),
    ("silent", "unnoticed, and it changed commands", "bad"),
)
_SAYS = {
    "ok": ("good", "✓", "Every fault was detected in time, or changed no command"),
    "silent": ("bad", "✕", "A fault was silent, or noticed too late"),
    "unknown": ("caution", "?", "A fault was noticed by nobody, and nothing tells whether commands changed"),
}


def campaign_page(document: Mapping[str, Any], lead: str) -> str:
    """The page, the same for the same document of `rt-sched faults campaign`. Everything in it is shown as text.

    `lead`: what was done, in a sentence. Rows of a run with a script are shown as well.
    """
    runs = document["runs"]
    counts = {name: sum(kind[name] for kind in document["kinds"]) for name, _, _ in VERDICTS}
    tone, sign, says = _SAYS[document["status"]]
    template = environment(ms=time_ms, printable=printable).get_template("campaign.html.j2")
    page = template.render(
        campaign=document,
        tone=tone,
        sign=sign,
        says=says,
        lead=lead,
        runs=plural(len(runs), "fault"),
        bar=[
            {
                "name": name,
                "means": means,
                "tone": colour,
                "count": counts[name],
                "share": counts[name] / len(runs),
                "percent": percent(counts[name] / len(runs)),
            }
            for name, means, colour in VERDICTS
            if runs
        ],
        verdicts=VERDICTS,
        failed=[_failed(row) for row in runs if row["verdict"] in ("late", "silent", "unknown")],
        listed=[_listed(row) for row in runs],
        figures={kind["kind"]: detection_figure(kind, kind["kind"]) for kind in document["kinds"]},
        reacted=any(kind["reacted_ns"] for kind in document["kinds"]),
        count=count,
    )
    return printable(page)


def _failed(row: Mapping[str, Any]) -> dict[str, Any]:
    drawn = ", ".join(f"{key} {value}" for key, value in row.get("drawn", {}).items())
    return {**_listed(row), "drawn": drawn or row.get("reason") or ""}


def _listed(row: Mapping[str, Any]) -> dict[str, Any]:
    keys: Sequence[str] = ("name", "kind", "target", "begin_ns", "verdict", "detected_by", "detected_after_ns")
    return {**{key: row[key] for key in keys}, "worst_case_ns": row["worst_case_ns"]}
