"""The --fault option, and what the arbiter's decisions say about a fault."""

import dataclasses

import pytest

from rt_sched.app.inputs.fault_args import check_fault_times, parse_faults
from rt_sched.app.inputs.shipped import shipped_files
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.fault_outcomes import fault_outcomes
from rt_sched.config import load_system
from rt_sched.errors import ConfigError
from rt_sched.lowering import lost_sensors
from rt_sched.messages import ArbiterDecision, ArbiterState, Command
from rt_sched.model import Fault, FaultKind
from rt_sched.runtime.signs_of_life import Notice

MS = 1_000_000
RECORDED = frozenset({"rear", "left", "surround_left", "lidar_top"})


@pytest.fixture(scope="module")
def quad_orin():
    return load_system(shipped_files()["quad_orin"], stages=ImportedStages())


def decisions(*rows):
    """(time in ms, state, stale sensors)."""
    made = []
    for time_ms, state, *stale in rows:
        valid = state is not ArbiterState.MINIMAL_RISK
        command = Command(0, "primary", 0, 0.0, False, None, valid)
        made.append((time_ms * MS, ArbiterDecision(0, time_ms * MS, state, "primary", command, "", tuple(stale))))
    return made


def test_faults_are_parsed_and_sorted(quad_orin):
    faults = parse_faults(["device:orin-2@2s", "camera:rear@1500ms"], quad_orin)
    assert faults == (
        Fault(FaultKind.CAMERA, "rear", 1500 * MS),
        Fault(FaultKind.DEVICE, "orin-2", 2000 * MS),
    )


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("rear", "write KIND:NAME@TIME"),
        ("camera:rear", "write KIND:NAME@TIME"),
        ("camera:@1s", "write KIND:NAME@TIME"),
        ("radar:rear@1s", "unknown kind of fault 'radar'; valid: camera, lidar, imu, device"),
        ("camera:raer@1s", "did you mean rear?"),
        ("camera:lidar_top@1s", "quad_orin has no camera 'lidar_top'"),
        ("camera:rear@1", "has no unit"),
        ("camera:rear@-1s", "is not a time after the start"),
        ("camera:rear@1e30s", "is not a time after the start"),
        ("camera:rear@2s..", "'' is not a time"),
        ("camera:rear@2s..2s", "it ends at 2s, which is not after its begin"),
        ("camera:rear@2s..1s", "it ends at 1s, which is not after its begin"),
        ("camera:rear@2s..-1s", "is not a time after the start"),
    ],
)
def test_a_wrong_fault_says_what_is_right(quad_orin, argument, message):
    with pytest.raises(ConfigError) as caught:
        parse_faults([argument], quad_orin)
    assert message in str(caught.value)


def test_a_fault_may_end(quad_orin):
    faults = parse_faults(["camera:rear@2s..4s", "camera:rear@2s"], quad_orin)
    assert [(one.time_ns, one.until_ns) for one in faults] == [(2000 * MS, 4000 * MS), (2000 * MS, None)]


def test_everything_wrong_about_one_fault_is_said(quad_orin):
    with pytest.raises(ConfigError) as caught:
        parse_faults(["camera:raer@1..2"], quad_orin)
    assert len(caught.value.problems) == 3


def test_all_wrong_faults_are_reported_at_once(quad_orin):
    with pytest.raises(ConfigError) as caught:
        parse_faults(["a", "camera:rear@1s", "b"], quad_orin)
    assert len(caught.value.problems) == 2


def test_a_dual_homed_sensor_is_lost_with_the_last_of_its_devices(quad_orin):
    first, second = Fault(FaultKind.DEVICE, "orin-3", 5 * MS), Fault(FaultKind.DEVICE, "orin-4", 9 * MS)
    assert lost_sensors(quad_orin, [first]) == {}
    assert lost_sensors(quad_orin, [first, second]) == {"left": 9 * MS, "rear": 9 * MS}
    own = Fault(FaultKind.CAMERA, "left", 7 * MS)
    assert lost_sensors(quad_orin, [first, own, second]) == {"left": 7 * MS, "rear": 9 * MS}


def test_the_earliest_notice_counts_whoever_gave_it(quad_orin):
    fault = Fault(FaultKind.DEVICE, "orin-3", 100 * MS, 300 * MS)
    seen = decisions((90, ArbiterState.NOMINAL), (160, ArbiterState.BACKUP))
    by_watch = [Notice(at * MS, "device:orin-3", True, "heartbeat") for at in (40, 121, 400)]
    others = [Notice(110 * MS, "device:orin-2", True, "heartbeat"), Notice(111 * MS, "device:orin-3", False, "silence")]
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, seen, noticed=(*by_watch, *others))
    assert (row["detected_after_ns"], row["detected_by"]) == (21 * MS, "heartbeat")
    late = [Notice(170 * MS, "device:orin-3", True, "heartbeat")]
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, seen, noticed=late)
    assert (row["detected_after_ns"], row["detected_by"]) == (60 * MS, "arbiter")


def test_detection_and_recovery_are_read_from_the_decisions(quad_orin):
    fault = Fault(FaultKind.CAMERA, "rear", 100 * MS)
    seen = decisions((90, ArbiterState.NOMINAL), (150, ArbiterState.NOMINAL), (160, ArbiterState.DEGRADED, "rear"))
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, seen)
    assert (row["detected_after_ns"], row["recovered_after_ns"]) == (60 * MS, 60 * MS)
    assert row["recovery_limit_ns"] == 100 * MS


def test_a_sensor_that_was_stale_before_does_not_detect_the_fault(quad_orin):
    fault = Fault(FaultKind.CAMERA, "rear", 100 * MS)
    stale = (ArbiterState.DEGRADED, "rear")
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, decisions((90, *stale), (110, *stale), (200, *stale)))
    assert (row["detected_after_ns"], row["recovered_after_ns"]) == (None, None)


def test_a_recovery_that_does_not_last_is_none(quad_orin):
    fault = Fault(FaultKind.DEVICE, "orin-1", 100 * MS)
    backup, risk = ArbiterState.BACKUP, ArbiterState.MINIMAL_RISK
    seen = decisions((90, ArbiterState.NOMINAL), (160, backup), (300, risk), (310, risk))
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, seen)
    assert (row["detected_after_ns"], row["recovered_after_ns"]) == (60 * MS, None)
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, [*seen, *decisions((400, backup))])
    assert row["recovered_after_ns"] == 300 * MS


def test_the_next_fault_ends_what_is_asked_of_the_first(quad_orin):
    faults = [Fault(FaultKind.CAMERA, "rear", 100 * MS), Fault(FaultKind.CAMERA, "left", 200 * MS)]
    seen = decisions(
        (90, ArbiterState.NOMINAL),
        (150, ArbiterState.DEGRADED, "rear"),
        (250, ArbiterState.MINIMAL_RISK, "rear", "left"),
    )
    first, second = fault_outcomes(quad_orin, faults, RECORDED, seen)
    assert first["recovered_after_ns"] == 50 * MS
    assert (second["detected_after_ns"], second["recovered_after_ns"]) == (50 * MS, None)


def test_a_lidar_is_reported_but_not_judged(quad_orin):
    started = decisions((10, ArbiterState.NOMINAL))
    for fault, recorded, limit_ns in (
        (Fault(FaultKind.LIDAR, "lidar_top", 20 * MS), RECORDED, None),
        (Fault(FaultKind.DEVICE, "orin-4", 20 * MS), {"lidar_top"}, None),
        (Fault(FaultKind.DEVICE, "orin-4", 20 * MS), RECORDED, 100 * MS),
        (Fault(FaultKind.DEVICE, "orin-1", 20 * MS), RECORDED, 100 * MS),
    ):
        (row,) = fault_outcomes(quad_orin, [fault], recorded, started)
        assert row["recovery_limit_ns"] == limit_ns
    without = dataclasses.replace(quad_orin, safety=None)
    (row,) = fault_outcomes(without, [Fault(FaultKind.DEVICE, "orin-1", 20 * MS)], RECORDED, started)
    assert row["recovery_limit_ns"] is None


def test_a_fault_before_the_arbiter_has_started_is_not_judged(quad_orin):
    fault = Fault(FaultKind.CAMERA, "rear", 20 * MS)
    seen = decisions((10, ArbiterState.STARTING), (300, ArbiterState.DEGRADED, "rear"))
    (row,) = fault_outcomes(quad_orin, [fault], RECORDED, seen)
    assert (row["detected_after_ns"], row["recovery_limit_ns"]) == (280 * MS, None)


def test_faults_within_one_recovery_limit_are_suffered_together(quad_orin):
    faults = [Fault(FaultKind.DEVICE, "orin-1", 100 * MS), Fault(FaultKind.CAMERA, "rear", 110 * MS)]
    seen = decisions((90, ArbiterState.NOMINAL), (160, ArbiterState.BACKUP), (170, ArbiterState.BACKUP, "rear"))
    first, second = fault_outcomes(quad_orin, faults, RECORDED, seen)
    assert first["recovered_after_ns"] == 60 * MS
    assert second["recovered_after_ns"] == 50 * MS


def test_the_same_fault_twice_counts_once(quad_orin):
    assert len(parse_faults(["camera:rear@1s", "camera:rear@1000ms"], quad_orin)) == 1


def test_a_fault_after_the_run_is_refused(quad_orin):
    faults = parse_faults(["camera:rear@1s", "device:orin-1@9s"], quad_orin)
    check_fault_times(faults, 10_000 * MS)
    with pytest.raises(ConfigError, match=r"device:orin-1@9s: the run ends at 2s") as caught:
        check_fault_times(faults, 2_000 * MS)
    assert len(caught.value.problems) == 1
