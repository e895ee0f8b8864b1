"""A stretch of a run as a chart: which one is wanted, how it is collected, and how it is printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from rich.console import Console
from rich.text import Text

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.model import System
from rt_sched.report.gantt_rows import Chart, RowsOf, chart_of
from rt_sched.report.gantt_text import gantt_lines
from rt_sched.sim.bulk import Window
from rt_sched.sim.traces import trace_of
from rt_sched.trace.interval import Interval
from rt_sched.trace.records import Trace
from rt_sched.units import NS_PER_S, floor_int, format_ns, parse_time

#: Largest charts: a file is some megabytes then, a terminal some screens.
MOST_ROWS, MOST_SLICES = 200, 4000
#: Without a window, a long hyperperiod is cut after so many of the longest periods.
_LONGEST_PERIODS = 4


class ChartedRun:
    """Collects [start_ns, end_ns) of a run that is simulated window by window."""

    def __init__(self, given: MachineInput, start_ns: int, end_ns: int) -> None:
        self._given, self._interval = given, Interval(start_ns, end_ns)
        self._names: Trace | None = None

    def see(self, window: Window) -> None:
        """Called with every window of the run."""
        part = trace_of(self._given, window.machine)
        self._interval.add(part, int(window.machine.clock[0]["now_ns"]))
        self._names = part

    def chart(self, rows_of: RowsOf) -> Chart:
        """When the run has ended."""
        if self._names is None:
            raise ValueError("no window of the run has been seen")
        interval = self._interval
        trace = interval.trace(self._names)
        return chart_of(trace, interval.start_ns, interval.end_ns, rows_of, MOST_ROWS, MOST_SLICES)


def parse_window(text: str) -> tuple[int, int]:
    """TIME..TIME as (start_ns, end_ns); raises ValueError with what is wrong."""
    begin, dots, end = text.partition("..")
    if not dots:
        raise ValueError("write TIME..TIME, such as 10ms..60ms")
    start_ns, end_ns = floor_int(parse_time(begin)), floor_int(parse_time(end))
    if start_ns < 0:
        raise ValueError("must not begin before the run does, at 0s")
    if end_ns <= start_ns:
        raise ValueError(f"ends at {format_ns(end_ns)}, which is not after its begin")
    return start_ns, end_ns


def usual_window(system: System, horizon_ns: int) -> tuple[int, int]:
    """The first hyperperiod, or as much of it as four of its longest periods; at most the run."""
    rates = [sensor.rate_hz for sensor in system.sensors]
    rates += [rate for task in system.tasks if (rate := getattr(task.activation, "rate_hz", None)) is not None]
    periods = [1 / Fraction(rate) for rate in rates]
    if not periods:
        separations = [task.separation_ns for task in system.tasks if task.separation_ns]
        return 0, min(_LONGEST_PERIODS * max(separations, default=horizon_ns), horizon_ns)
    end_ns = min(_hyperperiod_s(periods), _LONGEST_PERIODS * max(periods)) * NS_PER_S
    return 0, max(1, min(floor_int(Fraction(end_ns)), horizon_ns))


def _hyperperiod_s(periods: Sequence[Fraction]) -> Fraction:
    """The least common multiple: that of the numerators over the common divisor of the denominators."""
    return Fraction(
        math.lcm(*(period.numerator for period in periods)), math.gcd(*(period.denominator for period in periods))
    )


def print_chart(chart: Chart, title: str, console: Console) -> None:
    """In the width of the console; letters only where it cannot print more."""
    console.print(Text(title, style="italic"), soft_wrap=True)
    for line in gantt_lines(chart, console.width, ascii_only=console.options.ascii_only):
        console.print(Text.assemble(*line), soft_wrap=True)
