"""An analysis is done again with each save that changes something, and says what that changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rt_sched.app.analyze.job import analysed_system, analysis_document
from rt_sched.app.analyze.watch import Saves, changes, looks, print_changes
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
    saves = Saves(path, steps)
    next(saves)
    assert steps.steps == []


def test_a_file_that_is_replaced_or_gone_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("one")
    other.write_text("two")
    steps = Steps(lambda: other.replace(path), nothing)
    saves = Saves(path, steps)
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
    saves = Saves(path, steps)
    path.write_text("two")
    next(saves)
    assert len(steps.steps) < 2
