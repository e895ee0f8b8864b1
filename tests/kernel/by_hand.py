"""Small systems written by hand and their schedules as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, SliceKind, Trace
from rt_sched.trace.records import EventKind

#: Marks behind the times of a slice that is not execution.
_MARKS = {SliceKind.EXECUTE: "", SliceKind.SWITCH: "~", SliceKind.SPIN: "*"}


def cpu(policy: Policy = Policy.FIXED_PRIORITY, preemptive: bool = True, **more: Any) -> ProcessorRow:
    return ProcessorRow(more.pop("name", "cpu"), policy, preemptive, **more)


def task(name: str, demand_ns: int, *at_ns: int, level: int = 0, deadline_ns: int = 1000, **more: Any) -> TaskRow:
    """A task whose jobs arrive at `at_ns`, or with `period_ns`."""
    period_ns = more.pop("period_ns", None)
    processor = more.pop("processor", 0)
    if period_ns is None:
        more["explicit_arrivals_ns"] = more.get("explicit_arrivals_ns", at_ns or (0,))
    else:
        more["rate_hz"] = Fraction(10**9, period_ns)
    return TaskRow(name, processor, deadline_ns, demand_ns, level, **more)


def system(
    tasks: Sequence[TaskRow],
    processors: ProcessorRow | Sequence[ProcessorRow] | None = None,
    horizon_ns: int = 100,
    **more: Any,
) -> MachineInput:
    if processors is None:
        processors = cpu()
    if isinstance(processors, ProcessorRow):
        processors = (processors,)
    more.setdefault("sensors", ())
    more.setdefault("edges", ())
    return MachineInput(processors=tuple(processors), tasks=tuple(tasks), horizon_ns=horizon_ns, **more)


def run(given: MachineInput) -> Trace:
    """The trace, the same in bulk and stepped."""
    simulation, stepped = Simulation(given), Simulation(given, rows=1)
    simulation.run()
    while stepped.step() is not None:
        pass
    assert schedule(stepped.trace()) == schedule(simulation.trace())
    assert events(stepped.trace()) == events(simulation.trace())
    return simulation.trace()


def schedule(trace: Trace, core: int | None = None) -> str:
    """Slices in order of begin, such as "a 0-3, b 3-4~": ~ is a switch cost, * a spin; a later job is a1, a2 ..."""
    rows = []
    slices = trace.slices
    for where, job, start, end, kind in zip(
        slices.processor, slices.job, slices.start_ns, slices.end_ns, slices.kind, strict=True
    ):
        if core is None or where == core:
            number = trace.jobs.number[job]
            name = trace.task_names[trace.jobs.task[job]] + (str(number) if number else "")
            rows.append((start, where, f"{name} {start}-{end}{_MARKS[kind]}"))
    return ", ".join(text for _, _, text in sorted(rows))


def events(trace: Trace, *kinds: EventKind) -> list[tuple[int, str, str, int]]:
    """(time, kind, task or processor, value) of the log, of these kinds or all."""
    rows = []
    table = trace.events
    for time, kind, processor, task_index, value in zip(
        table.time_ns.tolist(), table.kind, table.processor, table.task, table.value.tolist(), strict=True
    ):
        if not kinds or kind in kinds:
            who = trace.task_names[task_index] if task_index >= 0 else str(processor)
            rows.append((time, EventKind(kind).name, who, value))
    return rows


def finishes(trace: Trace, name: str) -> list[int]:
    """Finish of every job of a task, -1 when it has not completed."""
    return trace.jobs.finish_ns[trace.jobs.task == trace.task_names.index(name)].tolist()


def statuses(trace: Trace, name: str) -> list[str]:
    mine = trace.jobs.status[trace.jobs.task == trace.task_names.index(name)]
    return [JobStatus(status).name for status in mine]


def worst_response(trace: Trace, name: str) -> int:
    mine = (trace.jobs.task == trace.task_names.index(name)) & (trace.jobs.finish_ns >= 0)
    return int((trace.jobs.finish_ns - trace.jobs.arrival_ns)[mine].max())
