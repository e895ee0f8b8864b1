"""`diff`: what two states of a system, a plan or a run declare differently, and which verdicts that moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rt_sched.app.diff.inputs import input_changes
from rt_sched.app.diff.renames import Renames
from rt_sched.app.diff.sides import ANALYSED, Side, SideKind, document_side, kind_of, plan_side, system_side
from rt_sched.app.diff.verdicts import Item, Movement, movements
from rt_sched.errors import AnalysisNotApplicable, ConfigError, DataError, DeploymentError, Problem

DIFF_SCHEMA = "rt-sched/diff/1"

Row = dict[str, Any]
T = TypeVar("T")

#: Parts whose names items of a kind bear.
_PART_OF = {
    "task": "tasks",
    "chain": "chains",
    "mode": "modes",
    "fault": "faults",
    "disparity": "tasks",
    "misses": "tasks",
}
#: What only an analysis of faults knows; its verdict enters that of the whole system.
_OF_FAULTS = ("fault", "transition", "misses")


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """`before`, `after`: files, run folders or short names. `system`: for plan files, to analyse them.

    `strict`: whether also a time that grew counts as worse.
    """

    before: str
    after: str
    system: str | None = None
    strict: bool = False


def difference(request: DiffRequest) -> Row:
    """The document: `worse` says whether anything got worse, `verdicts` has the worst first.

    Raises ConfigError with every problem of both sides, AnalysisNotApplicable for kinds that cannot be compared.
    """
    kinds = _both(kind_of, request)
    _check_comparable(request, [kind for kind, _ in kinds])
    ways = dict(zip((request.before, request.after), kinds, strict=True))
    before, after = _both(lambda argument: _side(argument, *ways[argument], request.system), request)
    before, after, notes = _same_scope(before, after)
    changes, renames = input_changes(*_told_alike(before, after)) if _alike(before, after) else ([], Renames())
    if not _alike(before, after):
        kinds_said = f"{before.kind.value} and {after.kind.value}"
        notes.append(f"{kinds_said} say different things of the system, so only what both came to is compared")
    moved = movements(before.items, after.items, lambda item: _under_new_name(item, renames))
    old_names = {part: {new: old for old, new in names.items()} for part, names in renames.by_part.items()}
    verdicts = [_verdict_row(one, old_names, strict=request.strict) for one in moved]
    return {
        "schema": DIFF_SCHEMA,
        "before": {"kind": before.kind.name.lower(), "file": before.file, "verdict": before.verdict},
        "after": {"kind": after.kind.name.lower(), "file": after.file, "verdict": after.verdict},
        "strict": request.strict,
        "worse": any(row["worse"] for row in verdicts),
        "inputs": [
            {
                "part": one.part,
                "name": one.name,
                "key": one.key,
                "change": one.change,
                "before": one.before,
                "after": one.after,
            }
            for one in changes
        ],
        "verdicts": verdicts,
        "counts": _counts(moved),
        "notes": notes,
    }


def _both(load: Callable[[str], T], request: DiffRequest) -> tuple[T, T]:
    """Something of each side; what is wrong with both is told at once."""
    found: list[T] = []
    problems: list[Problem] = []
    for argument in dict.fromkeys((request.before, request.after)):
        try:
            found.append(load(argument))
        except ConfigError as error:
            problems += error.problems
        except DataError as error:
            problems.append(Problem(str(error), 0, 0, "", ""))
    if problems:
        raise ConfigError(problems)
    return found[0], found[-1]


def _check_comparable(request: DiffRequest, kinds: Sequence[SideKind]) -> None:
    one, other = kinds
    if one is other or (one in ANALYSED and other in ANALYSED):
        if request.system is not None and one is not SideKind.PLAN:
            raise AnalysisNotApplicable("--system names the system of two plan files; these bring their own")
        return
    raise AnalysisNotApplicable(
        f"{request.before} is {one.value}, and {request.after} is {other.value}; what can be compared: any two of "
        "system files, analysis documents (analyze --json) and schedulability reports (report.json); two plan files; "
        "two runs (run folder or summary.json)"
    )


def _side(argument: str, kind: SideKind, path: Path, system: str | None) -> Side:
    if kind is SideKind.SYSTEM:
        return system_side(argument)
    return plan_side(path, system) if kind is SideKind.PLAN else document_side(kind, path)


def _alike(before: Side, after: Side) -> bool:
    """Whether the inputs of both sides are told in the same words: a report holds the whole system, as a file does."""
    whole = (SideKind.SYSTEM, SideKind.REPORT)
    return before.kind is after.kind or (before.kind in whole and after.kind in whole)


def _told_alike(before: Side, after: Side) -> tuple[Row, Row]:
    """The inputs of both; what the plan decides is left out where only a report tells it."""
    if before.kind is after.kind:
        return before.inputs, after.inputs
    one, other = ({key: value for key, value in side.inputs.items() if key != "processors"} for side in (before, after))
    for inputs in (one, other):
        rows = inputs.get("tasks") or ()
        inputs["tasks"] = [{key: row[key] for key in row if key not in ("processor", "level")} for row in rows]
    return one, other


def _same_scope(before: Side, after: Side) -> tuple[Side, Side, list[str]]:
    """Without faults and the verdict of the whole, where only one side has analysed faults; and a note that says so."""
    with_faults = [any(item.kind in _OF_FAULTS for item in side.items) for side in (before, after)]
    if with_faults[0] == with_faults[1] or before.kind is SideKind.RUN or _declares_faults(before, after):
        return before, after, []
    left_out = (*_OF_FAULTS, "system")
    one, other = (
        replace(side, items=tuple(item for item in side.items if item.kind not in left_out)) for side in (before, after)
    )
    lacking = after if with_faults[0] else before
    note = f"{lacking.file} says nothing of faults (analyze --faults all), so they and the whole's verdict are left out"
    return one, other, [note]


def _declares_faults(before: Side, after: Side) -> bool:
    """Whether both sides were asked for faults: system files and reports always are."""
    return all(side.kind in (SideKind.SYSTEM, SideKind.REPORT) for side in (before, after))


def _under_new_name(item: Item, renames: Renames) -> Item:
    mode = item.mode if item.mode is None else renames.name("modes", item.mode)
    part = _PART_OF.get(item.kind)
    name = item.name if part is None else renames.name(part, item.name)
    return replace(item, name=name, mode=mode)


def _verdict_row(one: Movement, old_names: dict[str, dict[str, str]], *, strict: bool) -> Row:
    item = one.item
    part = _PART_OF.get(item.kind, "")
    return {
        "kind": item.kind,
        "name": item.name,
        "old_name": old_names.get(part, {}).get(item.name),
        "mode": item.mode,
        "change": one.change,
        "worse": one.change == "worse" or (strict and one.change == "grew"),
        "bad": None if one.after is None else one.after.rank == 2,
        "known": None if one.after is None else one.after.rank != 1,
        "verdict_before": None if one.before is None else one.before.verdict,
        "verdict_after": None if one.after is None else one.after.verdict,
        "reason": item.reason,
        "times": _times(one),
    }


def _times(one: Movement) -> list[Row]:
    sides = [{} if side is None else {time.name: time for time in side.quantities} for side in (one.before, one.after)]
    rows = []
    for name in dict.fromkeys((*sides[1], *sides[0])):
        row: Row = {"name": name}
        for word, side in zip(("before", "after"), sides, strict=True):
            time = side.get(name)
            row[f"value_{word}_ns"] = None if time is None else time.value_ns
            row[f"limit_{word}_ns"] = None if time is None else time.limit_ns
            row[f"margin_{word}_ns"] = None if time is None else time.margin_ns
        rows.append(row)
    return rows


def _counts(moved: Sequence[Movement]) -> dict[str, int]:
    words = ("worse", "grew", "added", "removed", "shrank", "better", "same")
    return {word: sum(1 for one in moved if one.change == word) for word in words}


def write_text(path: Path, text: str) -> None:
    """A form of the comparison as a file; raises DeploymentError when it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds letters that UTF-8 has no form for"
        raise DeploymentError(f"{path}: cannot be written ({reason})") from error
