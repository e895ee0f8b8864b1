"""Plan files: what is written is read back, and every mistake has its line and column."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.config import load_system_text
from rt_sched.config.plan_file import load_plan_file
from rt_sched.config.plan_text import plan_text, system_sha256
from rt_sched.errors import ConfigError
from rt_sched.model import Deployment, Placement, Plan, System, Takeover
from rt_sched.planner import make_plan

SYSTEM = """
rt_sched: 1
name: pair
devices:
  left: {processing_elements: {cpu: {kind: cpu, cores: 2}, big: {kind: cpu, cores: 4, scheduling: global}}}
  right: {processing_elements: {cpu: {kind: cpu}}}
sensors:
  "1": {kind: camera, rate: 10Hz, attached_to: [left, right], topic: /a}
tasks:
  "null": {runs_on: left.cpu, candidates: right.cpu, inputs: {image: "1"}, execution: {wcet: 1ms}}
  fuse: {runs_on: left.big, candidates: right.cpu, activation: {rate: 10Hz}, execution: {wcet: 2ms}}
"""


@pytest.fixture
def system() -> System:
    return load_system_text(SYSTEM, file_name="pair.yaml", base_dir=".", stages=None)


def _written(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text)
    return path


def _with_takeovers(plan: Plan) -> Plan:
    names = [processor.name for processor in plan.processors]
    right = names.index("right.cpu.0")
    first = Takeover(
        losses=("camera:1", "device:left"),
        moves=(Placement("null", right, 3), Placement("fuse", right, 4)),
        redone=("null",),
        at_once=(("fuse", 1_500_000),),
        variants=(("fuse", "small"),),
        weights=(("1", Fraction(3, 7)),),
    )
    return replace(plan, takeovers=(first, Takeover(losses=("device:right",), dropped=("fuse", "null"))))


def test_a_plan_is_read_back_as_it_was_written(system: System, tmp_path: Path) -> None:
    for plan in (make_plan(system), make_plan(system, "edf"), _with_takeovers(make_plan(system, "dm"))):
        read = load_plan_file(_written(tmp_path, plan_text(system, plan)), system)
        assert read.plan == plan
        assert not read.made_for_another
    timed = replace(make_plan(system), offsets=(("fuse", 18_100_001),))
    assert load_plan_file(_written(tmp_path, plan_text(system, timed)), system).plan == timed


def test_every_decision_stands_on_a_line_of_its_own(system: System) -> None:
    plan = make_plan(system)
    moved = replace(plan, placements=(replace(plan.placements[0], processor=1), plan.placements[1]))
    before, after = plan_text(system, plan).splitlines(), plan_text(system, moved).splitlines()
    assert len(before) == len(after)
    assert [(a, b) for a, b in zip(before, after, strict=True) if a != b] == [
        ('  "null": {processor: left.cpu.0, level: 0}', '  "null": {processor: left.cpu.1, level: 0}')
    ]


def test_the_hash_is_that_of_what_a_plan_depends_on(system: System, tmp_path: Path) -> None:
    task = system.tasks[0]
    slower = replace(system, tasks=(replace(task, deadline_ns=task.deadline_ns - 1), system.tasks[1]))
    elsewhere = replace(system, base_dir="/elsewhere")
    renamed = replace(system, sensors=(replace(system.sensors[0], topics=("/b",)),))
    deployed = replace(system, deployments=(Deployment(("left", "cpu"), (0, 1)),))
    assert system_sha256(slower) != system_sha256(system) == system_sha256(elsewhere) == system_sha256(renamed)
    assert system_sha256(deployed) == system_sha256(system)
    path = _written(tmp_path, plan_text(system, make_plan(system)))
    plan, note = plan_for(slower, path, None)
    assert plan == make_plan(system)
    assert note == f"{path} was made for another state of pair; it fits, and is judged anew"
    assert plan_for(system, path, None) == (plan, None)


@pytest.mark.parametrize(
    ("before", "after", "where", "message"),
    [
        ("rt_sched_plan: 1", "rt_sched_plan: 2", (2, 16), "this program reads version 1 of plan files, not '2'"),
        ("system: pair", "system: pear", (3, 9), "the plan was made for system pear, not for pair"),
        ("policy: rms", "policy: rns", (5, 9), "unknown policy 'rns'; did you mean 'rms'? valid: rms, dm, opa, edf"),
        ("  left.cpu.1:", "  left.gpu.1:", (8, 3), "unknown processing element 'left.gpu'"),
        ("  left.cpu.1:", "  left.cpu:", (8, 3), "a processor is named device.element.core, or device.element["),
        ("  left.cpu.1:", "  left.cpu.7:", (8, 3), "processor left.cpu.7: left.cpu has cores 0 ... 1"),
        ("preemptive: true", "preemptive: maybe", (7, 52), "expected true or false, found 'maybe'"),
        ("  fuse:   {", "  fuze:   {", (14, 3), "unknown task 'fuze'; did you mean 'fuse'?"),
        ("  fuse:   {", "  x-fuse:   {", (13, 3), "not placed: fuse"),
        ("processor: left.cpu.0", "processor: left.cpu.9", (13, 23), "unknown processor 'left.cpu.9'"),
        ("processor: left.cpu.0", 'processor: "left.big[0-3]"', (13, 3), "task null belongs on left.cpu or right.cpu"),
        ("level: 0}", "level: -1}", (13, 42), "expected a whole number from 0 to 1000000, found '-1'"),
        ("level: 0}", "rank: 0}", (13, 35), "a placement has no key 'rank'"),
    ],
)
def test_a_mistake_is_told_where_it_stands(
    system: System, tmp_path: Path, before: str, after: str, where: tuple[int, int], message: str
) -> None:
    text = plan_text(system, make_plan(system))
    assert before in text
    with pytest.raises(ConfigError) as caught:
        plan_for(system, _written(tmp_path, text.replace(before, after, 1)), None)
    told = {(one.line, one.column): one.message for one in caught.value.problems}
    assert told.get(where, "").startswith(message), told


@pytest.mark.parametrize(
    ("offset", "where", "message"),
    [
        ("fuse: 100ms", (16, 3), "offset of fuse: 100ms is not within its period of 100ms"),
        ('"null": 1ms', (16, 3), "offset of null: only a task with a rate has an offset"),
        ("ghost: 1ms", (16, 3), "unknown task 'ghost'"),
        ("fuse: 5", (16, 9), "'5' has no unit"),
        ("fuse: -1ms", (16, 9), "'-1ms' must not be negative"),
    ],
)
def test_an_offset_that_its_task_cannot_have(
    system: System, tmp_path: Path, offset: str, where: tuple[int, int], message: str
) -> None:
    text = plan_text(system, make_plan(system)) + f"offsets:\n  {offset}\n"
    with pytest.raises(ConfigError) as caught:
        plan_for(system, _written(tmp_path, text), None)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == where
    assert problem.message.startswith(message)


def test_all_mistakes_of_a_takeover_are_told_at_once(system: System, tmp_path: Path) -> None:
    text = plan_text(system, _with_takeovers(make_plan(system)))
    for good, wrong in (
        ("dropped: [fuse", "dropped: [fuze"),
        ("1.5ms", "-1ms"),
        ('"3/7"', '"3/0"'),
        ("redone", "again"),
    ):
        assert good in text
        text = text.replace(good, wrong)
    with pytest.raises(ConfigError) as caught:
        load_plan_file(_written(tmp_path, text), system)
    told = [one.message for one in caught.value.problems]
    assert [message.split(";")[0] for message in told] == [
        "a takeover has no key 'again'",
        "'-1ms' must not be negative",
        "expected a factor such as 1.5 or 3/2, found '3/0'",
        "unknown task 'fuze'",
    ]


def test_losses_have_one_takeover(system: System, tmp_path: Path) -> None:
    plan = make_plan(system)
    twice = replace(plan, takeovers=(Takeover(("device:left",)), Takeover(("device:left",))))
    with pytest.raises(ConfigError, match="the losses device:left have a takeover already, in line 17"):
        load_plan_file(_written(tmp_path, plan_text(system, twice)), system)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the plan file cannot be read: No such file"),
        (b"", "the file is empty"),
        (b"- 1", "is a mapping of keys"),
    ],
)
def test_what_is_no_plan_file(system: System, tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "plan.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_plan_file(path, system)
