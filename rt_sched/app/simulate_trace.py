"""The trace of a simulated run, written window by window: the ending of its file's name says in which form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np

from rt_sched.lowering.machine_input import MachineInput, Policy
from rt_sched.model import Fault, System
from rt_sched.record.job_lines import JOB_SET_HEADER, PLAIN_HEADER, TIMES, LineFile
from rt_sched.record.perfetto import Mark, PerfettoFile
from rt_sched.sim.bulk import Window
from rt_sched.sim.window_traces import finished_jobs, window_trace
from rt_sched.trace.records import JobStatus

See = Callable[[Window], None]

_STATUS = {int(status): status.name.lower() for status in JobStatus}


def trace_form(path: Path) -> str | None:
    """The ending that decides, None for one that no form has."""
    return next((ending for ending in FORMS if path.name.endswith(ending)), None)


@contextmanager
def open_trace(path: Path, system: System, faults: tuple[Fault, ...], given: MachineInput) -> Iterator[See]:
    """What is to see every window of the run. The file appears when the block ends well."""
    with FORMS[trace_form(path) or ".csv"](path, system, faults, given) as see:
        yield see


@contextmanager
def _plain(path: Path, _system: System, _faults: tuple[Fault, ...], given: MachineInput) -> Iterator[See]:
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
def _job_set(path: Path, _system: System, _faults: tuple[Fault, ...], given: MachineInput) -> Iterator[See]:
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
def _perfetto(path: Path, system: System, faults: tuple[Fault, ...], given: MachineInput) -> Iterator[See]:
    marks = [Mark(fault.time_ns, f"fault {fault}") for fault in faults]
    with PerfettoFile(path, {chain.name: chain.path for chain in system.chains}) as file:

        def see(window: Window) -> None:
            file.add(window_trace(given, window), marks)
            marks.clear()

        yield see


#: Ending of a file's name -> who writes it; the first that fits decides.
FORMS: Mapping[str, Callable[[Path, System, tuple[Fault, ...], MachineInput], AbstractContextManager[See]]] = {
    ".sag.csv": _job_set,
    ".csv": _plain,
    ".pftrace": _perfetto,
}
