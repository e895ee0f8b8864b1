"""A schedule as lines of text: one row a task or a processor, one column a fixed stretch of time.

Parts of a line are (text, style); the caller decides what a style looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from textwrap import wrap

import numpy as np

from rt_sched.report.gantt_rows import Chart, Row, RowsOf, resumed
from rt_sched.report.text import axis_labels, axis_values_ns, clipped, printable
from rt_sched.trace.records import JobStatus, SliceKind

Line = list[tuple[str, str]]

#: Columns of a chart at least, whatever the width of the terminal.
_LEAST = 20


@dataclass(frozen=True, slots=True)
class Signs:
    """What a column shows: of all that happens in it, what is lowest here."""

    idle: str
    waits: str
    preempted: str
    blocked: str
    other: str
    runs: str
    missed: str
    rule: str
    tick: str


UNICODE = Signs(" ", "·", "░", "▒", "▚", "█", "!", "─", "┬")
ASCII = Signs(" ", ".", "-", "x", "+", "#", "!", "-", "+")
_STYLES = {
    "waits": "dim",
    "preempted": "dim",
    "blocked": "yellow",
    "other": "cyan",
    "runs": "green",
    "missed": "bold red",
}
_NAMES = ("idle", *_STYLES)
_IDLE, _WAITS, _PREEMPTED, _BLOCKED, _OTHER, _RUNS, _MISSED = range(7)


def gantt_lines(chart: Chart, width: int, *, ascii_only: bool) -> Iterator[Line]:
    """The chart in `width` columns, with its axis above and what its signs mean below."""
    signs = ASCII if ascii_only else UNICODE
    labels = [_label(row, chart) for row in chart.rows]
    left = min(max((len(label) for label in labels), default=0), max(width // 3, 8)) + 1
    columns = max(width - left, _LEAST)
    grid = _Grid(chart, columns)
    yield from _axis(chart, left, columns, signs)
    element = None
    for row, label in zip(chart.rows, labels, strict=True):
        if chart.rows_of is RowsOf.TASKS and row.element != element:
            element = row.element
            yield [(_ascii(printable(element), ascii_only) or "nowhere", "bold")]
        head = clipped(label, left - 1)
        line: Line = [(_ascii(head, ascii_only).ljust(left), "")]
        if chart.rows_of is RowsOf.TASKS:
            yield line + _runs(
                [(getattr(signs, _NAMES[code]), _STYLES.get(_NAMES[code], "")) for code in grid.task(row)]
            )
        else:
            letters = _letters(chart, row)
            yield line + _runs(grid.processor(row, letters, signs))
            yield [(_ascii(" " * left + _key(chart, letters), ascii_only), "dim")]
    yield [("", "")]
    yield from ([(line, "dim")] for line in wrap(_legend(chart, signs, grid.column_ns), max(width, _LEAST)))
    for note in chart.notes:
        yield [(_ascii(note, ascii_only), "yellow")]


class _Grid:
    """Which column an instant is in."""

    def __init__(self, chart: Chart, columns: int) -> None:
        self._chart, self._columns = chart, columns
        self.column_ns = (chart.end_ns - chart.start_ns) / columns

    def _range(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """The columns that [start, end) touches, at least one where it is inside the chart."""
        chart = self._chart
        if end_ns < chart.start_ns or start_ns >= chart.end_ns:
            return 0, 0
        first = max(int((start_ns - chart.start_ns) / self.column_ns), 0)
        last = min(-int(-(end_ns - chart.start_ns) // self.column_ns), self._columns)
        return min(first, self._columns - 1), max(last, min(first, self._columns - 1) + 1)

    def task(self, row: Row) -> list[int]:
        """The code of every column of a task's row: the greatest of what happens there, but waiting below running."""
        trace, cells = self._chart.trace, np.zeros(self._columns, np.int64)

        def put(start_ns: int, end_ns: int, code: int) -> None:
            first, last = self._range(start_ns, end_ns)
            cells[first:last] = np.maximum(cells[first:last], code)

        for job in row.jobs:
            arrival_ns, start_ns, end_ns = _life(self._chart, job)
            put(arrival_ns, start_ns, _WAITS)
            put(start_ns, end_ns, _PREEMPTED)
        for span in self._chart.locks:
            if not span.held and int(trace.jobs.task[span.job]) == int(trace.jobs.task[row.jobs[0]]):
                put(span.start_ns, span.end_ns, _BLOCKED)
        for piece in row.slices:
            kind = _RUNS if trace.slices.kind[piece] == SliceKind.EXECUTE else _OTHER
            put(int(trace.slices.start_ns[piece]), int(trace.slices.end_ns[piece]), kind)
        for job in row.jobs:
            if trace.jobs.missed[job]:
                put(int(trace.jobs.deadline_ns[job]), int(trace.jobs.deadline_ns[job]), _MISSED)
        return cells.tolist()

    def processor(self, row: Row, letters: dict[int, str], signs: Signs) -> list[tuple[str, str]]:
        """Per column the letter of the task that has most of it, small where its job has been preempted before."""
        trace = self._chart.trace
        longest = np.zeros(self._columns)
        cells = [(signs.idle, "")] * self._columns
        for piece in row.slices:
            start_ns, end_ns = int(trace.slices.start_ns[piece]), int(trace.slices.end_ns[piece])
            letter = letters[int(trace.jobs.task[trace.slices.job[piece]])]
            letter = letter.lower() if resumed(trace, piece) else letter
            for column in range(*self._range(start_ns, end_ns)):
                begin_ns = self._chart.start_ns + column * self.column_ns
                length = min(end_ns, begin_ns + self.column_ns) - max(start_ns, begin_ns)
                if length > longest[column]:
                    longest[column], cells[column] = length, (letter, _STYLES["runs"])
        for job in row.jobs:
            if trace.jobs.missed[job]:
                deadline_ns = int(trace.jobs.deadline_ns[job])
                for column in range(*self._range(deadline_ns, deadline_ns)):
                    cells[column] = (signs.missed, _STYLES["missed"])
        return cells


def _life(chart: Chart, job: int) -> tuple[int, int, int]:
    """From its arrival a job waits, from its start it is there until it ends, as far as that is in the chart."""
    jobs = chart.trace.jobs
    arrival_ns, start_ns, finish_ns = (int(column[job]) for column in (jobs.arrival_ns, jobs.start_ns, jobs.finish_ns))
    end_ns = finish_ns
    if finish_ns < 0:
        slices = chart.trace.slices
        mine = slices.end_ns[slices.job == job]
        end_ns = chart.end_ns if jobs.status[job] == JobStatus.UNFINISHED else int(mine.max(initial=arrival_ns))
    return arrival_ns, (start_ns if start_ns >= 0 else end_ns), end_ns


def _label(row: Row, chart: Chart) -> str:
    return ("  " if chart.rows_of is RowsOf.TASKS else "") + printable(row.name)


def _letters(chart: Chart, row: Row) -> dict[int, str]:
    """A letter for every task of a processor, by index; `*` for those behind the alphabet."""
    tasks = sorted({int(chart.trace.jobs.task[chart.trace.slices.job[piece]]) for piece in row.slices})
    return {task: ascii_uppercase[place] if place < len(ascii_uppercase) else "*" for place, task in enumerate(tasks)}


def _key(chart: Chart, letters: dict[int, str]) -> str:
    return "  ".join(
        f"{letter} {clipped(printable(chart.trace.task_names[task]), 30)}" for task, letter in letters.items()
    )


def _axis(chart: Chart, left: int, columns: int, signs: Signs) -> Iterator[Line]:
    values = axis_values_ns(chart.start_ns, chart.end_ns, max(columns // 12, 1))
    words, rule = [" "] * (left + columns + 12), [signs.rule] * columns
    for value, label in zip(values, axis_labels(values, chart.end_ns - chart.start_ns), strict=True):
        column = min(int((value - chart.start_ns) / (chart.end_ns - chart.start_ns) * columns), columns - 1)
        rule[column] = signs.tick
        place = min(left + column, left + columns - len(label))
        words[place : place + len(label)] = label.replace("\u00a0", " ")
    yield [("".join(words).rstrip(), "dim")]
    yield [(" " * left + "".join(rule), "dim")]


def _runs(cells: Sequence[tuple[str, str]]) -> Line:
    """Neighbours of one style in one part."""
    line: Line = []
    for sign, style in cells:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + sign, style)
        else:
            line.append((sign, style))
    return line


def _legend(chart: Chart, signs: Signs, column_ns: float) -> str:
    column = f"one column is {column_ns / 1e6:.3g} ms"
    if chart.rows_of is RowsOf.PROCESSORS:
        return f"{column}; a small letter: goes on after a preemption; {signs.missed} deadline missed"
    said = (
        (signs.runs, "runs"),
        (signs.waits, "waits for its first start"),
        (signs.preempted, "preempted or suspended"),
        (signs.blocked, "waits for a lock"),
        (signs.other, "switches or spins"),
        (signs.missed, "deadline missed"),
    )
    return "; ".join((*(f"{sign} {words}" for sign, words in said), column))


def _ascii(text: str, ascii_only: bool) -> str:
    return text.encode("ascii", "replace").decode() if ascii_only else text
