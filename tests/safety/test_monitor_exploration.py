"""Every monitor over every sequence of its deliveries: it finds what its words say, in time, once, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loss_exploration import explore_alive, explore_losses
from monitor_exploration import explore
from monitor_subjects import SUBJECTS
from sensor_subjects import Everything, quad_orin, sensor_of, sensor_subjects
from trust_exploration import explore_trust

from rt_sched.faults import watching
from rt_sched.model import SensorKind
from rt_sched.runtime import signs_of_life
from safety.monitors import rate

ALL = {subject.name: subject for subject in (*SUBJECTS, *sensor_subjects())}


@pytest.mark.parametrize("name", ALL)
def test_a_monitor_keeps_its_words_on_every_sequence(name: str) -> None:
    subject = ALL[name]
    result = explore(subject)
    assert result.objections == []
    assert result.states > (1 if isinstance(subject.make(), Everything) else 8)
    assert bool(result.found) != isinstance(subject.make(), Everything)
    assert bool(result.promises) == bool(subject.fault)
    assert result.slowest_ns <= subject.make().worst_case_ns


def test_every_monitor_of_every_sensor_is_a_subject() -> None:
    known = {subject.make().name for subject in ALL.values()}
    for kind in SensorKind:
        names = {one.name for one in watching.monitors_of(quad_orin(), sensor_of(kind))}
        assert names <= known, kind


def test_silence_and_return_on_every_sequence() -> None:
    assert explore_losses(5).objections == []


def test_the_timer_of_tasks_over_every_set_of_instants() -> None:
    assert explore_alive(8).objections == []


def test_trust_on_every_sequence() -> None:
    result = explore_trust(4)
    assert result.objections == []
    assert result.found > 0


def test_a_monitor_that_breaks_its_words_is_objected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "DISTANCES", 4)
    (objection,) = explore(ALL["rate, every 78 ns"]).objections
    assert objection.startswith(("found after", "not found after", "it declares"))


def test_a_return_that_comes_too_soon_is_objected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    concept_of = signs_of_life.concept_of
    monkeypatch.setattr(signs_of_life, "concept_of", lambda system: replace(concept_of(system), return_after_ns=1))
    assert any("no return before enough good messages" in one for one in explore_losses(4, limit=20).objections)
