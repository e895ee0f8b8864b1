"""Losses are noticed when the timers of the analysis run out, and lead to what the plan says."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "planner" / "failover"))
from failover_rigs import rig

from rt_sched.analysis.faults.takeover_detection import detection_of_losses
from rt_sched.errors import ConfigError
from rt_sched.lowering import nominal_samples
from rt_sched.lowering.outages import Outages
from rt_sched.model import Fault, FaultKind, Heartbeat, Plan, System
from rt_sched.planner import make_plan
from rt_sched.planner.failover import plan_takeovers
from rt_sched.runtime import signs_of_life
from rt_sched.runtime.detection import detect
from rt_sched.runtime.lives import lives_of
from rt_sched.runtime.signs_of_life import notices
from rt_sched.trace.records import SampleTable

MS = 1_000_000
END = 2_000 * MS
CAMERAS = ("front", "rear")
#: 50 ms between frames, twice 0.5 ms of jitter, and a margin of 3 ms.
SILENCE = 54 * MS
RIG = rig()


@pytest.fixture(scope="module")
def system() -> System:
    return RIG


@pytest.fixture(scope="module")
def plan(system: System) -> Plan:
    return plan_takeovers(system, make_plan(system, None))


def frames(system: System, *missing_ms: int) -> SampleTable:
    """Frames of the front camera every 50 ms from 2 ms on, but for those captured at `missing_ms`; all of the rear."""
    captures = [(at * MS, 0) for at in range(0, END // MS, 50) if at not in missing_ms]
    captures += [(at * MS, 1) for at in range(0, END // MS, 50)]
    captures.sort()
    capture = np.array([at for at, _ in captures], np.int64)
    sensor = np.array([of for _, of in captures], np.int32)
    return SampleTable(sensor, np.arange(len(captures)), capture + 2 * MS, capture, np.zeros(len(captures), np.int8))


def seen(system: System, samples: SampleTable, *faults: Fault, recorded=CAMERAS) -> list[tuple[int, str, bool, str]]:
    found = notices(system, samples, faults, recorded, END)
    return [(one.time_ns, one.what, one.lost, one.by) for one in found]


def test_nothing_is_noticed_while_everything_comes(system):
    assert seen(system, frames(system)) == []


def test_a_missing_frame_is_silence_until_frames_have_come_for_long_enough(system):
    lost, back = (952 * MS + SILENCE, "camera:front", True, "silence"), (1_552 * MS, "camera:front", False, "silence")
    assert seen(system, frames(system, 1_000)) == [lost, back]


def test_another_gap_begins_the_wait_anew(system):
    found = seen(system, frames(system, 1_000, 1_300))
    assert [(at, lost) for at, _, lost, _ in found] == [(952 * MS + SILENCE, True), (1_852 * MS, False)]


def test_a_sensor_that_never_comes_is_noticed_from_the_start(system):
    never = frames(system, *range(0, 2_000, 50))
    assert seen(system, never) == [(2 * MS + 500_000 + SILENCE, "camera:front", True, "silence")]
    assert seen(system, never, recorded=("rear",)) == []


def test_the_end_of_the_recording_is_no_silence(system):
    assert seen(system, frames(system, 1_950)) == []


def test_a_message_at_the_instant_of_the_watch_is_in_time(system):
    samples = frames(system)
    late = samples.arrival_ns.copy()
    row = int(np.flatnonzero((samples.sensor == 0) & (samples.capture_ns == 1_000 * MS))[0])
    late[row] = 952 * MS + SILENCE
    assert seen(system, replace(samples, arrival_ns=late)) == []
    late[row] += 1
    first = seen(system, replace(samples, arrival_ns=late))[0]
    assert first == (952 * MS + SILENCE, "camera:front", True, "silence")


@pytest.mark.parametrize(("lost_ms", "noticed_ms"), [(1_000, 1_011), (1_001, 1_021), (1_009, 1_021), (1_010, 1_021)])
def test_a_device_is_missed_after_two_signs_of_life(system, lost_ms, noticed_ms):
    """Signs at 0, 10, 20 ms ...; the last one before the loss, two periods and a margin of 1 ms."""
    fault = Fault(FaultKind.DEVICE, "a", lost_ms * MS)
    assert seen(system, frames(system), fault) == [(noticed_ms * MS, "device:a", True, "heartbeat")]


def test_a_device_that_is_back_in_time_is_not_missed(system):
    assert seen(system, frames(system), Fault(FaultKind.DEVICE, "a", 1_001 * MS, 1_020 * MS)) == []
    found = seen(system, frames(system), Fault(FaultKind.DEVICE, "a", 1_001 * MS, 1_031 * MS))
    assert [(at, lost) for at, _, lost, _ in found] == [(1_021 * MS, True), (1_540 * MS, False)]


def test_nobody_watches_once_the_device_of_the_arbiter_is_lost(system):
    gateway, later = Fault(FaultKind.DEVICE, "gateway", 900 * MS), Fault(FaultKind.DEVICE, "a", 1_000 * MS)
    assert seen(system, frames(system), gateway, later) == []


def beating(period_ns: int, misses: int, margin_ns: int) -> System:
    return replace(RIG, safety=replace(RIG.safety, heartbeat=Heartbeat(period_ns, misses, margin_ns)))


def every_beat(system: System, outages: Outages, horizon_ns: int) -> np.ndarray:
    beats_ns = range(0, horizon_ns, system.safety.heartbeat.period_ns)
    alive = [at for at in beats_ns if not any(begin <= at and (end is None or at < end) for begin, end in outages)]
    return np.array(alive, np.int64)


@settings(deadline=None)
@given(
    period_ms=st.integers(5, 60),
    misses=st.integers(1, 4),
    margin_ms=st.integers(0, 130),
    spans=st.lists(st.tuples(st.integers(0, 2_100), st.none() | st.integers(1, 900)), min_size=1, max_size=3),
)
def test_signs_that_are_left_out_change_no_notice(period_ms, misses, margin_ms, spans):
    system = beating(period_ms * MS, misses, margin_ms * MS)
    faults = [
        Fault(FaultKind.DEVICE, "a", at * MS, None if lasts is None else (at + lasts) * MS) for at, lasts in spans
    ]
    found = seen(system, frames(system), *faults)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signs_of_life, "_beats", every_beat)
        assert seen(system, frames(system), *faults) == found


def test_a_long_run_with_a_fast_heartbeat_is_watched_or_refused():
    horizon_ns, lost = 1_000_000 * MS, Fault(FaultKind.DEVICE, "a", 500_000 * MS)
    fast = beating(MS // 1000, 2, MS)
    (notice,) = notices(fast, frames(fast), [lost], (), horizon_ns)
    assert notice.time_ns - lost.time_ns == MS + MS // 1000
    assert len(signs_of_life._beats(fast, ((lost.time_ns, None),), horizon_ns)) < 600_000
    faster = beating(MS // 1000, 2, 0)
    with pytest.raises(ConfigError, match=r"safety\.heartbeat: a timeout of 2us is too short to be watched over a run"):
        notices(faster, frames(faster), [lost], (), horizon_ns)


@settings(deadline=None)
@given(kind=st.sampled_from(["camera:front", "camera:rear", "device:a", "device:b"]), at_ns=st.integers(3 * MS, END))
def test_no_loss_is_noticed_later_than_the_analysis_says(kind, at_ns):
    system = RIG
    word, _, name = kind.partition(":")
    fault = Fault(FaultKind(word), name, at_ns)
    bound_ns = detection_of_losses(system, [fault]).value_ns
    found = notices(system, nominal_samples(system, END), [fault], CAMERAS, END)
    assert all(one.what == kind and one.lost for one in found)
    if at_ns + bound_ns < END - 60 * MS:
        (one,) = found
        assert one.time_ns - at_ns + (SILENCE if word == "camera" else 0) >= 0
        assert one.time_ns - at_ns <= bound_ns


def test_a_loss_is_answered_and_the_return_takes_it_back(system, plan):
    fault = Fault(FaultKind.DEVICE, "a", 1_001 * MS, 1_300 * MS)
    found = detect(system, plan, frames(system), [fault], CAMERAS, END)
    answer = next(one for one in plan.takeovers if one.losses == ("device:a",))
    assert [(one.time_ns, one.takeover) for one in found.plan_changes] == [(1_022 * MS, answer), (1_801 * MS, None)]


def test_two_losses_are_put_to_the_admission_test(system, plan):
    faults = [Fault(FaultKind.CAMERA, "front", 500 * MS), Fault(FaultKind.DEVICE, "a", 1_001 * MS)]
    first, second = detect(system, plan, frames(system), faults, CAMERAS, END).decisions
    assert first.losses == ("camera:front",)
    assert second.losses == ("camera:front", "device:a")
    assert second.before is first.takeover
    assert second.takeover is not None


def test_what_nothing_answers_leaves_everything_as_it_was(system, plan):
    faults = [Fault(FaultKind.DEVICE, "a", 500 * MS), Fault(FaultKind.DEVICE, "b", 1_001 * MS)]
    first, *_, second = detect(system, plan, frames(system), faults, CAMERAS, END).decisions
    assert (second.in_force_ns, second.takeover) == (None, second.before)
    assert first.takeover is not None
    assert second.losses == ("device:a", "device:b")
    assert second.reason


def test_a_plan_without_takeovers_decides_nothing(system):
    fault = Fault(FaultKind.DEVICE, "a", 500 * MS)
    assert detect(system, make_plan(system, None), frames(system), [fault], CAMERAS, END).decisions == ()


def test_a_moved_task_begins_anew_there_and_again_when_it_is_back(system, plan):
    fault = Fault(FaultKind.DEVICE, "a", 1_001 * MS, 1_300 * MS)
    found = detect(system, plan, frames(system), [fault], CAMERAS, END)
    lives = lives_of(system, plan, found.plan_changes, [fault])
    names = [task.name for task in system.tasks]
    see, fuse = names.index("see"), names.index("fuse")
    assert lives.begins_ns == {see: (1_022 * MS, 1_801 * MS)}
    assert [lives.life(see, at * MS) for at in (1_021, 1_022, 1_801)] == [0, 1, 2]
    assert lives.life(fuse, END) == 0


def test_a_device_that_reboots_unnoticed_has_lost_its_memory(system, plan):
    fault = Fault(FaultKind.DEVICE, "a", 1_001 * MS, 1_005 * MS)
    lives = lives_of(system, plan, (), [fault])
    assert set(lives.begins_ns.values()) == {(1_005 * MS,)}
    assert {system.tasks[index].name for index in lives.begins_ns} == {"see"}


def test_jobs_are_told_the_weights_that_are_in_force_when_they_arrive(system, plan):
    fault = Fault(FaultKind.CAMERA, "front", 1_001 * MS, 1_200 * MS)
    changes = detect(system, plan, frames(system), [fault], CAMERAS, END).plan_changes
    lives = lives_of(system, plan, changes, [fault])
    (begin_ns, end_ns) = (one.time_ns for one in changes)
    assert lives.weights(begin_ns - 1) == lives.weights(end_ns) == ()
    assert dict(lives.weights(begin_ns))["front"] == 0
