"""A comparison for people: a table for the terminal, and Markdown for a pull request."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from rt_sched.app.plain_tables import plain_table
from rt_sched.units import format_ns

Row = Mapping[str, Any]

_STYLES = {"worse": "bold red", "grew": "yellow", "better": "green", "shrank": "green"}
#: How a change of a kind is told.
_WORDS = {"worse": "worse", "grew": "closer to the limit", "shrank": "farther from the limit", "better": "better"}
#: Rows that Markdown shows of one table; pull requests have a limit of length.
MOST_ROWS = 200
#: A value is shown up to this length.
_MOST_LETTERS = 120
#: Names that share a change, and that a row shows.
_MOST_NAMED = 8
#: What Markdown, or who renders it, would take for more than a letter.
_SPECIAL = str.maketrans({letter: f"&#{ord(letter)};" for letter in "|`*_[]#~@\\!"})


def headline(document: Row) -> str:
    """What came of the comparison, in one line."""
    counts = document["counts"]
    told = [
        f"{counts[key]} {words}"
        for key, words in (
            ("worse", "worse"),
            ("grew", "closer to their limits"),
            ("better", "better"),
            ("shrank", "farther from their limits"),
            ("added", "new"),
            ("removed", "gone"),
        )
        if counts[key]
    ]
    inputs = len(document["inputs"])
    declared = f"{inputs} change{'' if inputs == 1 else 's'} of what is declared"
    if not document["verdicts"]:
        return f"{declared}; plan files alone carry no verdicts (name their system with --system)"
    return f"{declared}; of {len(document['verdicts'])} verdicts {', '.join(told) or 'none moved'}"


def print_difference(document: Row, console: Console) -> None:
    """Both tables, what got worse first."""
    before, after = document["before"], document["after"]
    console.print(Text(f"{_side(before)} -> {_side(after)}"))
    console.print(Text(headline(document), style="bold red" if document["worse"] else ""))
    for note in document["notes"]:
        console.print(Text(f"note: {note}", style="yellow"))
    if document["inputs"]:
        table = plain_table("Declared", ("what", "before", "after"))
        for cells in _input_rows(document):
            table.add_row(*map(Text, cells))
        console.print(table)
    moved = _moved(document)
    if moved:
        table = plain_table("Verdicts and times", ("", "what", "before", "after", "margin"))
        for row in moved:
            for place, texts in enumerate(_verdict_cells(row, several=_several(document))):
                mark = Text(_word(row) if not place else "", style=_STYLES.get(row["change"], ""))
                table.add_row(mark, *map(Text, texts))
        console.print(table)


def _side(side: Row) -> str:
    verdict = f" ({side['verdict']})" if side["verdict"] else ""
    return f"{side['file']}{verdict}"


def _moved(document: Row) -> list[Row]:
    return [row for row in document["verdicts"] if row["change"] != "same"]


def _several(document: Row) -> bool:
    """Whether there is more than one mode, so that rows must say theirs."""
    return len({row["mode"] for row in document["verdicts"] if row["mode"]}) > 1


def _word(row: Row) -> str:
    return _WORDS.get(row["change"], str(row["change"]))


def _input_rows(document: Row) -> list[tuple[str, str, str]]:
    """What is declared differently; the same change of several things stands once."""
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in document["inputs"]:
        key = str(row["key"] or row["name"])
        sides = (_value(key, row["before"]), _value(key, row["after"]))
        alike.setdefault((row["part"], row["key"], row["change"], *sides), []).append(row)
    return [_input_cells(rows) for rows in alike.values()]


def _input_cells(rows: Sequence[Row]) -> tuple[str, str, str]:
    row, key = rows[0], str(rows[0]["key"] or rows[0]["name"])
    part = str(row["part"])
    names = ", ".join(one["name"] for one in rows[:_MOST_NAMED] if one["name"])
    if len(rows) > _MOST_NAMED:
        names += f" and {len(rows) - _MOST_NAMED} more"
    what = " ".join(word for word in (part, names, row["key"]) if word)
    if row["change"] in ("added", "removed") and row["before"] is None and row["after"] is None:
        return what, *(("", "added") if row["change"] == "added" else ("removed", ""))
    if row["change"] == "renamed":
        return f"{part} renamed", str(row["before"]), str(row["after"])
    return what, _value(key, row["before"]), _value(key, row["after"])


def _value(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if key.rpartition(".")[2].endswith("_ns") and isinstance(value, int) and not isinstance(value, bool):
        return format_ns(value)
    if key.rpartition(".")[2].endswith("_ns") and isinstance(value, list):
        return ", ".join(format_ns(one) if isinstance(one, int) else str(one) for one in value)[:_MOST_LETTERS]
    words = isinstance(value, list) and all(isinstance(one, str) for one in value)
    text = " -> ".join(value) if words else str(value)
    return _short(text)


def _short(text: str) -> str:
    """As much of a text as a cell takes."""
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _verdict_cells(row: Row, *, several: bool) -> list[tuple[str, str, str, str]]:
    """The verdict, where it changed or is not fine, then every time that changed."""
    old = f" (was {row['old_name']})" if row["old_name"] else ""
    mode = f" in mode {row['mode']}" if several and row["mode"] else ""
    what = f"{row['kind']} {row['name']}{old}{mode}"
    before, after = (row[f"verdict_{word}"] or "not there" for word in ("before", "after"))
    reason = f": {_short(row['reason'])}" if row["reason"] and row["change"] == "worse" else ""
    cells = [(what, before, f"{after}{reason}", "")] if before != after else []
    for time in row["times"]:
        if row["change"] in ("added", "removed"):
            continue
        values = [_time(time[f"value_{word}_ns"], time[f"limit_{word}_ns"]) for word in ("before", "after")]
        if values[0] != values[1]:
            margins = [time[f"margin_{word}_ns"] for word in ("before", "after")]
            margin = "" if None in margins else " -> ".join(map(format_ns, margins))
            whose = what if not cells else "…"
            cells.append((f"{whose}: {time['name'].replace('_', ' ')}", values[0], values[1], margin))
    return cells or [(what, before, after, "")]


def _time(value_ns: int | None, limit_ns: int | None) -> str:
    value = "none" if value_ns is None else format_ns(value_ns)
    return value if limit_ns is None else f"{value} of {format_ns(limit_ns)}"


def markdown(document: Row) -> str:
    """The comparison as GitHub-flavoured Markdown. Names stand for themselves, whatever letters they hold."""
    before, after = document["before"], document["after"]
    lines = [
        f"### rt-sched: {'worse' if document['worse'] else 'nothing got worse'}",
        "",
        f"{_plain(_side(before))} → {_plain(_side(after))}",
        "",
        _plain(headline(document)),
    ]
    lines += [f"\n> {_plain(note)}" for note in document["notes"]]
    several = _several(document)
    moved = [
        (_word(row) if not place else "", *cells)
        for row in _moved(document)
        for place, cells in enumerate(_verdict_cells(row, several=several))
    ]
    lines += _markdown_table("Verdicts and times", ("", "what", "before", "after", "margin"), moved)
    lines += _markdown_table("Declared", ("what", "before", "after"), _input_rows(document))
    return "\n".join(lines) + "\n"


def _markdown_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = ["", f"**{title}**", "", f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    lines += [f"| {' | '.join(map(_plain, row))} |" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines += ["", f"and {len(rows) - MOST_ROWS} rows more"]
    return lines


def _plain(text: str) -> str:
    """Text that shows as it is: on one line, and nothing in it means anything to who renders it."""
    return html.escape(" ".join(text.split())).translate(_SPECIAL)
