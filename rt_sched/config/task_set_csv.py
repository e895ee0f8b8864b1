"""Task sets in CSV: one task a line, the first line names the columns.

Columns, in any order: name, wcet, and one of period, min_interarrival and arrival_curve; where wanted deadline, bcet,
priority, jitter, offset. Empty cells are not given. A column of times may name its unit, as in period_us; a value may
too, as in 5ms. An arrival curve is written as 20; 1:1; 5:2, that is horizon; length:jobs; ... Columns are separated by
commas, semicolons or tabs, whichever the first line has most of; lines that begin with # are skipped. A cell may stand
in quotes, with the separator and doubled quotes inside, but not the end of a line.
"""

from __future__ import annotations

import codecs
import re

from rt_sched.config.problems import Problems, unknown
from rt_sched.config.task_set_fields import TIMES, Cell, CurveCell, Orders, TaskFields, field_of
from rt_sched.config.yaml_nodes import MAX_FILE_BYTES
from rt_sched.units import TIME_UNITS

_SHOWN = (
    "name",
    "wcet",
    "bcet",
    "period",
    "min_interarrival",
    "arrival_curve",
    "deadline",
    "priority",
    "jitter",
    "offset",
)
#: A cell in quotes, what stands before and behind it being no separator.
_QUOTED = {separator: re.compile(rf'[^\S{separator}]*"((?:[^"]|"")*)"[^\S{separator}]*') for separator in ",;\t"}
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_csv(data: bytes, problems: Problems) -> tuple[Orders, list[TaskFields]]:
    """No orders, and the fields of each task."""
    if len(data) > MAX_FILE_BYTES:
        problems.add_at(0, 0, "", f"the file is larger than {MAX_FILE_BYTES} bytes")
        return Orders(failed=True), []
    try:
        text = data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError as error:
        problems.add_at(
            data.count(b"\n", 0, error.start) + 1, 1, "", f"byte {data[error.start]:#04x} is not UTF-8 text"
        )
        return Orders(failed=True), []
    lines = [
        (number, line)
        for number, line in enumerate(_LINE_END.split(text), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        problems.add_at(0, 0, "", "the file is empty")
        return Orders(failed=True), []
    separator = max(_QUOTED, key=re.sub(r'"[^"]*"', "", lines[0][1]).count)
    header = _cells(*lines[0], separator, problems)
    columns = [_column(cell, problems) for cell in header]
    if len(lines) == 1:
        problems.add_at(lines[0][0], 1, "", "no task follows the names of the columns")
    for number, (key, _) in enumerate(columns):
        if key is not None and key in [other for other, _ in columns[:number]]:
            problems.add(header[number], f"the column {header[number].text.strip()} stands twice")
    rows = []
    for number, line in lines[1:]:
        row = TaskFields(Cell(number, 1, "", line))
        cells = _cells(number, line, separator, problems)
        if len(cells) > len(columns):
            problems.add(cells[len(columns)], f"the line has {len(cells)} cells, the file {len(columns)} columns")
        for cell, (key, unit_ns) in zip(cells, columns, strict=False):
            if key is None or not cell.text.strip():
                continue
            row.given.add(key)
            if key == "curve":
                row.curve = _curve(cell, problems)
                continue
            row.cells[key] = cell
            if unit_ns is not None:
                row.units_ns[key] = unit_ns
        rows.append(row)
    return Orders(), rows


def _cells(number: int, line: str, separator: str, problems: Problems) -> list[Cell]:
    cells = []
    start = 0
    while start <= len(line):
        inside = _QUOTED[separator].match(line, start)
        closed = inside is not None and (inside.end() == len(line) or line[inside.end()] == separator)
        if inside is not None and closed:
            end, text = inside.end(), inside[1].replace('""', '"')
        else:
            end = line.find(separator, start)
            end = len(line) if end < 0 else end
            text = line[start:end]
        indent = len(line[start:end]) - len(line[start:end].lstrip())
        cells.append(Cell(number, start + indent + 1, "", text))
        if not closed and text.lstrip().startswith('"'):
            problems.add(cells[-1], "a quote that begins a cell must end it in the same line; inside it stands twice")
        start = end + 1
    return cells


def _column(cell: Cell, problems: Problems) -> tuple[str | None, int | None]:
    """The field of a column, and the unit that its name ends with."""
    name = cell.text.strip()
    match = re.fullmatch(r"(.+?)\s*(?:[_ ]|[\[(])\s*(ns|us|ms|s)\s*[\])]?", name)
    if match is not None and field_of(match[1]) in TIMES:
        return field_of(match[1]), TIME_UNITS[match[2]]
    key = field_of(name)
    if key is None:
        problems.add(cell, unknown("column", name, _SHOWN))
    return key, None


def _curve(cell: Cell, problems: Problems) -> CurveCell | None:
    head, *steps = [part.strip() for part in cell.text.split(";")]
    pairs = [step.split(":") for step in steps]
    if not steps or any(len(pair) != 2 for pair in pairs):
        problems.add(cell, "an arrival curve is written as horizon; length:jobs; ..., as in 20; 1:1; 5:2")
        return None

    def at(text: str) -> Cell:
        return Cell(cell.line, cell.column, cell.path, text)

    return CurveCell(cell, at(head), tuple((at(length), at(jobs)) for length, jobs in pairs))
