"""The examination of this machine, as the command line gives it."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from host_children import without_privileges
from rich.console import Console

from rt_sched.app.doctor.examine import document_of, examine
from rt_sched.app.doctor.names import name_findings
from rt_sched.app.doctor.tables import print_examination
from rt_sched.cli import host
from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.affinity import allowed_cores
from rt_sched.runtime.host.privileges import capabilities
from rt_sched.runtime.host.tiers import Tier, TierReport

SEVERITIES = {"ok", "note", "warning", "problem"}


def doctor(*arguments):
    command = [sys.executable, "-c", "from rt_sched.cli import main; main()", "doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def quick():
    return doctor("--quick", "--json")


def test_one_document_with_tiers_findings_and_what_was_measured(quick, tiers):
    document = json.loads(quick.stdout)
    assert quick.returncode == 0
    assert (document["schema"], document["status"], document["need"]) == ("rt-sched/doctor/1", "ok", "user")
    assert [(row["tier"], row["available"]) for row in document["tiers"]] == [
        (tier.value, report.available) for tier, report in tiers.items()
    ]
    assert document["best"] == next(tier.value for tier, report in tiers.items() if report.available)
    for finding in document["findings"]:
        assert finding["severity"] in SEVERITIES
        assert finding["area"] and finding["name"] and finding["found"]
        assert finding["severity"] in ("ok", "note") or finding["costs"]
    assert {"kernel", "rights", "processor", "memory", "python", "leftovers", "measured"} <= {
        finding["area"] for finding in document["findings"]
    }


def test_wake_ups_are_measured_in_every_tier_that_is_there(quick, tiers):
    document = json.loads(quick.stdout)
    assert [row["tier"] for row in document["wake_ups"]] == [t.value for t, report in tiers.items() if report.available]
    for row in document["wake_ups"]:
        assert 0 <= row["p50_ns"] <= row["p99_ns"] <= row["max_ns"]
        assert sum(one["count"] for one in row["histogram"]) == row["count"]
    assert document["tick_ns"] > 0
    assert all(late >= 0 for late in document["cpu_timer_lateness_ns"])


def test_the_clock_of_every_core_is_watched(quick):
    document = json.loads(quick.stdout)
    assert [row["core"] for row in document["taken_away"]] == sorted(allowed_cores())
    for row in document["taken_away"]:
        assert row["watched_ns"] >= 100_000_000
        assert all(gap >= 100_000 for gap in row["gaps_ns"])
    assert any(finding["name"] == "cores taken away" for finding in document["findings"])


def test_what_is_done_is_told_on_the_error_stream(quick):
    assert "trying the tiers ..." in quick.stderr.splitlines()


def test_a_tier_that_is_missing_ends_with_three():
    name_findings()  # loads what it needs: another user may not be able to read the interpreter's files
    without = without_privileges(lambda: examine(Tier.DEADLINE, lambda _: None, quick=True))
    assert (without["status"], without["need"]) == ("missing", "deadline")
    assert without["best"] in ("fifo", "user")
    if "CAP_SYS_NICE" in capabilities():
        rights = {row["name"]: row for row in without["findings"] if row["area"] == "rights"}
        assert rights["reservations"]["mend"]


def test_a_machine_that_allows_nothing_is_told_so():
    reports = [TierReport(tier, False, ("no",)) for tier in Tier]
    document = document_of(Tier.USER, reports, [], [])
    assert (document["status"], document["best"]) == ("missing", None)
    console = Console(file=io.StringIO(), width=100)
    print_examination(document, console)
    assert console.file.getvalue().splitlines()[-1] == "missing  tier user; none is there"


def test_a_system_without_these_means_is_told_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(DeploymentError, match="needs Linux, and this is darwin"):
        host.doctor()


def test_a_tier_that_does_not_exist():
    ended = doctor("--need", "best")
    assert ended.returncode == 2
    assert "deadline, fifo, user" in ended.stderr
