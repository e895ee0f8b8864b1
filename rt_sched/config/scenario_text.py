"""A scenario as the text of a scenario file: a sample or a job a line, what is usual left out."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.config.plan_text import word
from rt_sched.model import JobChoice, Scenario
from rt_sched.units import format_ns

SCENARIO_VERSION = 1


def scenario_text(scenario: Scenario) -> str:
    """The scenario file of `scenario`."""
    lines = [
        "# Found by rt-sched search. Run by rt-sched simulate SYSTEM --scenario FILE.",
        f"rt_sched_scenario: {SCENARIO_VERSION}",
        f"system: {word(scenario.system)}",
        f"system_sha256: {scenario.system_sha256}",
        f"plan_sha256: {scenario.plan_sha256}",
    ]
    if scenario.shown is not None:
        shown = scenario.shown
        value = f"quantity: {shown.quantity}, value: {format_ns(shown.value_ns)}"
        lines += ["# What this run was kept for.", f"shows: {{target: {word(shown.target)}, {value}}}"]
    lines += [f"duration: {format_ns(scenario.horizon_ns)}"]
    if scenario.clocks:
        lines += ["# By how much the clocks of devices are late.", "clocks:"]
        lines += [f"  {word(device)}: {format_ns(late_ns)}" for device, late_ns in scenario.clocks]
    if scenario.samples:
        lines += ["# All samples of these sensors; others deliver at their nominal instants.", "samples:"]
        for sensor, samples in scenario.samples:
            lines += [f"  {word(sensor)}:" + ("" if samples else " []")]
            lines += [
                f"    - {{capture: {format_ns(one.capture_ns)}, arrival: {format_ns(one.arrival_ns)}}}"
                for one in samples
            ]
    if scenario.tasks:
        lines += [
            "# The first jobs of these tasks, in order; of a sporadic task these are all. Jobs that are not here, and",
            "# what is not said of one, are as usual: released at their arrival, with the longest times.",
            "tasks:",
        ]
        for task, jobs in scenario.tasks:
            lines += [f"  {word(task)}:" + ("" if jobs else " []"), *_job_lines(jobs)]
    return "\n".join(lines) + "\n"


def _job_lines(jobs: Sequence[JobChoice]) -> list[str]:
    lines = []
    for job in jobs:
        said = [] if job.arrival_ns is None else [f"arrival: {format_ns(job.arrival_ns)}"]
        if job.jitter_ns:
            said.append(f"jitter: {format_ns(job.jitter_ns)}")
        if job.demand_ns is not None:
            said.append(f"demand: {format_ns(job.demand_ns)}")
        if job.suspensions_ns is not None:
            said.append(f"suspensions: [{', '.join(map(format_ns, job.suspensions_ns))}]")
        lines.append(f"    - {{{', '.join(said)}}}")
    return lines
