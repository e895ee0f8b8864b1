"""The fields of task sets: their names, and from their texts the checked numbers of one task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from rt_sched import units
from rt_sched.config.problems import Place, Problems, quoted
from rt_sched.model import ArrivalCurve, SetTask

#: Largest time, as for every analysis.
LIMIT_NS = 2**60
_MOST_CHARACTERS = 64
_MOST_STEPS = 10_000

#: Field -> names that files use for it, in letters and digits only.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "name": ("name", "id", "task", "taskid", "taskname"),
    "wcet": ("wcet", "worstcaseexecutiontime", "executiontime", "cost", "c"),
    "bcet": ("bcet", "bestcaseexecutiontime"),
    "period": ("period", "t"),
    "separation": (
        "mininterarrival",
        "mininterarrivaltime",
        "minimuminterarrival",
        "minimuminterarrivaltime",
        "sporadicmininterarrival",
        "sporadic",
        "separation",
        "mit",
    ),
    "curve": ("arrivalcurve",),
    "deadline": ("deadline", "relativedeadline", "d"),
    "priority": ("priority", "prio", "p"),
    "jitter": ("jitter", "releasejitter", "j"),
    "offset": ("offset", "phase", "o"),
}
TIMES = ("wcet", "bcet", "period", "separation", "deadline", "jitter", "offset")
_FIELD_OF = {name: field_name for field_name, names in FIELDS.items() for name in names}

POLICY_WORDS = {
    **dict.fromkeys(("fp", "fixedpriority", "fixedpriorities"), "fp"),
    **dict.fromkeys(("edf", "earliestdeadlinefirst"), "edf"),
    **dict.fromkeys(("fifo", "firstinfirstout", "fcfs"), "fifo"),
    **dict.fromkeys(("rms", "rm", "ratemonotonic"), "rms"),
    **dict.fromkeys(("dm", "dms", "deadlinemonotonic"), "dm"),
}
PREEMPTION_WORDS = {
    **dict.fromkeys(("fp", "preemptive", "fullypreemptive"), "preemptive"),
    **dict.fromkeys(("np", "nonpreemptive", "fullynonpreemptive"), "non-preemptive"),
}
#: Words of POET's for which its files have no parameters.
UNSUPPORTED_PREEMPTION = ("lp", "limitedpreemptive", "fnps", "floatingnonpreemptivesegments", "floatingnonpreemptive")


@dataclass(frozen=True, slots=True)
class Orders:
    """What decides over all tasks; None where it is not said. `failed`: it is said, but wrongly."""

    policy: str | None = None
    preemption: str | None = None
    failed: bool = False

    @property
    def preemptive(self) -> bool | None:
        """Whether jobs can be preempted anywhere."""
        return None if self.preemption is None else self.preemption == "preemptive"


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a file and where it stands."""

    line: int
    column: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CurveCell:
    """An arrival curve as written: the texts of its horizon and of its steps' lengths and jobs."""

    place: Cell
    horizon: Cell
    steps: tuple[tuple[Cell, Cell], ...]


@dataclass(slots=True)
class TaskFields:
    """The fields of one task by name. `given`: also those that could not be read. `units_ns`: of those whose column
    names a unit of its own.
    """

    place: Place
    cells: dict[str, Cell] = field(default_factory=dict)
    curve: CurveCell | None = None
    given: set[str] = field(default_factory=set)
    units_ns: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """A task before its level is known."""

    task: SetTask
    priority: int | None

    @property
    def separation_ns(self) -> Fraction:
        """Period, least distance of arrivals, or their mean distance under an arrival curve."""
        curve = self.task.curve
        if curve is not None:
            return Fraction(curve.horizon_ns, curve.steps[-1][1])
        return Fraction(self.task.period_ns or self.task.separation_ns or 0)


def plain(text: str) -> str:
    """Letters and digits of a name, in small letters."""
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def field_of(name: str) -> str | None:
    """The field that a file means by `name`."""
    return _FIELD_OF.get(plain(name))


def word_of(text: str, words: Mapping[str, str]) -> str | None:
    """What a file means by a word."""
    return words.get(plain(text))


def read_tasks(
    rows: Sequence[TaskFields], unit_ns: int, problems: Problems, *, needs_priority: bool = False
) -> list[Draft]:
    """Every task of the file; those with problems, which are added, are left out."""
    drafts = []
    first_of: dict[str, Place] = {}
    for number, row in enumerate(rows):
        named = row.cells.get("name")
        name = named.text.strip() if named is not None else f"task_{number + 1}"
        if named is not None and (not name or not name.isprintable() or len(name) > _MOST_CHARACTERS):
            problems.add(named, f"{quoted(named.text)} is no name of at most {_MOST_CHARACTERS} characters")
        earlier = first_of.setdefault(name, named or row.place)
        if named is not None and earlier is not named:
            problems.add(named, f"the task {quoted(name)} stands twice, first in line {earlier.line}")
        if needs_priority and "priority" not in row.given:
            problems.add(row.place, "a priority is missing; fixed priorities need one, or use --policy rms or dm")
        draft = _draft(name, row, unit_ns, problems)
        if draft is not None:
            drafts.append(draft)
    return drafts


def _draft(name: str, row: TaskFields, unit_ns: int, problems: Problems) -> Draft | None:
    times: dict[str, int] = {}
    failed = False
    for key in TIMES:
        cell = row.cells.get(key)
        if cell is not None:
            found = time_ns(cell, row.units_ns.get(key, unit_ns), key, problems)
            failed = failed or found is None
            times[key] = found or 0
    priority = None
    if "priority" in row.cells:
        priority = _integer(row.cells["priority"], "priority", problems)
        failed = failed or priority is None
    curve = None if row.curve is None else _curve(row.curve, unit_ns, problems)
    failed = failed or (row.curve is not None and curve is None)
    complete = _complete(row, problems)
    if failed or not complete:
        return None
    wcet_ns, bcet_ns = times["wcet"], times.get("bcet", times["wcet"])
    if bcet_ns > wcet_ns:
        problems.add(row.cells["bcet"], "the best-case execution time exceeds the worst-case execution time")
    deadline_ns = times.get("deadline") or times.get("period") or times["separation"]
    task = SetTask(
        name,
        wcet_ns,
        deadline_ns,
        bcet_ns,
        period_ns=times.get("period"),
        separation_ns=times.get("separation"),
        curve=curve,
        jitter_ns=times.get("jitter", 0),
        offset_ns=times.get("offset"),
    )
    return Draft(task, priority)


def _complete(row: TaskFields, problems: Problems) -> bool:
    """Whether the fields that a task needs are there, and do not contradict each other."""
    arrivals = [key for key in ("period", "separation", "curve") if key in row.given]
    complete = row.given <= {*row.cells, "curve"} and ("curve" not in row.given or row.curve is not None)
    if "wcet" not in row.given:
        problems.add(row.place, "a worst-case execution time is missing")
        complete = False
    if len(arrivals) != 1:
        shown = "none is" if not arrivals else f"{len(arrivals)} are"
        problems.add(row.place, f"exactly one of period, min interarrival and arrival curve is needed, {shown} given")
        complete = False
    elif "deadline" not in row.given and arrivals == ["curve"]:
        problems.add(row.place, "a deadline is missing; a task with an arrival curve has no period to take for it")
        complete = False
    if "offset" in row.cells and arrivals != ["period"]:
        problems.add(row.cells["offset"], "an offset is for a task with a period")
        complete = False
    return complete


def time_ns(cell: Cell, unit_ns: int, key: str, problems: Problems) -> int | None:
    """A time in whole nanoseconds: up for execution times, jitters and offsets, down for the rest."""
    text = cell.text.strip()
    exact: Fraction | None = None
    if len(text) <= _MOST_CHARACTERS:
        if re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
            exact = Fraction(text) * unit_ns
        else:
            try:
                exact = units.parse_time(text)
            except ValueError:
                exact = None
    if exact is None:
        problems.add(cell, f"{quoted(cell.text)} is no time; write a number, with a unit such as 5ms or without")
        return None
    up = key in ("wcet", "jitter", "offset")
    value_ns = units.ceil_int(exact) if up else units.floor_int(exact)
    least = 0 if key in ("jitter", "offset") else 1
    if least <= value_ns <= LIMIT_NS:
        return value_ns
    limit = "must not be negative" if least == 0 else "must be at least 1ns"
    problems.add(cell, f"{quoted(cell.text)} {limit if value_ns < least else 'is above the limit of 2**60 ns'}")
    return None


def _integer(cell: Cell, what: str, problems: Problems, least: int = -(2**60)) -> int | None:
    text = cell.text.strip()
    if re.fullmatch(r"[+-]?\d{1,18}", text) and int(text) >= least:
        return int(text)
    problems.add(cell, f"expected a whole number as {what}, found {quoted(cell.text)}")
    return None


def _curve(written: CurveCell, unit_ns: int, problems: Problems) -> ArrivalCurve | None:
    """The curve in nanoseconds. A window of n units sees n instants, so it is n - 1 units and 1 ns long."""
    horizon = _integer(written.horizon, "horizon", problems, 1)
    steps = [
        (_integer(length, "length of a step", problems, 1), _integer(jobs, "number of jobs", problems, 1))
        for length, jobs in written.steps
    ]
    if horizon is None or not steps or len(steps) > _MOST_STEPS or any(None in step for step in steps):
        if not steps or len(steps) > _MOST_STEPS:
            problems.add(written.place, f"an arrival curve has 1 to {_MOST_STEPS} steps, not {len(steps)}")
        return None
    pairs = [(length, jobs) for length, jobs in steps if length is not None and jobs is not None]
    complaint = None
    if pairs[0][0] != 1:
        complaint = f"the first step is at length {pairs[0][0]}; it must be at 1"
    elif any(a[0] >= b[0] or a[1] >= b[1] for a, b in pairwise(pairs)):
        complaint = "lengths and jobs of the steps must both ascend"
    elif pairs[-1][0] > horizon:
        complaint = f"the last step, at length {pairs[-1][0]}, lies beyond the horizon {horizon}"
    elif horizon * unit_ns > LIMIT_NS:
        complaint = "the horizon is above the limit of 2**60 ns"
    if complaint is not None:
        problems.add(written.place, complaint)
        return None
    return ArrivalCurve(horizon * unit_ns, tuple(((length - 1) * unit_ns + 1, jobs) for length, jobs in pairs))
