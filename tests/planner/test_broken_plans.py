"""Plans broken on purpose, each in another way: the gate or the analysis refuses every one, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from planned_systems import system_of

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import check_plan
from rt_sched.model import Plan, Policy, System
from rt_sched.planner import make_plan

TEXT = """
devices:
  a:
    memory: 3MB
    contention: {cpu: {gpu: 1.1}}
    processing_elements:
      cpu: {kind: cpu, cores: 2}
      pair: {kind: cpu, cores: 4, scheduling: clustered, cluster_size: 2}
      gpu: {kind: gpu}
      plan: {kind: cpu, policy: table, table: {cycle: 10ms, entries: [{at: 0ms, length: 2ms, task: tick}]}}
      slot: {kind: cpu, policy: time_sliced, slices: [{length: 10ms, tasks: tock}]}
      line: {kind: cpu, policy: fifo}
  b: {processing_elements: {cpu: {kind: cpu}}}
  c: {processing_elements: {cpu: {kind: cpu}}}
links: {wire: {bandwidth: 1Gbit/s, latency: 1ms, between: [a, b]}}
sensors: {eye: {kind: camera, rate: 10Hz, attached_to: a, topic: /e, frame_size: 1MB}}
resources: {map: {protocol: priority_ceiling}, log: {protocol: msrp}}
tasks:
  see: {runs_on: a.cpu, candidates: [b.cpu, c.cpu], inputs: {x: eye}, execution: {wcet: 2ms}, deadline: 10ms,
    memory: 2MB, output_size: 50kB}
  find: {runs_on: a.gpu, inputs: {x: see}, execution: {wcet: 3ms}, memory: 1MB}
  act: {runs_on: a.cpu, candidates: [b.cpu, a.pair, a.line], inputs: {x: find}, execution: {wcet: 2ms}, deadline: 5ms}
  bound: {runs_on: a.cpu, core: 1, activation: {rate: 100Hz}, execution: {wcet: 1ms},
    critical_sections: [{resource: map, to: 0.1ms}]}
  mate: {runs_on: a.cpu, candidates: a.line, activation: {rate: 50Hz}, execution: {wcet: 9.5ms},
    critical_sections: [{resource: map, to: 0.1ms}]}
  tick: {runs_on: a.plan, candidates: [a.cpu], activation: {rate: 100Hz}, execution: {wcet: 1ms}}
  tock: {runs_on: a.slot, candidates: [a.cpu], activation: {rate: 100Hz}, execution: {wcet: 1ms}}
  spin: {runs_on: b.cpu, candidates: [a.plan, a.pair], activation: {rate: 10Hz}, execution: {wcet: 1ms},
    critical_sections: [{resource: log, to: 0.1ms}]}
chains: {go: {path: [eye, see, find, act], max_latency: 12ms}}
"""
SYSTEM = system_of(TEXT)
PLAN = make_plan(SYSTEM)
INDEX = {processor.name: index for index, processor in enumerate(PLAN.processors)}
TASK = {placement.task: index for index, placement in enumerate(PLAN.placements)}

Broken = tuple[System, Plan]


def _processor(name: str, **change: Any) -> Callable[[], Broken]:
    at = INDEX[name]
    processors = list(PLAN.processors)
    processors[at] = replace(processors[at], **change)
    return lambda: (SYSTEM, replace(PLAN, processors=tuple(processors)))


def _placed(task: str, processor: str | int | None = None, level: int | None = None) -> Callable[[], Broken]:
    at = TASK[task]
    old = PLAN.placements[at]
    index = INDEX[processor] if isinstance(processor, str) else old.processor if processor is None else processor
    free = 1 + max((one.level for one in PLAN.placements if one.processor == index), default=-1)
    new = replace(
        old, processor=index, level=(free if processor is not None else old.level) if level is None else level
    )
    return lambda: (SYSTEM, replace(PLAN, placements=(*PLAN.placements[:at], new, *PLAN.placements[at + 1 :])))


def _placements(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[], Broken]:
    return lambda: (SYSTEM, replace(PLAN, placements=change(PLAN.placements)))


def _system(change: Callable[[System], System], broken: Callable[[], Broken] | None = None) -> Callable[[], Broken]:
    return lambda: (change(SYSTEM), broken()[1] if broken else PLAN)


def _task(name: str, **change: Any) -> Callable[[System], System]:
    def changed(system: System) -> System:
        return replace(system, tasks=tuple(replace(t, **change) if t.name == name else t for t in system.tasks))

    return changed


def _unsized(system: System) -> System:
    return _task("see", inputs=(replace(system.tasks[0].inputs[0], size_bytes=None),))(system)


STRUCTURE: dict[str, tuple[Callable[[], Broken], str]] = {
    "made for another system": (
        lambda: (SYSTEM, replace(PLAN, system="other")),
        "made for system other, not for choice",
    ),
    "unknown device": (_processor("b.cpu.0", device="z"), "processor z.cpu.0 is on no processing element"),
    "unknown element": (_processor("b.cpu.0", pe="npu"), "processor b.npu.0 is on no processing element"),
    "core beyond the last": (_processor("a.cpu.0", core=2), "processor a.cpu.2: a.cpu has cores 0 ... 1"),
    "negative core": (_processor("a.cpu.0", core=-1), "a.cpu has cores 0 ... 1"),
    "half a cluster": (_processor("a.pair[0-1]", cores=1), "a.pair is clustered, 2 cores share a ready queue"),
    "askew in its cluster": (_processor("a.pair[0-1]", core=1), "a.pair is clustered, 2 cores share a ready queue"),
    "several cores of a partitioned element": (
        _processor("a.cpu.0", cores=2),
        "a.cpu is partitioned, each core has its own",
    ),
    "preemptive GPU": (_processor("a.gpu.0", preemptive=True), "planned as preemptive, but the element is not"),
    "table turned into EDF": (_processor("a.plan.0", policy=Policy.EDF), "planned as edf, but it is table"),
    "slices turned into fixed priority": (
        _processor("a.slot.0", policy=Policy.FIXED_PRIORITY),
        "planned as fixed_priority, but it is time_sliced",
    ),
    "FIFO that the element is not": (
        _processor("a.cpu.0", policy=Policy.FIFO),
        "planned as fifo, but it is fixed_priority",
    ),
    "processor twice": (
        lambda: (SYSTEM, replace(PLAN, processors=(*PLAN.processors, PLAN.processors[0]))),
        "processor a.cpu.0 stands in the plan 2 times",
    ),
    "no processor at all": (lambda: (SYSTEM, replace(PLAN, processors=())), "is on processor 0 of 0"),
    "task left out": (_placements(lambda all_: all_[1:]), "not placed: see"),
    "task that does not exist": (
        _placements(lambda all_: (*all_, replace(all_[0], task="ghost"))),
        "unknown: ghost",
    ),
    "task twice": (_placements(lambda all_: (*all_, all_[0])), "placements do not stand in the order"),
    "another order": (_placements(lambda all_: all_[::-1]), "placements do not stand in the order"),
    "nothing placed": (_placements(lambda _: ()), "not placed: see, find, act"),
    "processor that is not there": (_placed("see", 99), "task see is on processor 99 of"),
    "negative processor": (_placed("see", -1), "task see is on processor -1 of"),
    "element that is no candidate": (_placed("find", "b.cpu.0"), "task find belongs on a.gpu, not on b.cpu.0"),
    "away from its core": (_placed("bound", "a.cpu.0"), "task bound is bound to core 1, not to a.cpu.0"),
    "negative level": (_placed("see", level=-2), "task see has the level -2; levels count from 0"),
    "level of another task": (
        _placed("bound", level=PLAN.placements[TASK["mate"]].level),
        "tasks bound and mate share level",
    ),
    "ceiling over two cores": (_placed("mate", "a.cpu.0"), "priority_ceiling works on one core"),
    "ceiling on a FIFO": (
        _placed("mate", "a.line.0"),
        "priority_ceiling needs fixed_priority or edf; a.line.0 is fifo",
    ),
    "spinning on a table": (
        _placed("spin", "a.plan.0"),
        "msrp spins without preemption, which a.plan.0 does not allow",
    ),
    "table entry of a task that has gone": (
        _placed("tick", "a.cpu.0"),
        "table entry 0 is for task tick, which runs elsewhere",
    ),
    "task that no table entry names": (_placed("spin", "a.plan.0"), "task spin is in no table entry of a.plan.0"),
    "slice of a task that has gone": (_placed("tock", "a.cpu.0"), "slice 0 is for task tock, which runs elsewhere"),
    "more memory than there is": (
        _system(_task("act", memory_bytes=1_000_001)),
        "device a: its tasks need 4000001 bytes of memory, and it has 3000000",
    ),
    "offset of a task in a table": (
        lambda: (SYSTEM, replace(PLAN, offsets=(("tick", 1),))),
        "offset of tick: the table of a.plan.0 is made for that of the file",
    ),
    "no link to the device": (_placed("see", "c.cpu.0"), "no link leads from there to c"),
    "message of unknown size on a link": (
        _system(_unsized, _placed("see", "b.cpu.0")),
        "input x comes over wire here, but the size of its messages is not known",
    ),
}


def test_the_plan_itself_is_sound() -> None:
    assert check_plan(SYSTEM, PLAN) == []
    assert analyze(SYSTEM, PLAN).verdict is Verdict.SCHEDULABLE
    assert len(STRUCTURE) + len(TIMING) >= 30


@pytest.mark.parametrize("kind", STRUCTURE)
def test_the_gate_refuses_it(kind: str) -> None:
    made, reason = STRUCTURE[kind]
    system, plan = made()
    said = check_plan(system, plan)
    assert any(reason in one for one in said), said
    with pytest.raises(AnalysisNotApplicable, match="the plan does not fit the system"):
        analyze(system, plan)


def _reversed_levels() -> Broken:
    core = PLAN.placements[TASK["bound"]].processor
    here = [one for one in PLAN.placements if one.processor == core]
    highest = max(one.level for one in here)
    return SYSTEM, replace(
        PLAN,
        placements=tuple(
            replace(one, level=highest - one.level) if one.processor == core else one for one in PLAN.placements
        ),
    )


def _slower(system: System, **wcet_ms: int) -> System:
    for name, milliseconds in wcet_ms.items():
        task = next(one for one in system.tasks if one.name == name)
        ns = milliseconds * 1_000_000
        system = _task(name, execution=replace(task.execution, wcet_ns=ns, profile_ns=(ns, ns), bcet_ns=ns))(system)
    return system


def _contended(system: System) -> System:
    device = system.devices[0]
    rows = tuple(replace(row, factor=row.factor * 10) for row in device.contention)
    return replace(system, devices=(replace(device, contention=rows), *system.devices[1:]))


TIMING: dict[str, tuple[Callable[[], Broken], Verdict, str]] = {
    "more work than time": (
        _system(lambda system: _slower(system, bound=9)), Verdict.UNSCHEDULABLE, "bound"),
    "urgent task below a long one": (_reversed_levels, Verdict.UNSCHEDULABLE, "bound"),
    "transfers that a chain has no time for": (_placed("see", "b.cpu.0"), Verdict.INCONCLUSIVE, "go"),
    "elements that slow each other down too much": (_system(_contended), Verdict.INCONCLUSIVE, "see"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TIMING)
def test_the_analysis_refuses_it(kind: str) -> None:
    made, verdict, who = TIMING[kind]
    system, plan = made()
    assert check_plan(system, plan) == []
    report = analyze(system, plan)
    assert report.verdict is verdict
    (mode,) = report.modes
    told = {one.task: one for one in mode.tasks} | {one.chain: one for one in mode.chains}
    assert told[who].verdict is not Verdict.SCHEDULABLE
    assert told[who].reason
