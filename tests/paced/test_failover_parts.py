"""What a takeover in a paced run consists of: who owns what, what is lost, what is processed once more, who is dead."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.errors import DeploymentError
from rt_sched.model import Edge, EdgeKind, Overflow, Takeover
from rt_sched.runtime.host.child import fork, in_child
from rt_sched.runtime.host.huge_pages import collapse_memory
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.answers import ALL_THERE, NOBODY, NOMINAL, Answer, DeviceFailover, Standby
from rt_sched.runtime.paced.devices.failover import Failover, most_notices
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats, Pulse
from rt_sched.runtime.paced.devices.ownership import Epoch, Ownership, Tenure, alone
from rt_sched.runtime.paced.devices.relocation import lost_with_processor, processors_of
from rt_sched.runtime.paced.devices.watch import Sign, Watch
from rt_sched.runtime.paced.faults.strike import Strike, Striker, open_job
from rt_sched.runtime.paced.jobs.arrivals import MessageArrivals, TimedArrivals
from rt_sched.runtime.paced.jobs.inbox import Inbox
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.roster import Roster
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.trace.records import JobStatus
from rt_sched.trace.setup import EdgeKind as Kind
from rt_sched.trace.setup import EdgeRow, FaultRow, FaultTarget, Role, Setup, TaskChangeRow, TaskRow
from rt_sched.transport import Channel, ChannelReader, Segment
from rt_sched.transport.endings import is_ending

from .test_inbox import Tray

WEIGHTS = (("rear", Fraction(1, 2)),)
#: From an arrival to its deadline, by which a return waits for jobs.
_PATIENCE_NS = 10_000_000


def _row(name: str = "task", processor: int = 0, **more: Any) -> TaskRow:
    return TaskRow(name, processor, 10_000_000, 1_000_000, **more)


def _answer(devices: set[str], moves: dict[int, int], **more: Any) -> Answer:
    takeover = Takeover(tuple(f"device:{one}" for one in sorted(devices)), weights=WEIGHTS)
    given: dict[str, Any] = {"dropped": frozenset(), "redone": frozenset(), "at_once": {}} | more
    return Answer(takeover, frozenset(devices), moves, **given)


def _plan(*answers: Answer) -> DeviceFailover:
    """Tasks 0 and 1 are on a, 2 on b, which watches; two standbys on c."""
    standbys = (Standby(0, _row(processor=2), "c"), Standby(1, _row(processor=2), "c"))
    return DeviceFailover(
        devices=("a", "b", "c"),
        watcher="b",
        device_of=("a", "a", "b"),
        deadline_ns=(_PATIENCE_NS,) * 3,
        answers=(*answers, ALL_THERE),
        standbys=standbys,
        period_ns=5_000_000,
        timeout_ns=12_000_000,
        decision_ns=3_000_000,
        trust_ns=50_000_000,
    )


@dataclass(frozen=True)
class _Rig:
    failover: Failover
    ownership: Ownership
    roster: Roster
    journals: list[Journal]
    clock: PacedClock


def _failover(*answers: Answer) -> _Rig:
    plan, roster, clock = _plan(*answers), Roster(3, 2), PacedClock()
    ownership, journals = Ownership(3, plan.answers, most_notices(plan)), [Journal(0, 16) for _ in range(3)]
    clock.begin(time.monotonic_ns())
    failover = Failover(plan, Heartbeats(plan.devices), ownership, roster, journals, clock, real_time=False)
    return _Rig(failover, ownership, roster, journals, clock)


def test_a_lost_device_passes_its_tasks_on_and_leaves_the_others() -> None:
    rig = _failover(_answer({"a"}, {0: 0, 1: 1}))
    failover, ownership = rig.failover, rig.ownership
    failover.lose("a", Sign.PROCESS_END)
    assert [ownership.owner(task) for task in range(3)] == [0, 1, NOMINAL]
    (epoch,) = ownership.epochs()
    assert epoch.answer == 0 and epoch.switch_ns == epoch.noticed_ns + 3_000_000
    assert ownership.in_force(epoch.switch_ns - 1) is None
    assert ownership.in_force(epoch.switch_ns) is ownership.answers[0]
    assert [one.with_device for one in rig.roster.losses()] == [True, True]
    (notice,) = failover.notices()
    assert (notice.device, notice.sign) == ("a", Sign.PROCESS_END)
    assert not rig.clock.ended


def test_what_nothing_answers_stays_lost_and_changes_nothing_else() -> None:
    rig = _failover(_answer({"a"}, {0: 0, 1: 1}))
    failover, ownership = rig.failover, rig.ownership
    failover.lose("a", Sign.HEARTBEAT)
    failover.lose("c", Sign.HEARTBEAT)
    assert [ownership.owner(task) for task in range(3)] == [NOBODY, NOBODY, NOMINAL]
    first, second = ownership.epochs()
    assert second.answer is None and ownership.in_force(second.switch_ns + 1) is ownership.answers[first.answer or 0]


def test_tasks_that_a_takeover_drops_or_does_not_move_have_no_owner() -> None:
    rig = _failover(_answer({"a"}, {0: 0}, dropped=frozenset({2})))
    rig.failover.lose("a", Sign.HEARTBEAT)
    assert [rig.ownership.owner(task) for task in range(3)] == [0, NOBODY, NOBODY]


def test_a_process_that_lost_its_task_may_not_go_on_and_the_new_one_knows_what_is_in_force() -> None:
    answer = _answer({"a"}, {0: 0}, at_once={1: 7})
    ownership = Ownership(2, (answer,), 2)
    old, new, reader = Tenure(ownership, 0, NOMINAL), Tenure(ownership, 0, 0), Tenure(ownership, 1, NOMINAL, (0,))
    assert old.holds and not new.holds and new.switch is None
    ownership.hand_over(0, 0)
    ownership.open_epoch(Epoch(0, 90, 100))
    assert new.holds and not old.holds
    assert new.switch == Epoch(0, 90, 100) and old.switch is None
    assert (new.weights(99), new.weights(100)) == ((), WEIGHTS)
    assert (reader.new_readers(99), reader.new_readers(100)) == (0, 1)
    assert reader.extra_arrivals() == [107]


def test_an_arrival_at_once_that_a_later_switch_comes_before_does_not_come() -> None:
    ownership = Ownership(1, (_answer({"a"}, {}, at_once={0: 50}), _answer({"a", "c"}, {})), 2)
    ownership.open_epoch(Epoch(0, 0, 100))
    ownership.open_epoch(Epoch(1, 110, 120))
    assert Tenure(ownership, 0, NOMINAL).extra_arrivals() == []


def _clock_at(run_ns: int) -> PacedClock:
    """A clock that shows so much, and hardly goes on."""
    clock = PacedClock(Fraction(1, 1000))
    clock.begin(time.monotonic_ns() - 1000 * run_ns)
    return clock


def test_jobs_between_loss_and_switch_are_lost_and_the_cycle_goes_on() -> None:
    clock, journal = _clock_at(45_000_000), Journal(0, 64)
    ownership = Ownership(1, (_answer({"a"}, {0: 0}, at_once={0: 1_000_000}),), 1)
    ownership.open_epoch(Epoch(0, 30_000_000, 35_000_000))
    for arrival_ns in (0, 10_000_000):
        journal.note(JobStatus.COMPLETED, arrival_ns, arrival_ns + 1, 1)
    arrivals = TimedArrivals(
        _row(rate_hz=Fraction(100)), clock, journal, 10**9, os.getpid(), Tenure(ownership, 0, NOMINAL)
    )
    arrivals.take_over(35_000_000, redo=False)
    assert journal.read()["arrival_ns"].tolist() == [0, 10_000_000, 20_000_000, 30_000_000]
    assert journal.read()["status"].tolist()[2:] == [JobStatus.LOST] * 2
    first, second = arrivals.wait(), arrivals.wait()
    assert first is not None and (first.arrival_ns, first.is_extra) == (36_000_000, True)
    assert second is not None and (second.arrival_ns, second.is_extra) == (40_000_000, False)


def test_additional_jobs_do_not_shift_the_cycle_of_whoever_goes_on_later() -> None:
    clock, journal = _clock_at(25_000_000), Journal(0, 64)
    journal.note(JobStatus.COMPLETED, 0, 1, 1)
    number = journal.begin(5_000_000, 5_000_000, 6_000_000, 1, is_extra=True)
    journal.rows[number]["status"] = JobStatus.COMPLETED
    journal.note(JobStatus.COMPLETED, 10_000_000, 11_000_000, 1)
    arrival = TimedArrivals(_row(rate_hz=Fraction(100)), clock, journal, 10**9, 2, alone()).wait()
    assert arrival is not None and arrival.arrival_ns == 20_000_000


@pytest.mark.parametrize("behind", [0, 1, 7])
def test_a_timer_that_overran_makes_no_burst_and_what_it_missed_is_counted(behind: int) -> None:
    clock, journal = _clock_at(10_000_000 * (2 + behind) + 3_000_000), Journal(0, 64)
    for number in range(2):
        journal.note(JobStatus.COMPLETED, 10_000_000 * number, 10_000_000 * number + 1, 1)
    arrival = TimedArrivals(_row(rate_hz=Fraction(100)), clock, journal, 10**9, 2, alone()).wait()
    assert arrival is not None and arrival.arrival_ns == 10_000_000 * (2 + behind)
    rows = journal.read()[2:]
    assert rows["arrival_ns"].tolist() == [10_000_000 * (2 + number) for number in range(behind)]
    assert (rows["status"] == JobStatus.SUPPRESSED).all()


def _edge(role: Role) -> EdgeRow:
    return EdgeRow(target=0, input="x", kind=Kind.QUEUE, role=role, task=1)


def _message_arrivals(trays: list[Tray], role: Role, tolerance_ns: int = 0) -> tuple[MessageArrivals, Journal]:
    journal = Journal(len(trays), 64)
    inbox = Inbox([_edge(role) for _ in trays], trays, tolerance_ns)
    bell: Any = SimpleNamespace(count=lambda: 0, wait=lambda seen, until: False)
    return MessageArrivals(_row(), inbox, bell, PacedClock(), journal, os.getpid()), journal


@given(
    st.lists(st.integers(0, 99), unique=True, max_size=12).map(sorted),
    st.integers(0, 99),
    st.booleans(),
)
def test_messages_before_the_switch_are_lost_and_the_last_one_is_kept(
    published_ns: list[int], switch_ns: int, redo: bool
) -> None:
    tray = Tray()
    notes = [tray.put(number, at_ns, at_ns) for number, at_ns in enumerate(published_ns)]
    arrivals, journal = _message_arrivals([tray], Role.EACH)
    arrivals.take_over(switch_ns, redo=redo)
    before = [number for number, at_ns in enumerate(published_ns) if at_ns < switch_ns]
    after = [number for number, at_ns in enumerate(published_ns) if at_ns >= switch_ns]
    assert journal.read()["inputs"][:, 0].tolist() == before
    assert (journal.read()["status"] == JobStatus.LOST).all()
    served = []
    for _ in range(len(after) + (redo and bool(before))):
        arrival = arrivals.wait()
        assert arrival is not None
        served.append((arrival.bound[0].head.number, arrival.is_extra))
    kept = [(number, True) for number in before[-1:] if redo]
    assert served == kept + [(number, False) for number in after]
    held = {number for number, is_extra in served if is_extra}
    assert all(notes[number].released for number in before if number not in held)


def test_a_message_that_was_read_before_is_kept_unless_a_newer_one_came_since() -> None:
    tray = Tray()
    tray.put(4, 10, 10)
    tray.notes.clear()  # the process that was lost had taken it
    arrivals, _ = _message_arrivals([tray], Role.EACH)
    arrivals.take_over(50, redo=True)
    kept = arrivals.wait()
    assert kept is not None and (kept.arrival_ns, kept.bound[0].head.number) == (50, 4)
    tray.put(5, 60, 60)
    again, _ = _message_arrivals([tray], Role.EACH)
    again.take_over(50, redo=True)
    only = again.wait()
    assert only is not None and (only.bound[0].head.number, only.is_extra) == (5, False)


@pytest.mark.parametrize(("apart_ns", "belongs"), [(3, True), (30, False)])
def test_pairs_are_kept_only_where_they_belong_together(apart_ns: int, belongs: bool) -> None:
    left, right = Tray(), Tray()
    left.put(0, 10, 10)
    right.put(1, 10 + apart_ns, 12)
    left.notes.clear()
    right.notes.clear()
    inbox = Inbox([_edge(Role.PAIRED), _edge(Role.PAIRED)], [left, right], 5)
    assert set(inbox.kept({}, 50)) == ({0, 1} if belongs else set())


@contextmanager
def _supervisors(beats: Heartbeats, *devices: str) -> Iterator[dict[str, int]]:
    """A process for each device that has joined and does nothing."""

    def supervisor(device: str) -> None:
        beats.join(device)
        time.sleep(60)

    pids = {device: fork(lambda device=device: supervisor(device)) for device in devices}  # type: ignore[misc]
    try:
        while not all(beats.supervisor(device) for device in devices):
            time.sleep(0.001)
        yield pids
    finally:
        for pid in pids.values():
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _watch(beats: Heartbeats, devices: list[str], slack_ns: int) -> tuple[Watch, list[tuple[str, Any]]]:
    """The second holds losses, with how they were noticed, and what was trusted again, with its first sign of life."""
    clock: PacedClock = PacedClock()
    found: list[tuple[str, Any]] = []
    clock.begin(time.monotonic_ns())

    def back(device: str, since_ns: int) -> bool:
        found.append((device, since_ns))
        return True

    watch = Watch(
        beats,
        devices,
        clock,
        look_ns=10,
        timeout_ns=1000,
        slack_ns=slack_ns,
        trust_ns=5000,
        lost=lambda device, sign: found.append((device, sign)),
        back=back,
    )
    return watch, found


def test_a_beat_stands_for_life_and_its_absence_or_a_death_for_a_loss() -> None:
    beats = Heartbeats(["a", "c"])
    with _supervisors(beats, "a", "c") as pids:
        watch, found = _watch(beats, ["a", "c"], 10**12)
        beats.beat("a")
        beats.beat("c")
        watch.do(beats.stamp_ns("a") + 1)
        assert found == []
        os.kill(beats.group("a")[0], signal.SIGKILL)
        os.waitpid(pids["a"], 0)
        Pulse(beats, "c", 5).do(time.monotonic_ns())
        watch.do(beats.stamp_ns("c") + 999)
        assert found == [("a", Sign.PROCESS_END)]
        watch.do(beats.stamp_ns("c") + 1000)
        assert found[1:] == [("c", Sign.HEARTBEAT)]


def test_a_watch_that_stood_still_itself_gives_the_others_one_more_timeout() -> None:
    beats = Heartbeats(["a"])
    with _supervisors(beats, "a"):
        watch, found = _watch(beats, ["a"], 50)
        beats.beat("a")
        at_ns = beats.stamp_ns("a")
        watch.do(at_ns + 1)
        watch.do(at_ns + 10**6)
        watch.do(at_ns + 10**6 + 40)
        assert found == []
        for later_ns in range(50, 1000, 10):
            watch.do(at_ns + 10**6 + later_ns)
        assert found == []
        watch.do(at_ns + 10**6 + 1000)
        assert found == [("a", Sign.HEARTBEAT)]


def test_an_end_is_free_as_soon_as_its_owner_runs_no_more() -> None:
    edge = Edge(EdgeKind.QUEUE, 4, Overflow.DROP_OLDEST)
    with Segment.create([Channel("c", 64, (ChannelReader("r", edge),))]) as segment:
        ready = shared_array(np.int64, 1)

        def owner() -> None:
            segment.writer("c")
            ready[0] = 1
            time.sleep(60)

        pid = fork(owner)
        while not ready[0]:
            time.sleep(0.001)
        assert not is_ending(pid)
        with pytest.raises(DeploymentError, match=f"process {pid} is the writer"):
            segment.writer("c")
        os.kill(pid, signal.SIGKILL)
        while not is_ending(pid):
            time.sleep(0.0001)
        segment.writer("c").close()
        os.waitpid(pid, 0)
        assert is_ending(pid)


def test_a_strike_waits_for_a_job_and_says_which_one_it_hit() -> None:
    clock, journal = PacedClock(), Journal(0, 4)
    victim = fork(lambda: time.sleep(60))
    striker = Striker([Strike(1_000_000, signal.SIGKILL, lambda: [victim], (journal,))], clock, real_time=False)
    pid = fork(striker.run)
    journal.note(JobStatus.COMPLETED, 0, 1, 1)
    clock.begin(time.monotonic_ns())
    time.sleep(0.02)
    assert striker.struck()[0].struck_ns is None and open_job(journal) is None
    journal.rows[journal.begin(5, 5, 6, 1)]["start_ns"] = 5
    assert os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1]) == -signal.SIGKILL
    os.waitpid(pid, 0)
    (struck,) = striker.struck()
    assert (struck.hit, struck.journal, struck.job) == (1, 0, 1)


def test_jobs_are_where_their_task_was_and_the_lost_ones_miss_nothing() -> None:
    setup = Setup(
        (),
        (),
        (_row("a", 0), _row("b", 1)),
        (),
        faults=(FaultRow(100, FaultTarget.PROCESSOR, 0),),
        task_changes=(TaskChangeRow(120, 0, _row("a", 2), moved=True),),
    )
    task = np.array([0, 0, 0, 0, 1])
    arrival_ns = np.array([10, 90, 110, 130, 90])
    status = np.array([JobStatus.LOST, JobStatus.LOST, JobStatus.LOST, JobStatus.COMPLETED, JobStatus.LOST])
    assert processors_of(setup, task, arrival_ns).tolist() == [0, 0, 0, 2, 1]
    assert lost_with_processor(setup, task, arrival_ns, status).tolist() == [False, True, True, False, False]


def test_jobs_of_a_return_miss_nothing_and_those_after_it_do() -> None:
    setup = Setup(
        (),
        (),
        (TaskRow("a", 0, 50, 1),),
        (),
        faults=(FaultRow(100, FaultTarget.PROCESSOR, 0, 200),),
        task_changes=(
            TaskChangeRow(120, 0, TaskRow("a", 1, 50, 1), moved=True),
            TaskChangeRow(300, 0, TaskRow("a", 0, 50, 1), moved=True),
        ),
    )
    arrival_ns = np.array([90, 110, 240, 260, 310, 320, 330])
    lost, done = JobStatus.LOST, JobStatus.COMPLETED
    status = np.array([done, lost, lost, lost, lost, done, lost])
    found = lost_with_processor(setup, np.zeros(7, np.int64), arrival_ns, status)
    assert found.tolist() == [False, True, False, True, True, False, False]


def test_memory_that_is_put_together_keeps_what_it_holds() -> None:
    def held() -> tuple[int, bool]:
        pieces = [bytes([number % 251]) * 5000 for number in range(4000)]
        done = collapse_memory()
        return done, all(piece == bytes([number % 251]) * 5000 for number, piece in enumerate(pieces))

    done, same = in_child(held, 60)
    assert same and done % (2 << 20) == 0
