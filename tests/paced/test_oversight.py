"""What a supervisor notices of its workers, on a clock and journals of its own; faults that strike real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.cpu_time import CpuTimer, cpu_time_ns, process_clock, thread_clock
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.restart import Restarts
from rt_sched.runtime.paced.faults.alerts import AlertKind, Alerts
from rt_sched.runtime.paced.faults.injector import Blow, Deed, Injector, Landed, Moment
from rt_sched.runtime.paced.faults.marks import MarkedTimer, Marks
from rt_sched.runtime.paced.faults.oversight import Oversight, Watched
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.roster import Roster
from rt_sched.runtime.paced.sections.locks import Locks
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.trace.records import JobStatus
from rt_sched.trace.setup import Protocol, ResourceRow, Setup
from rt_sched.units import NS_PER_MS, NS_PER_S

MS = NS_PER_MS


@pytest.fixture
def journal() -> Journal:
    return Journal(0, 100)


class HandClock(PacedClock):
    """A clock that shows what it is set to."""

    def __init__(self, shown_ns: int) -> None:
        super().__init__()
        self.begin(time.monotonic_ns())
        self.shown_ns = shown_ns

    def now_ns(self) -> int:
        return self.shown_ns


def job(journal: Journal, start_ns: int, finish_ns: int | None = None) -> None:
    row = journal.rows[journal.begin(start_ns, start_ns, start_ns + 100 * MS, 1)]
    row["start_ns"] = start_ns
    if finish_ns is not None:
        row["finish_ns"], row["status"] = finish_ns, JobStatus.COMPLETED


def overseen(journal: Journal, now_ns: int, until_ns: int = NS_PER_S) -> tuple[Oversight, Alerts]:
    alerts = Alerts(1)
    watched = {0: Watched(journal, 50 * MS, 80 * MS)}
    return Oversight(watched, alerts, HandClock(now_ns), until_ns), alerts


def test_a_task_whose_jobs_end_in_time_is_alive(journal: Journal) -> None:
    job(journal, 0, 30 * MS)
    oversight, alerts = overseen(journal, 75 * MS)
    oversight.look()
    assert alerts.read() == ()


def test_a_task_that_falls_silent_is_told_once(journal: Journal) -> None:
    job(journal, 0, 30 * MS)
    job(journal, 40 * MS)
    oversight, alerts = overseen(journal, 81 * MS)
    for _ in range(3):
        oversight.look()
    (alert,) = alerts.read()
    assert (alert.task, alert.kind) == (0, AlertKind.SILENT)
    assert alert.time_ns == 81 * MS


def test_what_never_begins_is_told_and_what_is_over_is_not(journal: Journal) -> None:
    oversight, alerts = overseen(journal, 60 * MS)
    oversight.look()
    assert [alert.kind for alert in alerts.read()] == [AlertKind.SILENT]
    oversight, alerts = overseen(journal, 60 * MS, until_ns=55 * MS)
    oversight.look()
    assert alerts.read() == ()


def test_a_worker_may_stand_still_for_as_long_as_it_may(journal: Journal) -> None:
    job(journal, 0, 100 * MS)
    alerts, clock = Alerts(1), HandClock(100 * MS)
    oversight = Oversight({0: Watched(journal, 50 * MS, 20 * MS)}, alerts, clock, NS_PER_S)
    oversight.stopped(0, 77)
    assert [(alert.kind, alert.time_ns, alert.pid) for alert in alerts.read()] == [(AlertKind.STOPPED, 100 * MS, 77)]
    clock.shown_ns = 120 * MS
    assert oversight.overdue() == []
    clock.shown_ns += 1
    assert oversight.overdue() == [77] and oversight.wait_ns == 0
    oversight.goes_on(77)
    assert oversight.overdue() == []


def test_a_used_up_budget_is_told_from_other_stops() -> None:
    marks, pid = Marks(2), os.getpid()
    timer = MarkedTimer(CpuTimer(thread_clock(0), signal.SIGCONT), marks, 1)
    assert not marks.is_used_up(1, pid)
    timer.arm(10 * NS_PER_S)
    assert not marks.is_used_up(1, pid)
    timer.arm(1)
    until_ns = cpu_time_ns(process_clock(pid)) + MS
    while cpu_time_ns(process_clock(pid)) < until_ns:
        pass
    assert marks.is_used_up(1, pid) and not marks.is_used_up(0, pid)
    timer.disarm()
    assert not marks.is_used_up(1, pid)


class Struck:
    """Two tasks with a process each, and an injector that runs in a third one."""

    def __init__(self) -> None:
        self.clock, self.roster, self.marks = PacedClock(), Roster(2), Marks(2)
        self.journals, self.published = [Journal(0, 10), Journal(0, 10)], shared_array(np.int64, 3)
        self.published[:] = -1
        self.locks = Locks(Setup((), (), (), (), resources=(ResourceRow("bus", Protocol.NONE),)), (), ())
        self.restarts = Restarts(["ecu"], 1)
        self.cuts, self.cut_at = shared_array(np.int64, 2), shared_array(np.int64, 1)
        self.pids = [fork(lambda: time.sleep(60)) for _ in range(2)]
        self.roster.places["pid"][:] = self.pids
        self.injector: Injector | None = None
        self._process = 0

    def begin(self, *blows: Blow) -> None:
        self.injector = Injector(
            blows,
            self.clock,
            self.roster,
            self.marks,
            self.journals,
            self.published,
            lambda _device: self.pids,
            self.locks,
            self.restarts.order,
            self._cut,
            lambda name: self.pids[1] if name == "rt-health" else 0,
        )
        injector = self.injector
        self._process = fork(lambda: injector.run(real_time=False))
        self.clock.begin(time.monotonic_ns() + 20 * MS)

    def _cut(self, _link: str, begin_ns: int, until_ns: int | None) -> int:
        self.cut_at[0] = self.clock.now_ns()
        self.cuts[:] = begin_ns, until_ns or 0
        return 1

    def state(self, task: int) -> str:
        return Path(f"/proc/{self.pids[task]}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]

    def wait_for(self, there: Callable[[], bool]) -> bool:
        until = time.monotonic() + 10
        while not there() and time.monotonic() < until:
            time.sleep(0.002)
        return there()

    def landed(self) -> Landed:
        """The first blow, once it is written down."""
        injector = self.injector
        assert injector is not None and self.wait_for(lambda: injector.landed()[0].time_ns is not None)
        return injector.landed()[0]

    def end(self) -> None:
        self.clock.end()
        for pid in (*self.pids, self._process):
            if pid:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


@pytest.fixture
def struck() -> Iterator[Struck]:
    found = Struck()
    yield found
    found.end()


def test_a_worker_is_killed_at_its_instant_and_kept_away(struck: Struck) -> None:
    struck.begin(Blow(Moment(30 * MS), Deed.KILL, 1, 200 * MS))
    assert struck.wait_for(lambda: struck.state(1) == "Z")
    assert struck.state(0) != "Z"
    landed = struck.landed()
    assert (landed.hit, landed.pid) == (1, struck.pids[1])
    assert landed.time_ns is not None and landed.time_ns >= 30 * MS
    assert struck.marks.away_until_ns(1) == landed.time_ns + 200 * MS


@pytest.mark.parametrize(("deed", "state"), [(Deed.KILL, "Z"), (Deed.STALL, "T")])
def test_a_process_of_the_run_is_struck_by_its_name(struck: Struck, deed: Deed, state: str) -> None:
    struck.begin(Blow(Moment(30 * MS), deed, lasts_ns=10_000 * MS, process="rt-health"))
    assert struck.wait_for(lambda: struck.state(1) == state)
    assert struck.state(0) not in "ZT"
    assert (struck.landed().hit, struck.landed().pid) == (1, struck.pids[1])


@pytest.mark.parametrize("deed", [Deed.KILL, Deed.STALL])
def test_a_worker_that_has_ended_already_is_not_struck(struck: Struck, deed: Deed) -> None:
    os.kill(struck.pids[1], signal.SIGKILL)
    assert struck.wait_for(lambda: struck.state(1) == "Z")
    struck.begin(Blow(Moment(30 * MS), deed, 1, 200 * MS))
    assert (struck.landed().hit, struck.landed().pid) == (0, struck.pids[1])


def test_a_process_that_is_not_there_is_not_struck(struck: Struck) -> None:
    struck.begin(Blow(Moment(30 * MS), Deed.KILL, process="nobody"))
    assert struck.landed().hit == 0


@pytest.mark.parametrize("lasts_ns", [None, 200 * MS])
def test_a_link_is_lost_from_the_instant_that_is_noted(struck: Struck, lasts_ns: int | None) -> None:
    struck.begin(Blow(Moment(30 * MS), Deed.CUT, lasts_ns=lasts_ns, link="ethernet"))
    landed = struck.landed()
    assert (landed.hit, landed.pid) == (1, 0) and landed.time_ns is not None
    assert struck.cut_at[0] < landed.time_ns, "whoever carries knows of it before"
    assert struck.cuts.tolist() == [landed.time_ns, 0 if lasts_ns is None else landed.time_ns + lasts_ns]


def test_a_worker_stands_still_for_its_time(struck: Struck) -> None:
    struck.begin(Blow(Moment(0), Deed.STALL, 0, 150 * MS))
    assert struck.wait_for(lambda: struck.state(0) == "T")
    assert struck.wait_for(lambda: struck.state(0) != "T")
    landed = struck.landed()
    assert landed.time_ns is not None and struck.clock.now_ns() - landed.time_ns >= 150 * MS


def test_a_resource_is_held_for_its_time_by_nobody(struck: Struck) -> None:
    struck.begin(Blow(Moment(10 * MS), Deed.HOLD, lasts_ns=150 * MS, resource=0))
    injector = struck.injector
    assert injector is not None and struck.wait_for(lambda: injector.landed()[0].hit == 1)
    (landed,) = injector.landed()
    assert landed.time_ns is not None and landed.pid == 0
    assert not struck.locks.acquire(0, 1, struck.clock.now_ns)
    assert struck.clock.now_ns() - landed.time_ns >= 150 * MS
    struck.locks.release(0)
    assert struck.locks.record(set()).abandoned == ()


def test_events_set_blows_off_and_not_before(struck: Struck) -> None:
    struck.begin(
        Blow(Moment(10 * MS, sample=2), Deed.KILL, 0),
        Blow(Moment(0, job=(1, 1)), Deed.KILL, 1),
        Blow(Moment(0, job=(0, 9)), Deed.KILL, 0),
    )
    struck.clock.sleep_until(60 * MS)
    assert struck.injector is not None
    assert [one.time_ns for one in struck.injector.landed()] == [None, None, None]
    struck.published[2] = published_ns = struck.clock.now_ns()
    job(struck.journals[1], 1 * MS)
    job(struck.journals[1], started_ns := struck.clock.now_ns())
    assert struck.wait_for(lambda: struck.state(0) == struck.state(1) == "Z")
    first, second, third = struck.injector.landed()
    assert first.time_ns is not None and first.time_ns >= published_ns + 10 * MS
    assert second.time_ns is not None and second.time_ns >= started_ns
    assert third.time_ns is None


def test_a_device_is_lost_with_all_its_processes(struck: Struck) -> None:
    struck.begin(Blow(Moment(0), Deed.LOSE, device="ecu"))
    assert struck.wait_for(lambda: struck.state(0) == struck.state(1) == "Z")
    assert (struck.landed().hit, struck.landed().pid) == (2, 0)
    assert not struck.restarts.take("ecu", 10**12)


def test_a_device_that_is_lost_for_a_while_is_to_be_started_anew_then(struck: Struck) -> None:
    struck.begin(Blow(Moment(0), Deed.LOSE, lasts_ns=100 * MS, device="ecu"))
    struck_ns = struck.landed().time_ns or 0
    assert not struck.restarts.take("ecu", struck_ns + 100 * MS - 1)
    assert struck.restarts.take("ecu", struck_ns + 100 * MS)
