"""Scripts made ready for paced runs, and what monitors find in them, without any process."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fault_cases import ROOT
from test_runs import SYSTEM

from rt_sched.app.faults.paced_findings import found_afterwards, found_in_run
from rt_sched.app.faults.paced_strikes import PacedStruck
from rt_sched.app.faults.prepared import Drive, Struck, drive_of
from rt_sched.errors import ConfigError
from rt_sched.faults.declared import declared_paced_ns
from rt_sched.faults.kinds import BY_NAME, WATCH
from rt_sched.faults.moments import known_ns, root_of
from rt_sched.faults.outcomes import Verdict, outcomes
from rt_sched.faults.script import Damage, Event, FaultScript, Injection, Trigger
from rt_sched.runtime.health_order import Noticed, WatchLoss
from rt_sched.runtime.paced.devices.failover import Notice
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.faults.alerts import Alert, AlertKind
from rt_sched.runtime.paced.faults.injector import Deed, Landed, Moment
from rt_sched.runtime.paced.roster import WorkerLoss
from rt_sched.runtime.paced.sections.records import SectionsRecord
from rt_sched.trace.records import SampleStatus, Trace
from rt_sched.units import NS_PER_MS
from sensors.recording import open_recording

MS = NS_PER_MS
AT = Trigger(400 * MS)


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Drive:
    path = tmp_path_factory.mktemp("paced") / "system.yaml"
    path.write_text(SYSTEM, encoding="utf-8")
    return drive_of(path, open_recording(ROOT / "replay_data" / "hazard_short.mcap"), None, None, 0)


def struck_by(drive: Drive, *faults: Injection) -> PacedStruck:
    return PacedStruck(drive, FaultScript(faults, 1), "script", None)


def fault(kind: str, target: str, trigger: Trigger = AT, name: str = "f", **values: Any) -> Injection:
    return Injection(name, kind, target, trigger, **values)


def as_planned(struck: PacedStruck, **values: Any) -> SimpleNamespace:
    """What a run would leave in which everything was published when it was due."""
    samples = struck.timeline.samples
    usual = {
        "published_ns": samples.arrival_ns.copy(),
        "losses": (),
        "alerts": (),
        "landed": (),
        "notices": (),
        "link_notices": (),
        "actuator": None,
        "sections": SectionsRecord(),
        "health": None,
    }
    return SimpleNamespace(**(usual | values))


def lost(device: str, noticed_ns: int) -> Notice:
    return Notice(device, noticed_ns, noticed_ns, Sign.PROCESS_END)


def trace_of(drive: Drive, struck: PacedStruck) -> Trace:
    samples = struck.timeline.samples
    there = np.full_like(samples.status, SampleStatus.DELIVERED)
    return replace(drive.trace, samples=replace(samples, status=there))


def test_faults_after_faults_go_back_to_what_sets_the_first_one_off() -> None:
    first = fault("process.kill", "a", Trigger(5, Event.JOB, "a", 3), "first")
    second = fault("process.kill", "a", Trigger(7, Event.FAULT, "first"), "second")
    script = FaultScript((first, second, fault("imu.loss", "imu", Trigger(1, Event.FAULT, "second"), "third")))
    assert root_of(script, script.faults[2].trigger) == Trigger(13, Event.JOB, "a", 3)
    assert known_ns(Trigger(9), lambda *_: None, lambda *_: None) == 9
    assert known_ns(Trigger(9, Event.SAMPLE, "x", 1), lambda *_: 100, lambda *_: None) == 109
    assert known_ns(Trigger(9, Event.JOB, "x", 1), lambda *_: 100, lambda *_: None) is None
    assert known_ns(Trigger(9, Event.JOB, "x", 1), lambda *_: None, lambda *_: 50) == 59


def test_blows_wait_for_instants_and_events(drive: Drive) -> None:
    struck = struck_by(
        drive,
        fault("process.kill", "backup", AT, "a", restart_ns=9),
        fault("process.stall", "arbiter", Trigger(2 * MS, Event.JOB, "backup", 4), "b", stall_ns=7),
        fault("process.kill", "backup", Trigger(3 * MS, Event.SAMPLE, "lidar_top", 5), "c"),
        fault("process.kill", "backup", Trigger(0, Event.SAMPLE, "imu", 5), "d"),
    )
    at, job, sample, unread = struck.blows()
    names = drive.task_names
    assert (at.moment, at.deed, at.task, at.lasts_ns) == (Moment(400 * MS), Deed.KILL, names.index("backup"), 9)
    assert (job.moment, job.deed, job.lasts_ns) == (Moment(2 * MS, job=(names.index("backup"), 4)), Deed.STALL, 7)
    assert sample.moment.sample is not None and sample.moment.after_ns == 3 * MS and sample.lasts_ns is None
    assert drive.timeline.samples.number[sample.moment.sample] == 5
    assert unread.moment == Moment(drive.sample_ns("imu", 5) or 0)  # nobody reads it, so nobody publishes it


def test_a_message_that_is_dropped_still_sets_off_what_it_would_have(drive: Drive) -> None:
    lost = fault("message.drop", "lidar_top", Trigger(0, Event.SAMPLE, "lidar_top", 4), "a", lasts_ns=10 * MS)
    kill = fault("process.kill", "backup", Trigger(0, Event.SAMPLE, "lidar_top", 4), "b")
    struck = struck_by(drive, lost, kill)
    assert len(struck.timeline.samples) == len(drive.timeline.samples) - 1
    assert struck.blows()[0].moment == Moment((drive.sample_ns("lidar_top", 4) or 0) + struck.shift_ns)


def test_sensor_faults_take_what_the_clock_decides_and_nothing_else(drive: Drive) -> None:
    timed = fault("lidar.freeze", "lidar_top", Trigger(MS, Event.JOB, "arbiter", 40))
    (strike,) = struck_by(drive, timed).on_messages
    assert strike.begin_ns == 401 * MS
    with pytest.raises(ConfigError) as error:
        struck_by(
            drive,
            fault("lidar.freeze", "lidar_top", Trigger(0, Event.JOB, "backup", 3), "early"),
            fault("device.loss", "gateway", AT, "watcher"),
            fault("process.kill", "backup", Trigger(0, Event.SAMPLE, "imu", 99_999), "never"),
        )
    assert len(error.value.problems) == 3


def test_a_link_is_lost_for_a_while(drive: Drive) -> None:
    struck = struck_by(drive, fault("link.loss", "ethernet", AT, lasts_ns=30 * MS))
    (blow,) = struck.blows()
    assert (blow.deed, blow.link, blow.task, blow.lasts_ns) == (Deed.CUT, "ethernet", None, 30 * MS)
    outcome = as_planned(struck, landed=(Landed(401 * MS, 1, 0),))
    struck.seen = trace_of(drive, struck), outcome, ()  # type: ignore[assignment]
    (strike,) = struck.strikes()
    assert (strike.begin_ns, strike.end_ns) == (401 * MS - struck.shift_ns, 431 * MS - struck.shift_ns)


def test_a_device_is_struck_as_a_whole(drive: Drive) -> None:
    struck = struck_by(drive, fault("device.loss", "orin", Trigger(MS, Event.JOB, "backup", 4)))
    (blow,) = struck.blows()
    assert (blow.deed, blow.device, blow.task) == (Deed.LOSE, "orin", None)
    assert struck.loses_devices
    outcome = as_planned(struck, landed=(Landed(401 * MS, 3, 0),), notices=(lost("orin", 408 * MS),))
    trace = trace_of(drive, struck)
    struck.seen = trace, outcome, ()  # type: ignore[assignment]
    (found,) = outcomes(struck.strikes(), found_in_run(struck, outcome), None, None)  # type: ignore[arg-type]
    assert found.verdict is Verdict.DETECTED
    assert found.finding is not None and found.finding.monitor == "process_end"
    assert found.declared_ns == declared_paced_ns(drive.system, BY_NAME["device.loss"], "process_end")


def test_a_device_that_comes_back_ends_its_loss_and_is_no_finding(drive: Drive) -> None:
    struck = struck_by(drive, fault("device.loss", "orin", Trigger(401 * MS), lasts_ns=100 * MS))
    (blow,) = struck.blows()
    assert (blow.deed, blow.lasts_ns) == (Deed.LOSE, 100 * MS)
    back = Notice("orin", 1100 * MS, 520 * MS, Sign.HEARTBEAT, is_back=True)
    outcome = as_planned(struck, landed=(Landed(401 * MS, 3, 0),), notices=(lost("orin", 408 * MS), back))
    trace = trace_of(drive, struck)
    struck.seen = trace, outcome, ()  # type: ignore[assignment]
    (strike,) = struck.strikes()
    assert (strike.begin_ns, strike.end_ns) == (401 * MS, 520 * MS)
    found = [one for one in found_in_run(struck, outcome) if one.what == "orin"]  # type: ignore[arg-type]
    assert [one.time_ns for one in found] == [408 * MS]


@pytest.mark.parametrize(
    "one",
    [
        fault("lidar.loss", "lidar_top"),
        fault("lidar.freeze", "lidar_top"),
        fault("lidar.sector", "lidar_top", from_deg=Fraction(-90), to_deg=Fraction(90)),
        fault("imu.stuck", "imu"),
        fault("imu.saturate", "imu"),
        fault("payload.corrupt", "lidar_top", how=Damage.CUT),
        fault("message.delay", "lidar_top", by_ns=200 * MS),
        fault("message.duplicate", "lidar_top"),
        fault("message.reorder", "lidar_top"),
        fault("message.drop", "lidar_top"),
        fault("clock.step", "lidar_top", by_ns=20 * MS),
    ],
    ids=lambda one: one.kind_name,
)
def test_monitors_find_what_reaches_the_publisher(drive: Drive, one: Injection) -> None:
    struck = struck_by(drive, one)
    findings = found_afterwards(struck, trace_of(drive, struck), as_planned(struck))  # type: ignore[arg-type]
    struck.seen = trace_of(drive, struck), as_planned(struck), ()  # type: ignore[assignment]
    (outcome,) = outcomes(struck.strikes(), findings, None, None)
    assert outcome.verdict is Verdict.DETECTED
    assert outcome.finding is not None and outcome.finding.monitor in BY_NAME[one.kind_name].found_paced_by


def test_the_watch_over_sensors_is_struck_by_its_name(drive: Drive) -> None:
    killed, stalled = fault("process.kill", WATCH, name="a"), fault("process.stall", WATCH, name="b", stall_ns=9)
    struck = struck_by(drive, killed, stalled)
    kill, stall = struck.blows()
    assert (kill.deed, kill.process, kill.task, kill.lasts_ns) == (Deed.KILL, WATCH, None, None)
    assert (stall.deed, stall.process, stall.lasts_ns) == (Deed.STALL, WATCH, 9)
    losses = (WatchLoss(440 * MS, False, 600 * MS, 390 * MS), WatchLoss(1300 * MS, True, None, 990 * MS))
    health = SimpleNamespace(noticed=(), losses=losses, order=SimpleNamespace(delay_ns=20 * MS, age_limit_ns=300 * MS))
    outcome = as_planned(struck, health=health, landed=(Landed(401 * MS, 1, 7), Landed(1000 * MS, 1, 8)))
    struck.seen = trace_of(drive, struck), outcome, ()  # type: ignore[assignment]
    first, second = outcomes(struck.strikes(), found_in_run(struck, outcome), None, None)  # type: ignore[arg-type]
    assert first.finding is not None and (first.finding.monitor, first.declared_ns) == ("exit", 100 * MS)
    assert (first.strike.end_ns, second.strike.end_ns) == (600 * MS, None)
    assert second.finding is not None and (second.finding.monitor, second.declared_ns) == ("alive", 350 * MS)


def test_in_lockstep_there_is_no_watch_to_strike(drive: Drive) -> None:
    with pytest.raises(ConfigError) as error:
        Struck(drive, FaultScript((fault("process.kill", WATCH, place=(3, 5)),), 1), "script")
    (problem,) = error.value.problems
    assert str(problem) == "script:3:5  faults.f: rt-health is a process of paced runs; add --paced"


@pytest.mark.parametrize(("stall_ns", "end_ns"), [(400 * MS, 1600 * MS), (200 * MS, None)])
def test_a_later_loss_of_the_watch_is_not_of_a_standstill_that_was_over(
    drive: Drive, stall_ns: int, end_ns: int | None
) -> None:
    struck = struck_by(drive, fault("process.stall", WATCH, stall_ns=stall_ns))
    health = SimpleNamespace(losses=(WatchLoss(1300 * MS, True, 1600 * MS, 990 * MS),))
    outcome = as_planned(struck, health=health, landed=(Landed(1000 * MS, 1, 8),))
    struck.seen = trace_of(drive, struck), outcome, ()  # type: ignore[assignment]
    (strike,) = struck.strikes()
    assert strike.end_ns == end_ns


def test_an_overrun_strikes_each_of_its_jobs_when_it_begins(drive: Drive) -> None:
    trigger = Trigger(0, Event.JOB, "backup", 2)
    struck = struck_by(drive, fault("overrun", "backup", trigger, jobs=(2, 5, 999), demand_ns=20 * MS))
    trace = trace_of(drive, struck)
    struck.seen = trace, as_planned(struck), ()  # type: ignore[assignment]
    jobs = trace.jobs
    mine = (jobs.task == drive.task_names.index("backup")) & np.isin(jobs.number, (2, 5))
    (strike,) = struck.strikes()
    assert strike.jobs == tuple(zip((2, 5), sorted(jobs.start_ns[mine].tolist()), strict=True))
    assert (strike.begin_ns, strike.end_ns) == (strike.jobs[0][1], None)


def test_a_worker_that_was_ended_as_it_stood_still_is_back_when_another_serves(drive: Drive) -> None:
    backup = drive.task_names.index("backup")
    struck = struck_by(drive, fault("process.stall", "backup", stall_ns=2000 * MS))
    landed = (Landed(401 * MS, 1, 71),)
    for noticed_ns, end_ns in ((700 * MS, 900 * MS), (2500 * MS, None)):  # of the latter it was not the reason
        losses = (WorkerLoss(backup, 71, noticed_ns, False, noticed_ns + 200 * MS, False),)
        struck.seen = trace_of(drive, struck), as_planned(struck, losses=losses, landed=landed), ()  # type: ignore[assignment]
        (strike,) = struck.strikes()
        assert strike.end_ns == end_ns


def test_what_supervisors_saw_is_told_of_the_fault_that_did_it(drive: Drive) -> None:
    backup, arbiter = (drive.task_names.index(name) for name in ("backup", "arbiter"))
    killed, stalled = fault("process.kill", "backup", name="a"), fault("process.stall", "arbiter", name="b", stall_ns=5)
    struck = struck_by(
        drive, killed, stalled, fault("process.kill", "backup", Trigger(0, Event.JOB, "backup", 999), "c")
    )
    outcome = as_planned(
        struck,
        losses=(WorkerLoss(backup, 71, 410 * MS, False, 650 * MS, False),),
        alerts=(Alert(arbiter, AlertKind.STOPPED, 402 * MS, 72), Alert(backup, AlertKind.SILENT, 520 * MS, 0)),
        landed=(Landed(401 * MS, 1, 71), Landed(401 * MS, 1, 72), Landed(None, 0, 0)),
    )
    trace = trace_of(drive, struck)
    struck.seen = trace, outcome, ()  # type: ignore[assignment]
    first, second = outcomes(struck.strikes(), found_in_run(struck, outcome), None, None)  # type: ignore[arg-type]
    assert (first.strike.begin_ns, first.strike.end_ns) == (401 * MS, 650 * MS)
    assert first.finding is not None and (first.finding.monitor, first.finding.time_ns) == ("exit", 410 * MS)
    assert first.declared_ns == declared_paced_ns(drive.system, BY_NAME["process.kill"], "exit")
    assert second.finding is not None and (second.finding.monitor, second.finding.time_ns) == ("stop", 402 * MS)


def test_what_is_watched_in_the_run_counts_when_it_was_known(drive: Drive) -> None:
    struck = struck_by(drive, fault("lidar.freeze", "lidar_top"))
    noticed = Noticed(470 * MS, 455 * MS, "lidar_top", "frozen", 90 * MS, "it repeats")
    health = SimpleNamespace(noticed=(noticed,), losses=(), order=SimpleNamespace(delay_ns=20 * MS))
    outcome = as_planned(struck, health=health)
    struck.seen = trace_of(drive, struck), outcome, ()  # type: ignore[assignment]
    (found,) = outcomes(struck.strikes(), found_in_run(struck, outcome), None, None)  # type: ignore[arg-type]
    assert found.finding is not None and found.finding.time_ns == 470 * MS - struck.shift_ns
    assert found.declared_ns == 110 * MS


def test_an_overrunning_stage_takes_its_cpu_time_in_its_jobs_only(drive: Drive) -> None:
    class Quick:
        outputs = ("x",)

        def process(self, _job: Any, _inputs: Any) -> dict[str, int]:
            return {"x": 1}

    struck = struck_by(
        drive, fault("overrun", "backup", Trigger(0, Event.JOB, "backup", 2), jobs=(2,), demand_ns=20 * MS)
    )
    stage = struck.stage(drive.task_names.index("backup"), Quick(), Fraction(1, 2))  # type: ignore[arg-type]
    assert struck.stage(drive.task_names.index("arbiter"), stage, Fraction(1)) is stage
    assert tuple(stage.outputs) == ("x",)
    used_ns = []
    for number in (1, 2):
        before_ns = time.thread_time_ns()
        assert stage.process(SimpleNamespace(number=number), {}) == {"x": 1}  # type: ignore[arg-type]
        used_ns.append(time.thread_time_ns() - before_ns)
    assert used_ns[0] < 20 * MS
    assert used_ns[1] >= 40 * MS  # at half the speed of the host


def test_the_start_of_an_overrun_is_that_of_its_first_job(drive: Drive) -> None:
    jobs = drive.trace.jobs
    struck = struck_by(drive, fault("overrun", "backup", Trigger(0, Event.JOB, "backup", 2), jobs=(2, 3), demand_ns=MS))
    struck.seen = drive.trace, as_planned(struck), ()  # type: ignore[assignment]
    (strike,) = struck.strikes()
    mine = np.flatnonzero((jobs.task == drive.task_names.index("backup")) & (jobs.number == 2))
    assert strike.begin_ns == jobs.start_ns[mine[0]]
