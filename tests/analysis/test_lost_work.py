"""Where a budget ends jobs, the bound holds and the verdict says what is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system_text
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus

SYSTEM = """\
rt_sched: 1
name: budgets
devices: {{ecu: {{processing_elements: {{cpu: {{kind: cpu}}}}}}}}
tasks:
  heavy: {{runs_on: ecu.cpu, activation: {{period: 20ms}}, execution: {{wcet: 6ms}}, budget: {{{budget}}}}}
  plain: {{runs_on: ecu.cpu, activation: {{period: 40ms}}, execution: {{wcet: 8ms}}}}
"""


def _system(budget: str) -> System:
    text = SYSTEM.format(budget=budget)
    return load_system_text(text, file_name="budgets", base_dir=Path.cwd(), stages=ImportedStages())


def _fates(system: System) -> set[str]:
    """What becomes of jobs when all need their worst case."""
    given = lower(
        system,
        make_plan(system),
        nominal_samples(system, 10**8),
        horizon_ns=10**8,
        execution=Execution.WCET,
    )
    simulation = Simulation(given)
    simulation.run()
    return {JobStatus(status).name for status in simulation.trace().jobs.status.tolist()}


@pytest.mark.parametrize(
    ("budget", "words", "fate"),
    [
        ("limit: 4ms, on_overrun: abort", "are aborted and publish nothing", "ABORTED"),
        ("limit: 4ms, on_overrun: skip_next", "go on, and the next job is suppressed", "SUPPRESSED"),
        ("limit: 4ms, on_overrun: degrade, degraded: 1ms", "go on, and the next job does less", None),
        ("limit: 6ms, on_overrun: abort", None, None),
        ("limit: 4ms, on_overrun: log", None, None),
    ],
)
def test_the_verdict_says_what_a_budget_ends(budget: str, words: str | None, fate: str | None) -> None:
    system = _system(budget)
    report = analyze(system, make_plan(system))
    heavy, plain = report.task("heavy"), report.task("plain")
    assert report.verdict is Verdict.SCHEDULABLE
    assert plain.lost_work is None
    lost = {"ABORTED", "SUPPRESSED"} & _fates(system)
    assert lost == (set() if fate is None else {fate})
    if words is None:
        assert heavy.lost_work is None
        assert not lost
    else:
        assert heavy.lost_work == f"jobs that need more than the budget of 4ms, of up to 6ms, {words}"
