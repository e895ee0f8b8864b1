"""Who a blocking is due to, by name, under fixed priorities and under EDF with ceilings."""

from __future__ import annotations

import pytest
from hand_made import element, planned, section, task

from rt_sched.analysis import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import TermKind
from rt_sched.analysis.system.engine import loads_with_arrivals
from rt_sched.app.explain.job import explanation
from rt_sched.app.explain.text import explanation_text
from rt_sched.model import Policy, Protocol

#: `loud` and `last` hold something for 4, but nobody before `last` may be kept out by what `loud` holds.
TASKS = (
    task("first", 2, 30, 10, sections=(section(0, 1, "r"),)),
    task("middle", 2, 40, 20),
    task("loud", 5, 60, 30, sections=(section(0, 4, "own"),)),
    task("last", 8, 80, 60, sections=(section(1, 5, "r"), section(6, 7, "own"))),
)
PROTOCOLS = {"r": Protocol.PRIORITY_CEILING, "own": Protocol.PRIORITY_CEILING}


def _blocking(policy: Policy, name: str, tasks=TASKS):
    system, plan = planned([element(policy=policy)], tasks, PROTOCOLS)
    found = analyze(system, plan, methods=("fp_response_time", "edf_response_time")).task(name).bound
    kinds = (TermKind.BLOCKING, TermKind.NON_PREEMPTIVE_REGION)
    return [(term.by, term.value_ns) for term in found.terms if term.kind in kinds]


def test_a_section_of_the_same_length_that_keeps_nobody_out_is_not_named():
    assert _blocking(Policy.FIXED_PRIORITY, "middle") == [("last in r", 4)]


def test_under_edf_the_section_and_what_starts_meanwhile_are_told_apart():
    # While `last` holds r nobody with a deadline of 10 or more starts; what may start before `middle` does is `first`.
    assert _blocking(Policy.EDF, "middle") == [("last in r", 4), ("jobs that the ceiling lets start meanwhile", 2)]


@pytest.mark.parametrize("name", ["first", "middle", "loud"])
def test_the_terms_under_edf_add_up(name):
    system, plan = planned([element(policy=Policy.EDF)], TASKS, PROTOCOLS)
    found = analyze(system, plan, methods=("edf_response_time",)).task(name).bound
    assert sum(term.value_ns for term in found.terms) == found.value_ns
    assert not any(term.by == "jobs with later deadlines" for term in found.terms)


def test_parts_that_nobody_preempts_are_told_beside_sections_under_edf():
    system, plan = planned([element(policy=Policy.EDF, points_only=True)], TASKS, PROTOCOLS)
    report = analyze(system, plan)
    (mode,) = mode_loads(system, plan)
    shown = explanation_text(explanation(report, "middle", mode.name, loads_with_arrivals(mode, METHODS)))
    assert "last, with a later deadline, may have begun 1ns before and goes on for 7ns" in shown
    assert "non preemptive region (last): 7ns" in shown
    assert "blocking (last in r): 4ns" in shown
