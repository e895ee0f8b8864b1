"""Charts of schedules in letters, beside what each nanosecond of a schedule is."""

from __future__ import annotations

from typing import Any

from gantt_traces import Schedule, example
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.report.gantt_rows import Chart, RowsOf, chart_of
from rt_sched.report.gantt_text import gantt_lines
from rt_sched.trace.interval import interval_of
from rt_sched.trace.records import JobStatus, Trace


def chart(trace: Trace, start: int, end: int, rows_of: RowsOf = RowsOf.TASKS, most: int = 1000) -> Chart:
    return chart_of(interval_of(trace, start, end), start, end, rows_of, most, most)


def text(one: Chart, width: int, *, ascii_only: bool = True) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line in gantt_lines(one, width, ascii_only=ascii_only)]


def test_rows_of_tasks() -> None:
    """47 columns: 7 for the names, one for each nanosecond."""
    lines = text(chart(example(), 0, 40), 47)
    assert lines[2:5] == [
        "p0",
        "  high     #xxxxxxxxxxxxxxx##########     .....",
        "  low  ####-###############----------##!#",
    ]


def test_rows_of_processors() -> None:
    lines = text(chart(example(), 0, 40, RowsOf.PROCESSORS), 43)
    assert lines[2:4] == ["p0 BBBBAbbbbbbbbbbbbbbbaaaaaaaaaabb!b", "   A high  B low"]


def test_signs_beyond_ascii_and_what_they_mean() -> None:
    lines = text(chart(example(), 0, 40), 47, ascii_only=False)
    assert lines[3] == "  high     █▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒██████████     ·····"
    legend = " ".join(lines[lines.index("") + 1 :])
    assert legend.startswith("█ runs; · waits for its first start")
    assert legend.endswith("one column is 1e-06 ms")


def test_what_is_left_out_is_said() -> None:
    schedule = Schedule(5)
    for task in range(5):
        schedule.job(task, 10 * task, [(0, 10 * task, 10 * task + 10)], deadline=100)
    lines = text(chart(schedule.trace(50), 0, 50, most=3), 60)
    assert "the first 3 of 5 pieces of execution" in lines[-1]
    assert sum(line.lstrip().startswith("t") for line in lines) == 3


def test_nothing_in_the_window_is_an_empty_chart() -> None:
    lines = text(chart(Schedule(1).trace(50), 10, 50), 60)
    assert not any(line.lstrip().startswith("t0") for line in lines)


@st.composite
def schedules(draw: Any) -> Trace:
    """Jobs of three tasks on one core, cut into pieces at random."""
    schedule, now = Schedule(3), 0
    for _ in range(draw(st.integers(1, 6))):
        task, arrival = draw(st.integers(0, 2)), now
        pieces = []
        for _ in range(draw(st.integers(0, 3))):
            start = now + draw(st.integers(0, 3))
            now = start + draw(st.integers(1, 4))
            pieces.append((0, start, now))
        status = draw(st.sampled_from([JobStatus.COMPLETED, JobStatus.ABORTED])) if pieces else JobStatus.ABORTED
        deadline = arrival + draw(st.integers(0, 12))
        missed = bool(pieces) and deadline < now
        schedule.job(task, arrival, pieces, deadline=deadline, status=status, missed=missed)
        now += draw(st.integers(0, 3))
    return schedule.trace(now + 1)


def naive_sign(trace: Trace, task: int, time: int) -> str:
    """What one nanosecond of a task's row shows."""
    jobs, sign = trace.jobs, " "
    for job in range(len(jobs)):
        if jobs.task[job] != task:
            continue
        mine = [(int(s.start), int(s.end)) for s in _slices(trace, job)]
        end = int(jobs.finish_ns[job]) if jobs.finish_ns[job] >= 0 else max((e for _, e in mine), default=-1)
        end = max(end, int(jobs.arrival_ns[job]))
        start = int(jobs.start_ns[job]) if jobs.start_ns[job] >= 0 else end
        kinds = []
        # Whatever is, is at least one column wide.
        if int(jobs.arrival_ns[job]) <= time < max(start, int(jobs.arrival_ns[job]) + 1):
            kinds.append(".")
        if start <= time < max(end, start + 1):
            kinds.append("-")
        if any(begin <= time < finish for begin, finish in mine):
            kinds.append("#")
        if jobs.missed[job] and jobs.deadline_ns[job] == time:
            kinds.append("!")
        sign = max([sign, *kinds], key=" .-#!".index)
    return sign


class _Slice:
    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


def _slices(trace: Trace, job: int) -> list[_Slice]:
    slices = trace.slices
    return [_Slice(slices.start_ns[s], slices.end_ns[s]) for s in range(len(slices)) if slices.job[s] == job]


@settings(max_examples=60, deadline=None)
@given(trace=schedules())
def test_a_column_a_nanosecond_shows_what_happens(trace: Trace) -> None:
    columns = max(trace.horizon_ns, 20)
    lines = text(chart(trace, 0, columns), columns + 5)
    for line in lines:
        assert len(line) <= columns + 5
    for task in range(3):
        row = next((line for line in lines if line.startswith(f"  t{task}")), None)
        if row is None:
            assert task not in trace.jobs.task.tolist()
        else:
            assert row[5:].ljust(columns) == "".join(naive_sign(trace, task, time) for time in range(columns))


@settings(max_examples=40, deadline=None)
@given(
    trace=schedules(),
    width=st.integers(1, 200),
    start=st.integers(0, 30),
    length=st.integers(1, 30),
    rows_of=st.sampled_from(RowsOf),
)
def test_any_width_and_window_fit(trace: Trace, width: int, start: int, length: int, rows_of: RowsOf) -> None:
    lines = text(chart(trace, start, start + length, rows_of), width)
    assert all(line.isascii() for line in lines)
    longest = max(width, 8 // 3 + 8 + 1 + 20)
    assert all(len(line) <= longest for line in lines[:2])
