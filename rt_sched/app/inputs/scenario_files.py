"""Scenarios that come from files, checked against their system before anything runs them, and those that go there."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from rt_sched.config.plan_text import plan_text, system_sha256
from rt_sched.config.scenario_file import load_scenario_file
from rt_sched.config.scenario_text import scenario_text
from rt_sched.errors import DeploymentError
from rt_sched.lowering.freedoms import freedoms
from rt_sched.lowering.scenarios import scenario_problems
from rt_sched.model import Plan, Scenario, System


def plan_sha256(system: System, plan: Plan) -> str:
    """Hash of every decision of a plan."""
    return hashlib.sha256(plan_text(system, plan).encode()).hexdigest()


def signed(scenario: Scenario, system: System, plan: Plan) -> Scenario:
    """The scenario with the hashes of what it was found with."""
    return replace(scenario, system_sha256=system_sha256(system), plan_sha256=plan_sha256(system, plan))


def scenario_for(system: System, plan: Plan, file: Path) -> tuple[Scenario, list[str]]:
    """The scenario in a file, and notes where it was found with another state of the system or another plan.

    Raises ConfigError with every problem of the file, and with everything in it that the system does not allow.
    """
    read = load_scenario_file(file, system)
    reasons = scenario_problems(freedoms(system, plan), read.scenario)
    if reasons:
        raise read.refusal(reasons)
    notes = []
    if read.made_for_another:
        notes.append(f"{file} was found with another state of {system.name}; it is one of its legal runs all the same")
    elif read.scenario.plan_sha256 != plan_sha256(system, plan):
        notes.append(f"{file} was found under another plan, so times may differ from those that it was kept for")
    return read.scenario, notes


def write_scenario(scenario: Scenario, path: Path) -> None:
    """Raises DeploymentError when it cannot be written."""
    write_text(scenario_text(scenario), path)


def write_text(text: str, path: Path) -> None:
    """A text file, and the folders that it needs. Raises DeploymentError when they cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be written ({error.strerror})") from error
