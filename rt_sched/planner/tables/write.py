"""A table in the system it is for: entries of its elements, offsets and cores of its tasks; also as text to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rt_sched.model import Periodic, Plan, Policy, System, TableEntry
from rt_sched.units import format_ns


@dataclass(frozen=True, slots=True)
class ElementTable:
    """The cycle of one `table` element, all cores together: an entry is for the core of its task."""

    device: str
    pe: str
    cycle_ns: int
    entries: tuple[TableEntry, ...]

    @property
    def name(self) -> str:
        """As `runs_on` takes it."""
        return f"{self.device}.{self.pe}"


def with_tables(system: System, plan: Plan, tables: Sequence[ElementTable], offsets: Mapping[str, int]) -> System:
    """The system with the tables, and with new offsets of timed tasks. Tasks of elements with several cores are bound
    to those that `plan` puts them on.
    """
    table_of = {(one.device, one.pe): one for one in tables}
    devices = tuple(
        replace(
            device,
            processing_elements=tuple(
                pe
                if (table := table_of.get((device.name, pe.name))) is None
                else replace(pe, policy=Policy.TABLE, table=table.entries, table_cycle_ns=table.cycle_ns)
                for pe in device.processing_elements
            ),
        )
        for device in system.devices
    )
    cores = bound_cores(system, plan, tables)
    tasks = tuple(
        replace(
            task,
            core=cores.get(task.name, task.core),
            activation=replace(task.activation, offset_ns=offsets[task.name])
            if task.name in offsets and isinstance(task.activation, Periodic)
            else task.activation,
        )
        for task in system.tasks
    )
    return replace(system, devices=devices, tasks=tasks)


def with_table_policies(plan: Plan, tables: Sequence[ElementTable]) -> Plan:
    """The plan with the policy `table` on the processors of the tables."""
    here = {(one.device, one.pe) for one in tables}
    processors = tuple(
        replace(one, policy=Policy.TABLE) if (one.device, one.pe) in here else one for one in plan.processors
    )
    return replace(plan, processors=processors)


def bound_cores(system: System, plan: Plan, tables: Sequence[ElementTable]) -> dict[str, int]:
    """The cores of the tasks of those elements that have more than one."""
    here = {(one.device, one.pe) for one in tables}
    several = {
        (device.name, pe.name) for device in system.devices for pe in device.processing_elements if pe.cores > 1
    } & here
    found = {}
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        processor = plan.processors[placement.processor]
        if (processor.device, processor.pe) in several and task.pe == (processor.device, processor.pe):
            found[task.name] = processor.core
    return found


def tables_as_yaml(system: System, plan: Plan, tables: Sequence[ElementTable], offsets: Mapping[str, int]) -> str:
    """What a system file needs to have these tables, to be merged into its own `devices` and `tasks`."""
    lines = ["devices:"]
    for device, group in groupby(sorted(tables, key=lambda one: one.device), key=lambda one: one.device):
        of_chip = next(one.soc is not None for one in system.devices if one.name == device)
        lines += [f"  {device}:", "    adjust:" if of_chip else "    processing_elements:"]
        for table in group:
            lines += [f"      {table.pe}:", "        policy: table", "        table:"]
            lines += [f"          cycle: {format_ns(table.cycle_ns)}", "          entries:"]
            lines += [
                f"            - {{at: {format_ns(entry.start_ns)}, length: {format_ns(entry.length_ns)}, "
                f"task: {entry.task}}}"
                for entry in table.entries
            ]
    cores = bound_cores(system, plan, tables)
    changed = [task.name for task in system.tasks if task.name in cores or task.name in offsets]
    if changed:
        lines.append("tasks:")
    for name in changed:
        lines.append(f"  {name}:")
        if name in cores:
            lines.append(f"    core: {cores[name]}")
        if name in offsets:
            lines += ["    activation:", f"      offset: {format_ns(offsets[name])}"]
    return "\n".join(lines) + "\n"
