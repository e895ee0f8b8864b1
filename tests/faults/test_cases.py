"""Every row of the table: the monitor that it names finds the fault first, within the time that it declares."""

import pytest
from fault_cases import CASES, PAGE, drive, kinds_table, outcome_of, processes_table, table

from rt_sched.app.faults.all_findings import all_findings
from rt_sched.app.faults.prepared import Struck
from rt_sched.faults.kinds import KINDS
from rt_sched.faults.outcomes import Verdict
from rt_sched.faults.script import FaultScript, Injection, Trigger
from rt_sched.faults.supervision import task_findings


@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(case) for case in CASES])
def test_the_monitor_finds_it_in_time(number):
    case, outcome = CASES[number], outcome_of(number)
    assert outcome.finding is not None
    assert (outcome.finding.monitor, outcome.verdict) == (case.monitor, Verdict.DETECTED)
    assert outcome.finding.monitor in case.injection.kind.monitors
    after_ns = outcome.finding.time_ns - outcome.strike.begin_ns
    assert after_ns > 0
    assert (outcome.declared_ns is None) == (not case.injection.strikes_all)
    assert outcome.declared_ns is None or after_ns <= outcome.declared_ns


def test_there_is_a_row_of_every_kind_that_lockstep_carries_out():
    # The example has no links.
    assert {case.kind for case in CASES} == {kind.name for kind in KINDS if kind.lockstep} - {"link.loss"}


def test_nothing_is_found_without_a_fault():
    assert list(all_findings(Struck(drive(), FaultScript(()), "none"))) == []


def test_the_page_has_the_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert kinds_table() in page, "run python tests/faults/fault_cases.py"
    assert processes_table() in page, "run python tests/faults/fault_cases.py"
    assert table() in page, "run python tests/faults/fault_cases.py"


def test_no_task_is_missed_when_the_recording_is_over():
    trace = drive().trace
    assert trace.horizon_ns > trace.samples.arrival_ns.max()
    assert list(task_findings(drive().system, trace, drive().active)) == []


def test_an_overrun_within_the_deadline_is_found_by_nobody():
    fault = Injection("f", "overrun", "ego_motion", Trigger(), jobs=(3,), demand_ns=1_600_000)
    struck = Struck(drive(), FaultScript((fault,)), "case")
    assert list(all_findings(struck, ())) == []
