"""What an analysis or a run came to, one item for every task, chain, mode and fault, and how two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rt_sched.app.inputs.documents import named_rows
from rt_sched.errors import DataError

#: How bad a verdict is: 0 fine, 1 not known, 2 bad.
_RANK = {
    "schedulable": 0,
    "inconclusive": 1,
    "unschedulable": 2,
    "ok": 0,
    "incomplete": 1,
    "assumption_violated": 1,
    "deadline_miss": 2,
    "bound_violated": 2,
    "failed": 2,
    "over_limit": 2,
    "not_recovered": 2,
    "broken": 1,
}
_QUANTITIES = ("reaction", "latency", "data_age")

#: Name of the item that stands for everything: a system under another name is still compared with its earlier self.
WHOLE = "as a whole"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A time with its limit; None where there is none."""

    name: str
    value_ns: int | None
    limit_ns: int | None

    @property
    def margin_ns(self) -> int | None:
        """What is left to the limit."""
        return None if self.value_ns is None or self.limit_ns is None else self.limit_ns - self.value_ns


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that has a verdict: `kind` is system, mode, task, chain, disparity, fault, transition, misses, run or
    assumption; `mode` None where there are none.
    """

    kind: str
    name: str
    mode: str | None
    verdict: str
    reason: str
    quantities: tuple[Quantity, ...] = ()

    @property
    def key(self) -> tuple[str, str, str | None]:
        """What it is found by on the other side."""
        return self.kind, self.name, self.mode

    @property
    def rank(self) -> int:
        """How bad it is: 0 fine, 1 not known, 2 bad."""
        return _RANK.get(self.verdict, 1)


def _item(kind: str, row: Row, quantities: tuple[Quantity, ...], name: str | None = None) -> Item:
    mode = row.get("mode")
    reason = row.get("reason") or ""
    return Item(kind, name or row["name"], mode, str(row.get("verdict")), str(reason), quantities)


def _quantity(row: Row, name: str, value: str, limit: str) -> Quantity:
    return Quantity(name, _ns(row.get(value)), _ns(row.get(limit)))


def _ns(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bounds(row: Row, part: str) -> tuple[Quantity, ...]:
    """Those quantities of a chain that have a value or a limit."""
    found = (_quantity(row, name, f"{name}_{part}_ns", f"{name}_limit_ns") for name in _QUANTITIES)
    return tuple(one for one in found if one.value_ns is not None or one.limit_ns is not None)


def analysis_items(document: Row, file: str) -> tuple[Item, ...]:
    """Of an analysis document or a schedulability report. Raises DataError where it is neither."""
    items = [Item("system", WHOLE, None, str(document.get("verdict")), "")]
    items += [
        Item("mode", row["name"], None, str(row.get("verdict")), "") for row in named_rows(document, "modes", file)
    ]
    items += [
        _item("task", row, (_quantity(row, "response", "response_bound_ns", "deadline_ns"),))
        for row in named_rows(document, "tasks", file)
    ]
    items += [_item("chain", row, _bounds(row, "bound")) for row in named_rows(document, "chains", file)]
    items += [
        _item("disparity", row, (_quantity(row, "disparity", "disparity_bound_ns", "disparity_limit_ns"),))
        for row in named_rows(document, "disparities", file)
    ]
    faults = document.get("faults") or {}
    if not isinstance(faults, dict):
        raise DataError(f"{file}: faults is no object, so it is no document that rt-sched wrote")
    return (*items, *_fault_items(faults, file))


def _fault_items(faults: Row, file: str) -> Iterator[Item]:
    for row in named_rows(faults, "scenarios", file):
        for case in row.get("cases") or ():
            yield _fault_case(str(row["name"]), case)
    # A report has one row for every case, also of losses that the system does not declare.
    for row in faults.get("rows") or ():
        if row.get("declared"):
            yield _fault_case(str(row.get("fault")), row)
    for row in named_rows(faults, "transitions", file):
        yield _item("transition", {**row, "mode": None}, ())
    for row in faults.get("misses") or ():
        yield _item("misses", row, (), str(row.get("task")))


def _fault_case(name: str, case: Row) -> Item:
    """A fault in one mode, with the time that its handling takes."""
    handling = case.get("handling") or {}
    margin_ns, limit_ns = _ns(handling.get("margin_ns")), _ns(handling.get("limit_ns"))
    used_ns = None if margin_ns is None or limit_ns is None else limit_ns - margin_ns
    return _item("fault", case, (Quantity("handling", used_ns, limit_ns),) if handling else (), name)


def run_items(document: Row, file: str) -> tuple[Item, ...]:
    """Of the summary of a run. Raises DataError where it is none."""
    reason = str(document.get("reason") or "")
    items = [Item("run", WHOLE, None, str(document.get("status")), reason)]
    for row in named_rows(document, "tasks", file):
        misses = row.get("misses") or 0
        over = f"{misses} of {row.get('jobs')} jobs missed their deadline" if misses else ""
        quantity = _quantity(row, "response", "response_max_ns", "deadline_ns")
        items.append(Item("task", row["name"], None, "deadline_miss" if misses else "ok", over, (quantity,)))
    items += [_run_chain(row) for row in named_rows(document, "chains", file)]
    for row in document.get("faults") or ():
        quantity = _quantity(row, "recovery", "recovered_after_ns", "recovery_limit_ns")
        late = quantity.limit_ns is not None and (quantity.margin_ns is None or quantity.margin_ns < 0)
        items.append(Item("fault", str(row.get("fault")), None, "not_recovered" if late else "ok", "", (quantity,)))
    for row in document.get("monitors") or ():
        holds = bool(row.get("holds"))
        words = "" if holds else f"broke {row.get('broken')} times"
        items.append(Item("assumption", str(row.get("assumption")), None, "ok" if holds else "broken", words))
    return tuple(items)


def _run_chain(row: Row) -> Item:
    quantities = _bounds(row, "max")
    over = [one.name.replace("_", " ") for one in quantities if one.margin_ns is not None and one.margin_ns < 0]
    if over:
        return Item("chain", row["name"], None, "over_limit", f"{', '.join(over)} over the limit", quantities)
    if not row.get("outputs") and row.get("judged_until_ns") is None:
        return Item("chain", row["name"], None, "incomplete", "no output", quantities)
    return Item("chain", row["name"], None, "ok", "", quantities)


@dataclass(frozen=True, slots=True)
class Movement:
    """One item on both sides, None where it is missing on one.

    `change`: worse or better where the verdict did so, grew or shrank where only a time did, which stands in the way of
    its limit or not; added, removed, or same. `score`: how bad the change is, the worst largest.
    """

    before: Item | None
    after: Item | None
    change: str
    score: float

    @property
    def item(self) -> Item:
        """The newer of both."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a movement of nothing")
        return found


def movements(before: Sequence[Item], after: Sequence[Item], named: Callable[[Item], Item]) -> list[Movement]:
    """Every item of both sides, what got worse most first; equals in the order of the newer side.

    `named`: the older item under the name that the newer side uses.
    """
    old = {one.key: one for one in map(named, before)}
    new = {one.key: one for one in after}
    found = [_movement(old.get(key), new.get(key)) for key in dict.fromkeys((*new, *old))]
    return sorted(found, key=lambda one: -one.score)


#: What a verdict weighs beside shares of limits, and the loss of a bound beside its growth.
_VERDICT, _LOST = 1e12, 1e9


def _movement(before: Item | None, after: Item | None) -> Movement:
    if before is None or after is None:
        bad = after is not None and after.rank > 0
        word = "worse" if bad else "added" if before is None else "removed"
        return Movement(before, after, word, _VERDICT * after.rank if bad and after is not None else 0.0)
    step = after.rank - before.rank
    share = max(_shares(before, after), key=abs, default=0.0)
    if step:
        return Movement(before, after, "worse" if step > 0 else "better", _VERDICT * step + share)
    change = "grew" if share > 0 else "shrank" if share < 0 else "same"
    return Movement(before, after, change, share)


def _shares(before: Item, after: Item) -> Iterator[float]:
    """By how much every time moved towards its limit, as a share of that, or of itself where it has none."""
    old = {one.name: one for one in before.quantities}
    for now in after.quantities:
        was = old.get(now.name)
        if was is None:
            continue
        if was.value_ns is None or now.value_ns is None:
            yield 0.0 if was.value_ns == now.value_ns else _LOST if now.value_ns is None else -_LOST
        elif was.margin_ns is not None and now.margin_ns is not None:
            yield (was.margin_ns - now.margin_ns) / max(1, abs(now.limit_ns or 1))
        else:
            yield (now.value_ns - was.value_ns) / max(1, abs(was.value_ns))
