"""What differs between two analysis documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.analysis.result import Verdict
from rt_sched.units import format_ns

Row = Mapping[str, Any]

#: What is told of each part of a document, as far as the document has it, and the word for one of its rows.
_TOLD = {
    "modes": ("mode", ("verdict",)),
    "tasks": ("task", ("response_bound_ns", "deadline_ns", "verdict", "pe", "method")),
    "chains": (
        "chain",
        (
            *(
                f"{quantity}_{kind}_ns"
                for quantity in ("reaction", "latency", "data_age")
                for kind in ("bound", "limit")
            ),
            "verdict",
        ),
    ),
    "disparities": ("disparity", ("disparity_bound_ns", "disparity_limit_ns", "verdict")),
    "waits": ("wait of", ("waited_ns", "declared_ns", "verdict")),
    "faults": ("fault", ("verdict", "reaction_ns", "limit_ns", "margin_ns")),
    "tasks_under_faults": ("task", ("response_bound_ns", "verdict")),
    "transitions": ("change of mode", ("verdict",)),
    "tasks_across_transitions": ("task", ("response_bound_ns", "verdict")),
    "margins": ("margin of", ("scaling_ppm", "margin_ns", "smallest_hz", "limited_by")),
}
_GOOD = Verdict.SCHEDULABLE.value
#: Parts of something that is itself told of when it comes or goes.
_INSIDE = ("tasks_under_faults", "tasks_across_transitions")


def changes(before: Row, after: Row) -> list[dict[str, Any]]:
    """What differs between two analysis documents, as rows: part, mode, name, key, before and after.

    What was added or removed differs in the key `present`; the verdict on what was added follows where it is not good.
    """
    rows = []
    olds, news = _parts(before), _parts(after)
    for part, (_, keys) in _TOLD.items():
        old, new = olds[part], news[part]
        for mode, name in dict.fromkeys((*old, *new)):
            one, other = old.get((mode, name)), new.get((mode, name))
            if one is None or other is None:
                if part not in _INSIDE:
                    rows.append(_row(part, mode, name, "present", one is not None, other is not None))
                    verdict = (other or {}).get("verdict", _GOOD)
                    rows += [] if verdict == _GOOD else [_row(part, mode, name, "verdict", None, verdict)]
                continue
            rows += [
                _row(part, mode, name, key, one[key], other[key])
                for key in keys
                if key in one and key in other and one[key] != other[key]
            ]
    return rows


def _row(part: str, mode: str, name: str, key: str, before: Any, after: Any) -> dict[str, Any]:
    return {"part": part, "mode": mode, "name": name, "key": key, "before": before, "after": after}


def _parts(document: Row) -> dict[str, dict[tuple[str, str], Row]]:
    """The rows of every part, by mode and name."""
    parts = {
        part: {(row.get("mode", row["name"]), row["name"]): row for row in document.get(part, ())}
        for part in ("modes", "tasks", "chains", "disparities")
    }
    faults = document.get("faults", {})
    parts["waits"] = dict(_waits(document.get("waits", ())))
    parts["faults"] = {
        (case["mode"], one["name"]): {**(case["handling"] or {}), "verdict": case["verdict"]}
        for one in faults.get("scenarios", ())
        for case in one["cases"]
    }
    parts["tasks_under_faults"] = {
        (case["mode"], f"{task['name']} under {one['name']}"): task
        for one in faults.get("scenarios", ())
        for case in one["cases"]
        for task in case["tasks"]
    }
    parts["transitions"] = {(one["name"], one["name"]): one for one in faults.get("transitions", ())}
    parts["tasks_across_transitions"] = {
        (one["name"], task["name"]): task for one in faults.get("transitions", ()) for task in one["tasks"]
    }
    parts["margins"] = dict(_margins(document.get("margins", ())))
    return parts


def _waits(rows: Iterable[Row]) -> Iterator[tuple[tuple[str, str], Row]]:
    for row in rows:
        yield (row["mode"], f"{row['task']} for {row['element']} after {format_ns(row['after_ns'])}"), row


def _margins(rows: Iterable[Row]) -> Iterator[tuple[tuple[str, str], Row]]:
    for row in rows:
        mode = row["mode"]
        yield (mode, "all together"), row
        for what in ("tasks", "chains", "rates"):
            for one in row[what]:
                yield (mode, f"{what.removesuffix('s')} {one['name']}"), one
        for one in row["frequencies"]:
            yield (mode, f"frequency of {one['pe']}"), one


def print_changes(verdict: str, rows: Sequence[Row], console: Console) -> None:
    """The verdict and a table of what changed."""
    if not rows:
        console.print(Text(f"{verdict}; no bound, limit or verdict changed"))
        return
    console.print(Text(f"{verdict}; changed:"))
    several = len({row["mode"] for row in rows}) > 1
    table = Table(box=None, pad_edge=False)
    for header in ("", "what", "before", "after"):
        table.add_column(header, justify="right" if header in ("before", "after") else "left", overflow="fold")
    for row in rows:
        who = f"{_TOLD[row['part']][0]} {row['name']}"
        if row["part"] == "tasks_across_transitions" or (several and row["part"] not in ("modes", "transitions")):
            who = f"{who} in {row['mode']}"
        key = "" if row["key"] == "present" else row["key"].removesuffix("_ns").replace("_", " ")
        table.add_row(Text(who), Text(key), *(Text(_shown(row["key"], row[side])) for side in ("before", "after")))
    console.print(table)


def _shown(key: str, value: Any) -> str:
    if key == "present":
        return "there" if value else "not there"
    if value is None:
        return "none"
    return format_ns(value) if key.endswith("_ns") else str(value)
