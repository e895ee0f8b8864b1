"""The safety path in a schedulability report: why a command always comes in time, and what could spoil both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.report.bounds import delays_of, milliseconds
from rt_sched.app.runs.safety_path import shared_document
from rt_sched.model import Criticality, Periodic, SafetyConcept, System, Task
from rt_sched.units import NS_PER_S, ceil_int

Row = dict[str, Any]

_LEVELS = [one.value for one in Criticality]


def safety_section(system: System, document: Mapping[str, Any]) -> Row | None:
    """None for a system without a safety concept. `document`: the report with tasks, chains and faults."""
    safety = system.safety
    if safety is None:
        return None
    by_name = {task.name: task for task in system.tasks}
    roles = {"arbiter": safety.arbiter, "primary": safety.primary, "backup": safety.backup}
    named = [(role, name) for role, name in roles.items() if name is not None]
    tasks = {(row["mode"], row["name"]): row for row in document["tasks"]}
    modes = list(dict.fromkeys(row["mode"] for row in document["tasks"]))
    return {
        "arbiter": safety.arbiter,
        "primary": safety.primary,
        "backup": safety.backup,
        "command_deadline_ns": safety.command_deadline_ns,
        "recovery_limit_ns": safety.recovery_limit_ns,
        "budgets": [
            {
                "mode": mode,
                "role": role,
                "task": name,
                "criticality": by_name[name].criticality.value,
                "pe": ".".join(by_name[name].pe),
                **{
                    key: tasks[mode, name][key]
                    for key in ("wcet_ns", "budget_ns", "response_bound_ns", "deadline_ns", "slack_ns", "verdict")
                },
            }
            for mode in modes
            for role, name in named
            if (mode, name) in tasks
        ],
        "argument": [step for mode in modes for step in _argument(system, safety, mode, tasks, document)],
        "interference": _interference(named, by_name, document["tasks"]),
        "shared": shared_document(system, ImportedStages()),
    }


def _argument(
    system: System,
    safety: SafetyConcept,
    mode: str,
    tasks: Mapping[tuple[str, str], Row],
    document: Mapping[str, Any],
) -> list[Row]:
    """The steps, each of which holds, does not, or is not known; together: a command is always issued in time."""
    row = tasks.get((mode, safety.arbiter))
    if row is None:
        return [_step(mode, f"{safety.arbiter} does not exist in this mode, so nobody commands", holds=False)]
    steps = []
    activation = next(task for task in system.tasks if task.name == safety.arbiter).activation
    if isinstance(activation, Periodic):
        period_ns = ceil_int(NS_PER_S / activation.rate_hz)
        text = f"{safety.arbiter} runs by the clock, every {milliseconds(period_ns)}: no silence stops it"
        steps.append(_step(mode, text, holds=True))
    else:
        text = f"{safety.arbiter} runs when a message comes: when none comes, it gives no command"
        steps.append(_step(mode, text, holds=False))
    bound_ns = row["response_bound_ns"]
    if bound_ns is None:
        steps.append(_step(mode, f"no bound on the response of {safety.arbiter} was found", holds=None))
    else:
        text = (
            f"each of its jobs ends within {milliseconds(bound_ns)}, its deadline is {milliseconds(row['deadline_ns'])}"
        )
        steps.append(_step(mode, text, holds=bound_ns <= row["deadline_ns"]))
        if isinstance(activation, Periodic):
            gap_ns = ceil_int(NS_PER_S / activation.rate_hz) + bound_ns
            steps.append(
                _step(mode, f"so from one command to the next it is {milliseconds(gap_ns)} at most", holds=True)
            )
    steps += [
        step
        for role, name in (("primary", safety.primary), ("backup", safety.backup))
        if name is not None
        for step in _path_steps(safety, mode, role, name, document)
    ]
    if safety.backup is None:
        steps.append(
            _step(mode, "there is no backup: when the primary falls silent, nothing takes its place", holds=False)
        )
    return steps


def _path_steps(safety: SafetyConcept, mode: str, role: str, name: str, document: Mapping[str, Any]) -> list[Row]:
    """The latency of every chain that brings this command, against the command deadline."""
    limit_ns = safety.command_deadline_ns
    chains = [one for one in document["chains"] if one["mode"] == mode and one["path"][-2:] == [name, safety.arbiter]]
    if not chains:
        text = f"no chain of the file ends in {name} and {safety.arbiter}: the way of the {role} command is not bounded"
        return [_step(mode, text, holds=None)]
    steps = []
    for chain in chains:
        bound_ns = chain["latency_bound_ns"]
        if bound_ns is None:
            steps.append(_step(mode, f"{role} path {chain['name']}: no bound on its latency", holds=None))
        elif limit_ns is None:
            text = (
                f"{role} path {chain['name']}: from capture to command at most {milliseconds(bound_ns)}; without limit"
            )
            steps.append(_step(mode, text, holds=None))
        else:
            text = (
                f"{role} path {chain['name']}: from capture to command at most {milliseconds(bound_ns)}, "
                f"the command deadline is {milliseconds(limit_ns)}"
            )
            steps.append(_step(mode, text, holds=True if bound_ns <= limit_ns else None))
    return steps


def _step(mode: str, text: str, *, holds: bool | None) -> Row:
    return {"mode": mode, "text": text, "holds": holds}


def _interference(
    named: Sequence[tuple[str, str]], by_name: Mapping[str, Task], rows: Sequence[Mapping[str, Any]]
) -> list[Row]:
    """What delays the arbiter, primary and backup, with the level of whoever does; one below theirs is marked."""
    found = []
    for role, name in named:
        level = by_name[name].criticality.value
        for row in rows:
            if row["name"] != name:
                continue
            for delay in delays_of(row):
                other = by_name.get(delay["by"].split(" in ")[0])
                other_level = None if other is None else other.criticality.value
                found.append(
                    {
                        "mode": row["mode"],
                        "role": role,
                        "task": name,
                        "criticality": level,
                        "by": delay["by"],
                        "by_criticality": other_level,
                        "kind": delay["kind"],
                        "value_ns": delay["value_ns"],
                        "lower": other_level is not None and _LEVELS.index(other_level) < _LEVELS.index(level),
                    }
                )
    return found
