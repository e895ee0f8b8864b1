"""An analysis is done again with each save that changes something, and says what that changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rt_sched.app.analyze.changes import changes, print_changes
from rt_sched.app.analyze.job import analysed_system, analysis_document
from rt_sched.app.analyze.watch import Saves, looks
from rt_sched.errors import AnalysisNotApplicable, ConfigError

SYSTEM = """
rt_sched: 1
name: two
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  fast: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 2ms}}
  slow: {runs_on: ecu.cpu, activation: {period: 30ms}, execution: {wcet: 6ms},
    inputs: {x: {from: fast, required: false}}}
chains: {both: {path: [fast, slow], max_reaction: 90ms}}
"""


def analysed(path: Path) -> dict[str, Any]:
    return analysis_document(analysed_system(str(path), None, None))


class Events:
    """Saves that a test makes happen, one after the other, while the watch waits for the next."""

    def __init__(self, *edits: Callable[[], object]) -> None:
        self._edits = iter(edits)

    def __iter__(self) -> Iterator[None]:
        return self

    def __next__(self) -> None:
        next(self._edits)()


def test_every_save_shows_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(SYSTEM)

    def write(old: str, new: str) -> Callable[[], object]:
        return lambda: path.write_text(SYSTEM.replace(old, new))

    events = Events(
        write("wcet: 6ms", "wcet: 7ms"),
        write("wcet: 6ms", "wcet: 7"),
        write("wcet: 6ms", "wcet: 25ms"),
        write("slow", "calm"),
        lambda: path.unlink(),
    )
    found = list(looks(lambda: analysed(path), events))
    first, grown, wrong, late, renamed, gone = found
    assert first.changes is None
    assert first.document is not None
    assert grown.changes is not None
    assert row("tasks", "slow", "response_bound_ns", 8_000_000, 9_000_000) in grown.changes
    assert {(one["part"], one["name"]) for one in grown.changes} == {("tasks", "slow"), ("chains", "both")}
    assert not any(one["key"] in ("verdict", "present") for one in grown.changes)
    assert isinstance(wrong.error, ConfigError)
    assert (wrong.document, wrong.changes) == (None, None)
    # Compared with the last document, not with the error between.
    assert late.changes is not None
    assert row("tasks", "slow", "verdict", "schedulable", "unschedulable") in late.changes
    assert row("modes", "nominal", "verdict", "schedulable", "unschedulable") in late.changes
    assert renamed.changes is not None
    assert row("tasks", "slow", "present", True, False) in renamed.changes
    assert row("tasks", "calm", "present", False, True) in renamed.changes
    assert isinstance(gone.error, ConfigError)


def row(part: str, name: str, key: str, before: object, after: object) -> dict[str, object]:
    return {"part": part, "mode": "nominal", "name": name, "key": key, "before": before, "after": after}


def test_bounds_and_limits_of_chains_are_compared(tmp_path: Path) -> None:
    documents = []
    for number, (old, new) in enumerate((("", ""), ("max_reaction: 90ms", "max_reaction: 11ms"))):
        path = tmp_path / f"{number}.yaml"
        path.write_text(SYSTEM.replace(old, new))
        documents.append(analysed(path))
    found = changes(*documents)
    assert row("chains", "both", "reaction_limit_ns", 90_000_000, 11_000_000) in found
    assert row("chains", "both", "verdict", "schedulable", "inconclusive") in found
    console = Console(width=120, no_color=True)
    with console.capture() as shown:
        print_changes(documents[1]["verdict"], found, console)
    text = " ".join(shown.get().split())
    assert text.startswith("inconclusive; changed:")
    assert "chain both reaction limit 90ms 11ms" in text
    with console.capture() as shown:
        print_changes("schedulable", [], console)
    assert shown.get() == "schedulable; no bound, limit or verdict changed\n"


def test_a_call_that_is_wrong_from_the_start_is_not_waited_for() -> None:
    def refuse() -> dict[str, Any]:
        raise AnalysisNotApplicable("unknown policy")

    with pytest.raises(AnalysisNotApplicable):
        next(looks(refuse, iter(())))


class Steps:
    """What happens to a file between two looks at it; a look beyond them all fails the test."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)

    def __call__(self, _seconds: float) -> None:
        self.steps.pop(0)()


def nothing() -> None: ...


def test_a_save_counts_when_the_file_stands_still_and_is_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    steps = Steps(
        nothing,
        lambda: os.utime(path, ns=(1, 1)),  # touched, the same content: no save
        nothing,
        lambda: path.write_text("t"),  # half-written
        lambda: path.write_text("two"),
        nothing,
    )
    saves = Saves(path, wait=steps)
    next(saves)
    assert steps.steps == []


def test_a_file_that_is_replaced_or_gone_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("one")
    other.write_text("two")
    steps = Steps(lambda: other.replace(path), nothing)
    saves = Saves(path, wait=steps)
    next(saves)
    assert steps.steps == []
    steps.steps = [lambda: path.unlink(), nothing]
    next(saves)
    steps.steps = [lambda: path.write_text("two"), nothing]
    next(saves)
    assert steps.steps == []


def test_a_save_before_the_first_look_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    steps = Steps(nothing, nothing)
    saves = Saves(path, wait=steps)
    path.write_text("two")
    next(saves)
    assert len(steps.steps) < 2


def test_a_plan_beside_the_file_counts_as_well(tmp_path: Path) -> None:
    path, plan = tmp_path / "file", tmp_path / "plan"
    path.write_text("one")
    steps = Steps(lambda: plan.write_text("new"), nothing)
    saves = Saves(path, plan, wait=steps)
    next(saves)
    steps.steps = [lambda: plan.unlink(), lambda: path.write_text("two"), nothing]
    next(saves)
    assert steps.steps == []


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A pipe would not be read to its end before somebody writes into it."""
    path = tmp_path / "file"
    path.write_text("one")
    steps = Steps(lambda: (path.unlink(), os.mkfifo(path)), nothing)
    saves = Saves(path, wait=steps)
    next(saves)
    steps.steps = [
        lambda: (path.unlink(), path.mkdir()),
        nothing,
        lambda: (path.rmdir(), path.write_text("one")),
        nothing,
    ]
    next(saves)
    assert steps.steps == []


MODES = (
    SYSTEM
    + """
modes: {all: {tasks: [fast, slow]}, little: {without: slow}}
faults: {long: {overrun: fast, jobs: [0], demand: DEMAND}}
"""
)


def with_faults(path: Path, demand: str, wcet: str = "6ms") -> dict[str, Any]:
    path.write_text(MODES.replace("DEMAND", demand).replace("wcet: 6ms", f"wcet: {wcet}"))
    return analysis_document(analysed_system(str(path), None, None, faults="all"))


def test_faults_and_changes_of_mode_are_compared(tmp_path: Path) -> None:
    short, long = (with_faults(tmp_path / "system.yaml", demand) for demand in ("3ms", "11ms"))
    found = changes(short, long)
    assert {(one["part"], one["mode"], one["name"], one["key"]) for one in found} == {
        ("faults", "all", "long", "verdict"),
        ("faults", "little", "long", "verdict"),
        *(("tasks_under_faults", mode, "fast under long", "response_bound_ns") for mode in ("all", "little")),
        *(("tasks_under_faults", mode, "fast under long", "verdict") for mode in ("all", "little")),
        ("tasks_under_faults", "all", "slow under long", "response_bound_ns"),
    }
    slower = with_faults(tmp_path / "system.yaml", "3ms", "7ms")
    across = [one for one in changes(short, slower) if one["part"] == "tasks_across_transitions"]
    assert ("all->little", "slow", "response_bound_ns", 8_000_000, 9_000_000) in [
        (one["mode"], one["name"], one["key"], one["before"], one["after"]) for one in across
    ]
    console = Console(width=120, no_color=True)
    with console.capture() as shown:
        print_changes("schedulable", [*found, *across], console)
    text = " ".join(shown.get().split())
    assert "fault long in all verdict schedulable unschedulable" in text
    assert "task fast under long in all response bound 3ms 11ms" in text
    assert "task slow in all->little response bound 8ms 9ms" in text


def test_a_fault_that_comes_or_goes_is_told_once(tmp_path: Path) -> None:
    with_it = with_faults(tmp_path / "system.yaml", "3ms")
    without = {**with_it, "faults": {**with_it["faults"], "scenarios": []}}
    for before, after in ((with_it, without), (without, with_it)):
        found = changes(before, after)
        assert [(one["part"], one["name"], one["key"], one["after"]) for one in found] == [
            ("faults", "long", "present", after is with_it)
        ] * 2


def test_the_verdict_on_what_comes_is_told_unless_it_is_good(tmp_path: Path) -> None:
    bad = with_faults(tmp_path / "system.yaml", "11ms")
    without = {**bad, "faults": {**bad["faults"], "scenarios": []}}
    told = [(one["key"], one["before"], one["after"]) for one in changes(without, bad) if one["mode"] == "all"]
    assert told == [("present", False, True), ("verdict", None, "unschedulable")]


def test_margins_and_waits_are_compared(tmp_path: Path) -> None:
    served = """
rt_sched: 1
name: served
devices: {ecu: {processing_elements: {cpu: {kind: cpu}, gpu: {kind: gpu}}}}
tasks:
  asks: {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 2ms},
    suspensions: [{after: 1ms, max: 5ms, on: ecu.gpu, service: SERVICE}]}
"""
    documents = []
    for service, wcet in (("1ms", "2ms"), ("2ms", "2ms"), ("2ms", "4ms")):
        path = tmp_path / "served.yaml"
        path.write_text(served.replace("SERVICE", service).replace("wcet: 2ms", f"wcet: {wcet}"))
        documents.append(analysis_document(analysed_system(str(path), None, None, lambda _done, _all: None)))
    assert row("waits", "asks for ecu.gpu after 1ms", "waited_ns", 1_999_999, 3_999_999) in changes(*documents[:2])
    told = {(one["part"], one["name"], one["key"]) for one in changes(*documents[1:])}
    assert told >= {("margins", "all together", "scaling_ppm"), ("margins", "task asks", "margin_ns")}
