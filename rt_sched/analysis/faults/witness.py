"""Legal runs in which a change of mode, or an overrun, makes a job miss its deadline, replayed by the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import fsum

from rt_sched import model
from rt_sched.analysis.faults.transitions.loads import Presence, Transition
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Witness
from rt_sched.analysis.system.tried_runs import worst_case_run
from rt_sched.analysis.system.witness import first_misses
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.units import format_ns

#: Instants of a change that are tried, periods of the slowest task that are followed, and most jobs of a run.
_MOST_INSTANTS, _PERIODS, _MOST_JOBS = 24, 6, 20_000


def transition_witnesses(system: model.System, change: Transition, open_tasks: Sequence[int]) -> dict[int, Witness]:
    """For those of `open_tasks` that miss in a run with the change: the first miss seen. `system`: as declared."""
    witnesses: dict[int, Witness] = {}
    if not open_tasks:
        return witnesses
    for at_ns, given in _runs(system, change):
        how = f"all jobs need their worst case, and {change.name} comes at {format_ns(at_ns)}"
        for index, witness in first_misses(how, given, open_tasks).items():
            # A task that is added may have missed before, in a run of its own.
            if witness.deadline_ns > at_ns:
                witnesses.setdefault(index, witness)
        if len(witnesses) == len(open_tasks):
            break
    return witnesses


def _runs(system: model.System, change: Transition) -> Iterator[tuple[int, MachineInput]]:
    """Changes at arrivals of tasks, and right after them, once the mode before has been entered."""
    before = () if change.old.name == system.modes[0].name else (model.ModeChange(0, change.old.name),)
    slowest_ns = max((task.separation_ns for task in system.tasks), default=1)
    rate = fsum(1 / task.separation_ns for task in system.tasks)
    horizon_ns = min(2 * _PERIODS * slowest_ns, int(_MOST_JOBS / rate) + 1)
    for at_ns in _instants(system, change, min(slowest_ns, horizon_ns // 2), horizon_ns // 2):
        changes = (*before, model.ModeChange(at_ns, change.new.name))
        yield at_ns, worst_case_run(system, change.old.plan, horizon_ns, mode_changes=changes)


def _instants(system: model.System, change: Transition, from_ns: int, to_ns: int) -> list[int]:
    """Arrivals of tasks, right after them, and as long after them as the work of removed tasks takes."""
    rows = change.old.setup.tasks
    removed = [
        (load.processor.name, task.level, task.name, task.wcet_ns)
        for load in change.old.loads
        for task in load.tasks
        if _is_removed(change, task.index)
    ]
    costs = [wcet_ns for *_, wcet_ns in sorted(removed)]
    instants: dict[int, None] = {}
    for late_ns in (sum(costs), 0, 1, *accumulate(costs)):
        for index in sorted(change.presence, key=lambda index: rows[index].name):
            period_ns = system.tasks[index].separation_ns
            offset_ns = rows[index].offset_ns
            arrival_ns = offset_ns + max(0, (from_ns - offset_ns) // period_ns) * period_ns
            instants |= dict.fromkeys((arrival_ns + late_ns, arrival_ns + period_ns + late_ns))
    return [one for one in instants if 0 < one <= to_ns][:_MOST_INSTANTS]


def _is_removed(change: Transition, index: int) -> bool:
    return change.presence[index] is Presence.REMOVED


def overrun_witnesses(
    system: model.System, mode: ModeLoad, scenario: model.FaultScenario, open_tasks: Sequence[int]
) -> dict[int, Witness]:
    """For those of `open_tasks` that miss in the run with the overrun in which all other jobs need their worst case."""
    if not open_tasks:
        return {}
    target = next(task for task in system.tasks if task.name == scenario.target)
    slowest_ns = max((task.separation_ns for task in system.tasks), default=1)
    rate = fsum(1 / task.separation_ns for task in system.tasks)
    wanted_ns = (max(scenario.jobs) + 2) * target.separation_ns + _PERIODS * slowest_ns
    horizon_ns = min(wanted_ns, int(_MOST_JOBS / rate) + 1)
    later = bool(system.modes) and mode.name != system.modes[0].name
    entered = (model.ModeChange(0, mode.name),) if later else ()
    given = worst_case_run(system, mode.plan, horizon_ns, mode_changes=entered, scenario=scenario)
    return first_misses(f"{scenario.name} strikes, and all other jobs need their worst case", given, open_tasks)
