"""What a search covers: which targets its runs have, and what of the system file they leave out."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.config.problems import unknown
from rt_sched.errors import ConfigError, Problem
from rt_sched.lowering.changes import first_tasks
from rt_sched.model import System


def check_targets(system: System, targets: Sequence[str]) -> None:
    """Raises ConfigError for every target that there is not, or not in the mode in which runs begin."""
    paths = {task.name: (task.name,) for task in system.tasks} | {chain.name: chain.path for chain in system.chains}
    absent = {task.name for task in system.tasks} - first_tasks(system)
    problems = []
    for name in targets:
        if name not in paths:
            problems.append(Problem("--target", 0, 0, name, unknown("task or chain", name, list(paths))))
        elif missing := [task for task in paths[name] if task in absent]:
            reason = f"runs stay in mode {system.modes[0].name}, which lacks {', '.join(missing)}"
            problems.append(Problem("--target", 0, 0, name, reason))
    if problems:
        raise ConfigError(problems)


def left_out(system: System) -> list[str]:
    """What may happen in the system and in no run of a search, in words."""
    found = []
    if len(system.modes) > 1:
        first, *others = (mode.name for mode in system.modes)
        found.append(f"runs stay in mode {first}; not searched: {', '.join(others)}, and changes of mode")
    if system.fault_scenarios:
        names = ", ".join(one.name for one in system.fault_scenarios)
        found.append(f"runs are without faults; not searched: {names}")
    return found
