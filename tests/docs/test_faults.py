"""The page on faults names its methods as they are, and its example gives what it says."""

from __future__ import annotations

from pathlib import Path

from rt_sched.analysis import analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.transitions.loads import transition
from rt_sched.analysis.faults.transitions.methods import split_methods
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.config import load_system_text
from rt_sched.planner import make_plan

DOCS = Path(__file__).resolve().parents[2] / "docs"


def _first_system(page: str):
    text = (DOCS / "concepts" / page).read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    return load_system_text(f"rt_sched: 1\nname: page\n{text}", file_name=page, base_dir=".", stages=None)


def test_methods_are_those_that_exist() -> None:
    system = _first_system("modes-and-faults.md")
    old, new = mode_loads(system, make_plan(system))
    page = (DOCS / "faults.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| `") and "mode_change`" in line]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    wanted = [
        (f"`{one.name}`", ", ".join(policy.value for policy in one.policies), one.source)
        for one in split_methods(transition(old, new))
    ]
    assert [(name, policies, source) for name, policies, _, source in rows] == wanted


def test_the_concept_pages_tell_what_is_found() -> None:
    system = _first_system("modes-and-faults.md")
    plan = make_plan(system)
    found = analyze_faults(system, plan, analyze(system, plan))
    handling = found.scenarios[0].cases[0].handling
    assert handling is not None
    assert (handling.start_latency_ns, handling.first_output_ns) == (5_000_000, 6_000_000)
    assert (handling.reaction_ns, handling.margin_ns, handling.limit_ns) == (11_000_000, 29_000_000, 100_000_000)
    assert found.verdict.value == "schedulable"
    system = _first_system("weakly-hard.md")
    plan = make_plan(system)
    ((_, misses),) = analyze_faults(system, plan, analyze(system, plan)).misses
    assert (misses.task, misses.at_most, misses.k) == ("control", 1, 3)
