"""Two analysis documents row by row: old, new, difference, and what got worse first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
_RANK = {"schedulable": 0, "inconclusive": 1, "unschedulable": 2}
#: A worse verdict counts more than any share of a deadline.
_WORSE_VERDICT = 1e12
#: And the end of a bound more than any bound.
_NO_BOUND = 1e9
_QUANTITIES = ("reaction", "latency", "data_age")


def task_rows(before: Row, after: Row) -> list[dict[str, Any]]:
    """Response bounds and verdicts of tasks."""

    def compare(old: Row | None, new: Row | None) -> tuple[dict[str, Any], float]:
        keys = ("pe", "processor", "response_bound_ns", "deadline_ns", "verdict", "reason")
        row = _both(old, new, keys)
        row["difference_ns"], share = _difference(old, new, "response_bound_ns", "deadline_ns")
        return row, share

    return _rows(before, after, "tasks", compare)


def chain_rows(before: Row, after: Row) -> list[dict[str, Any]]:
    """Bounds of chains with their limits."""
    keys = tuple(f"{quantity}_{kind}_ns" for quantity in _QUANTITIES for kind in ("bound", "limit"))

    def compare(old: Row | None, new: Row | None) -> tuple[dict[str, Any], float]:
        row = _both(old, new, (*keys, "verdict", "reason", "counts"))
        shares = []
        for quantity in _QUANTITIES:
            found = _difference(old, new, f"{quantity}_bound_ns", f"{quantity}_limit_ns")
            row[f"{quantity}_difference_ns"] = found[0]
            shares.append(found[1])
        return row, max(shares, key=abs)

    return _rows(before, after, "chains", compare)


def disparity_rows(before: Row, after: Row) -> list[dict[str, Any]]:
    """By how much inputs of one job may differ in age."""

    def compare(old: Row | None, new: Row | None) -> tuple[dict[str, Any], float]:
        row = _both(old, new, ("disparity_bound_ns", "disparity_limit_ns", "verdict", "reason"))
        row["difference_ns"], share = _difference(old, new, "disparity_bound_ns", "disparity_limit_ns")
        return row, share

    return _rows(before, after, "disparities", compare)


def processor_rows(before: Row, after: Row) -> list[dict[str, Any]]:
    """Utilisation of every processor."""

    def compare(old: Row | None, new: Row | None) -> tuple[dict[str, Any], float]:
        row = _both(old, new, ("pe", "policy", "load", "load_exact"))
        difference = None if old is None or new is None else new["load"] - old["load"]
        return row | {"difference": difference}, difference or 0.0

    return _rows(before, after, "processors", compare)


def mode_rows(before: Row, after: Row) -> list[dict[str, Any]]:
    """The verdict on every mode."""
    return _rows(before, after, "modes", lambda old, new: (_both(old, new, ("verdict",)), 0.0))


def _rows(
    before: Row, after: Row, part: str, compare: Callable[[Row | None, Row | None], tuple[dict[str, Any], float]]
) -> list[dict[str, Any]]:
    """One row for each mode and name of either document, by how much worse it got; equal ones in the file's order."""
    old, new = _by_name(before[part]), _by_name(after[part])
    scored: list[tuple[float, dict[str, Any]]] = []
    for mode, name in dict.fromkeys((*old, *new)):
        one, other = old.get((mode, name)), new.get((mode, name))
        row, share = compare(one, other)
        score = share + _WORSE_VERDICT * (_rank(other) - _rank(one))
        scored.append((score, {"name": name, "mode": mode, "change": _word(one, other, score)} | row))
    scored.sort(key=lambda pair: -pair[0])
    return [row for _, row in scored]


def _by_name(rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    return {(row.get("mode", row["name"]), row["name"]): row for row in rows}


def _rank(row: Row | None) -> int:
    return 0 if row is None else _RANK.get(row.get("verdict", ""), 0)


def _word(old: Row | None, new: Row | None, score: float) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    return "worse" if score > 0 else "better" if score < 0 else "same"


def _both(old: Row | None, new: Row | None, keys: Sequence[str]) -> dict[str, Any]:
    return {
        side: None if row is None else {key: row[key] for key in keys if key in row}
        for side, row in (("old", old), ("new", new))
    }


def _difference(old: Row | None, new: Row | None, bound: str, limit: str) -> tuple[int | None, float]:
    """New bound - old bound, and that as a share of the limit, else of the old bound; the loss of a bound is worst."""
    if old is None or new is None:
        return None, 0.0
    was, now = old[bound], new[bound]
    if was is None or now is None:
        return None, 0.0 if was == now else _NO_BOUND if now is None else -_NO_BOUND
    return now - was, (now - was) / max(1, new[limit] or was)
