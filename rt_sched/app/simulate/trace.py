"""The trace of a simulated run, written or drawn window by window: the ending of its file's name says in which form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rt_sched.app.simulate.gantt import ChartedRun
from rt_sched.lowering.machine_input import MachineInput, Policy
from rt_sched.model import Fault, System
from rt_sched.record.job_lines import JOB_SET_HEADER, PLAIN_HEADER, TIMES, LineFile
from rt_sched.record.part_file import PartFile
from rt_sched.record.perfetto import Mark, PerfettoFile
from rt_sched.report.gantt_page import chart_page, chart_svg
from rt_sched.report.gantt_rows import Chart, RowsOf
from rt_sched.sim.bulk import Window
from rt_sched.sim.window_traces import finished_jobs, window_trace
from rt_sched.trace.records import JobStatus

See = Callable[[Window], None]

_STATUS = {int(status): status.name.lower() for status in JobStatus}


def trace_form(path: Path) -> str | None:
    """The ending that decides, None for one that no form has."""
    return next((ending for ending in FORMS if path.name.endswith(ending)), None)


@dataclass(frozen=True, slots=True)
class TracedRun:
    """Which run is traced, and how. `path`: a file whose ending decides, None for none.

    `window_ns`: what charts show, by rows of `rows_of`; `title`: what stands above them. `show`: is given a chart of
    the run, None where nobody wants one.
    """

    run: int
    path: Path | None
    window_ns: tuple[int, int]
    rows_of: RowsOf
    title: str
    show: Callable[[Chart], None] | None = None

    @contextmanager
    def open(self, system: System, faults: tuple[Fault, ...], given: MachineInput) -> Iterator[See]:
        """What is to see every window of the run. The file appears when the block ends well."""
        with ExitStack() as stack:
            sees = []
            if self.path is not None:
                form = FORMS[trace_form(self.path) or ".csv"]
                sees.append(stack.enter_context(form(self, self.path, system, faults, given)))
            charted = ChartedRun(given, *self.window_ns)
            if self.show is not None:
                sees.append(charted.see)

            def see(window: Window) -> None:
                for one in sees:
                    one(window)

            yield see
            if self.show is not None:
                self.show(charted.chart(self.rows_of))


@contextmanager
def _plain(
    _traced: TracedRun, path: Path, _system: System, _faults: tuple[Fault, ...], given: MachineInput
) -> Iterator[See]:
    names = np.array([task.name for task in given.tasks], object)
    with LineFile(path, PLAIN_HEADER) as file:

        def see(window: Window) -> None:
            jobs = window.machine.jobs[finished_jobs(window)]
            columns = [names[jobs["task"]].tolist(), *(jobs[name].tolist() for name in TIMES)]
            columns += [[_STATUS[code] for code in jobs["status"].tolist()]]
            columns += [jobs[name].tolist() for name in ("missed", "overrun")]
            file.add([",".join(map(str, row)) for row in zip(*columns, strict=True)])

        yield see


@contextmanager
def _job_set(
    _traced: TracedRun, path: Path, _system: System, _faults: tuple[Fault, ...], given: MachineInput
) -> Iterator[See]:
    levels = np.array([task.level for task in given.tasks], np.int64)
    policies = np.array([given.processors[task.processor].policy for task in given.tasks], np.int64)
    with LineFile(path, JOB_SET_HEADER) as file:

        def see(window: Window) -> None:
            rows = finished_jobs(window)
            jobs, policy = window.machine.jobs[rows], policies[window.machine.jobs["task"][rows]]
            priority = np.where(policy == Policy.EDF, jobs["deadline_ns"], levels[jobs["task"]])
            priority = np.where(policy == Policy.FIFO, jobs["release_ns"], priority)
            columns = (
                jobs["task"] + 1,
                window.bulk.rows["ident"][rows] + 1,
                jobs["release_ns"],
                jobs["release_ns"],
                jobs["declared_ns"],
                jobs["declared_ns"],
                jobs["deadline_ns"],
                priority,
            )
            lines = zip(*(column.tolist() for column in columns), strict=True)
            file.add([", ".join(map(str, line)) for line in lines])

        yield see


@contextmanager
def _perfetto(
    _traced: TracedRun, path: Path, system: System, faults: tuple[Fault, ...], given: MachineInput
) -> Iterator[See]:
    marks = [Mark(fault.time_ns, f"fault {fault}") for fault in faults]
    with PerfettoFile(path, {chain.name: chain.path for chain in system.chains}) as file:

        def see(window: Window) -> None:
            file.add(window_trace(given, window), marks)
            marks.clear()

        yield see


@contextmanager
def _drawn(
    traced: TracedRun, path: Path, _system: System, _faults: tuple[Fault, ...], given: MachineInput
) -> Iterator[See]:
    draw = chart_page if path.name.endswith(".html") else chart_svg
    with PartFile(path) as file:
        charted = ChartedRun(given, *traced.window_ns)
        yield charted.see
        text = draw(charted.chart(traced.rows_of), traced.title)
        with file.told():
            file.stream.write(text.encode())


Form = Callable[[TracedRun, Path, System, tuple[Fault, ...], MachineInput], AbstractContextManager[See]]

#: Ending of a file's name -> who writes it; the first that fits decides.
FORMS: Mapping[str, Form] = {
    ".sag.csv": _job_set,
    ".csv": _plain,
    ".pftrace": _perfetto,
    ".svg": _drawn,
    ".html": _drawn,
}
#: Those that show a window of the run, not all of it.
DRAWN = (".svg", ".html")
