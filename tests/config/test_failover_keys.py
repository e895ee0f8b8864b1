"""What a system file says about failover: signs of life, silence, cheaper variants of tasks, memory."""

from __future__ import annotations

import pytest

from rt_sched.errors import ConfigError
from rt_sched.model import PEKind, SafetyConcept, SensorKind, System
from rt_sched.model.safety import Actuator, Heartbeat, Silence

MS = 1_000_000
SAFETY = "command_deadline: 100ms}"
DETECT = "    parameters: {threshold: 0.4}\n"


def _concept(system: System) -> SafetyConcept:
    assert system.safety is not None
    return system.safety


def test_losses_are_noticed_and_answered_as_declared(load) -> None:
    more = (
        "heartbeat: {period: 5ms, misses: 3, margin: 500us}, silence: {lidar: {periods: 2, margin: 10ms}}, "
        "decision: 2ms, return_after: 1s}"
    )
    concept = _concept(load((SAFETY, SAFETY[:-1] + ", " + more)))
    assert concept.heartbeat == Heartbeat(5 * MS, 3, MS // 2)
    assert concept.silence_of(SensorKind.LIDAR) == Silence(2, 10 * MS)
    assert concept.silence_of(SensorKind.CAMERA) == Silence(1, 3 * MS)
    assert (concept.decision_ns, concept.return_after_ns) == (2 * MS, 1000 * MS)


def test_without_words_the_documented_values_count(load) -> None:
    concept = _concept(load())
    assert concept.heartbeat == Heartbeat(10 * MS, 2, MS)
    assert concept.silence_of(SensorKind.IMU) == Silence(1, 3 * MS)
    assert (concept.decision_ns, concept.return_after_ns) == (MS, 500 * MS)


def test_variants_come_dearest_first_and_change_only_what_they_name(load) -> None:
    variants = (
        "    variants:\n"
        "      small: {execution: {gpu: {bcet: 1ms, wcet: 2ms}, dla: {wcet: 2.5ms}}, parameters: {threshold: 0.6}}\n"
        "      seldom: {every: 2}\n"
        "      rare: {execution: {wcet: 2.5ms}, every: 4}\n"
        "    memory: 300MB\n"
    )
    system = load((DETECT, DETECT + variants))
    detect = next(task for task in system.tasks if task.name == "detect")
    assert [one.name for one in detect.variants] == ["small", "seldom", "rare"]
    small, seldom, _ = detect.variants
    assert (small.execution.bcet_ns, small.execution.wcet_ns) == (MS, 2 * MS)
    assert (small.parameters, small.every) == ((("threshold", 0.6),), 1)
    assert [kind for kind, _ in small.execution_by_kind] == [PEKind.GPU, PEKind.DLA]
    assert (seldom.execution, seldom.parameters, seldom.every) == (detect.execution, (), 2)
    assert detect.memory_bytes == 300_000_000


def test_a_task_without_words_has_no_variant_and_no_known_memory(load) -> None:
    detect = next(task for task in load().tasks if task.name == "detect")
    assert (detect.variants, detect.memory_bytes) == ((), None)


def test_the_actuators_side_is_as_declared(load) -> None:
    assert _concept(load()).actuator == Actuator(5 * MS, None)
    concept = _concept(load((SAFETY, SAFETY[:-1] + ", actuator: {cycle: 2ms, command_age_limit: 45ms}}")))
    assert concept.actuator == Actuator(2 * MS, 45 * MS)


def test_a_limit_that_no_command_could_keep_is_refused(load) -> None:
    with pytest.raises(ConfigError, match=r"command_age_limit: '1ms' is shorter than the 10ms between two commands"):
        load(
            (
                "runs_on: gateway.mcu\n    activation: {join: any}",
                "runs_on: gateway.mcu\n    activation: {rate: 100Hz}",
            ),
            (SAFETY, SAFETY[:-1] + ", actuator: {command_age_limit: 1ms}}"),
        )
