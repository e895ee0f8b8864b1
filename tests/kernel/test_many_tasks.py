"""Systems with more tasks than one block, or one group of blocks, of timers holds: random ones side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from agreement import disagreement
from bulk_traces import at_once, in_windows
from kernel_systems import ALL_FEATURES, random_system

from rt_sched.kernels.timers import BLOCK
from rt_sched.lowering.machine_input import FaultTarget, MachineInput, Policy, ProcessorRow, Samples, TaskRow
from rt_sched.sim import timer_sections


def side_by_side(systems: Sequence[MachineInput]) -> MachineInput:
    """One system that consists of several; what concerns one of them happens as it would without the others."""
    whole = replace(systems[0], samples=Samples())
    for number, part in enumerate(systems):
        whole = _joined(whole, part, number) if number else _named(part, number)
    return whole


def _named(part: MachineInput, number: int) -> MachineInput:
    return replace(
        part,
        sensors=tuple(f"{name}_{number}" for name in part.sensors),
        tasks=tuple(replace(one, name=f"{one.name}_{number}") for one in part.tasks),
        processors=tuple(replace(one, name=f"{one.name}_{number}") for one in part.processors),
        resources=tuple(replace(one, name=f"{one.name}_{number}") for one in part.resources),
        links=tuple(replace(one, name=f"{one.name}_{number}") for one in part.links),
    )


def _joined(whole: MachineInput, part: MachineInput, number: int) -> MachineInput:
    part = _named(part, number)
    processors, tasks = len(whole.processors), len(whole.tasks)
    sensors, links, resources = len(whole.sensors), len(whole.links), len(whole.resources)
    first_of = {FaultTarget.PROCESSOR: processors, FaultTarget.SENSOR: sensors, FaultTarget.LINK: links}

    def shifted(task: TaskRow) -> TaskRow:
        sections = tuple(replace(one, resource=one.resource + resources) for one in task.sections)
        return replace(task, processor=task.processor + processors, sections=sections)

    def scheduled(one: ProcessorRow) -> ProcessorRow:
        slices = tuple(replace(piece, tasks=tuple(task + tasks for task in piece.tasks)) for piece in one.slices)
        table = tuple(replace(entry, task=entry.task + tasks) for entry in one.table)
        return replace(one, slices=slices, table=table)

    return replace(
        whole,
        processors=(*whole.processors, *map(scheduled, part.processors)),
        sensors=(*whole.sensors, *part.sensors),
        tasks=(*whole.tasks, *map(shifted, part.tasks)),
        edges=(
            *whole.edges,
            *(
                replace(
                    edge,
                    target=edge.target + tasks,
                    sensor=None if edge.sensor is None else edge.sensor + sensors,
                    task=None if edge.task is None else edge.task + tasks,
                    link=None if edge.link is None else edge.link + links,
                )
                for edge in part.edges
            ),
        ),
        horizon_ns=max(whole.horizon_ns, part.horizon_ns),
        samples=Samples(
            np.concatenate([whole.samples.arrival_ns, part.samples.arrival_ns]),
            np.concatenate([whole.samples.sensor, part.samples.sensor + sensors]),
            np.concatenate([whole.samples.capture_ns, part.samples.capture_ns]),
        ),
        faults=(*whole.faults, *(replace(one, target=one.target + first_of[one.kind]) for one in part.faults)),
        resources=(*whole.resources, *part.resources),
        links=(*whole.links, *part.links),
        mode_changes=(
            *whole.mode_changes,
            *(
                replace(
                    one,
                    removed=tuple(task + tasks for task in one.removed),
                    added=tuple(task + tasks for task in one.added),
                )
                for one in part.mode_changes
            ),
        ),
        frequency_changes=(
            *whole.frequency_changes,
            *(replace(one, processor=one.processor + processors) for one in part.frequency_changes),
        ),
    )


@pytest.mark.parametrize("first", range(0, 48, 12))
def test_kernel_and_oracle_agree_on_many_tasks(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = side_by_side([random_system(seed, ALL_FEATURES) for seed in range(first, first + 12)])
    assert len(given.tasks) > BLOCK
    assert disagreement(given) is None
    assert at_once(given).items() <= in_windows(given, 16, 4).items()
    monkeypatch.setattr(timer_sections, "FEW", 0)
    assert disagreement(given) is None


def idle(count: int) -> MachineInput:
    """So many tasks that never have a job."""
    rows = tuple(TaskRow(f"idle{number}", 0, 10, 1, active=False) for number in range(count))
    return MachineInput((ProcessorRow("idle", Policy.EDF, True),), (), rows, (), horizon_ns=1)


def test_kernel_and_oracle_agree_among_groups_of_timers() -> None:
    systems = [random_system(seed, ALL_FEATURES) for seed in range(60, 66)]
    given = side_by_side([*systems[:3], idle(BLOCK**2), *systems[3:]])
    assert len(given.tasks) > BLOCK**2 > timer_sections.FEW
    assert disagreement(given) is None
    assert at_once(given).items() <= in_windows(given, 16, 4).items()
