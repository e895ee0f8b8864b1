"""The nominal plan: ready queues, policies, cores; and that the gate refuses what cannot work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rt_sched.config import load_system_text
from rt_sched.lowering import check_plan
from rt_sched.model import Plan, Policy, System, TableEntry, TimeSlice
from rt_sched.planner import make_plan

MS = 1_000_000
RUN = "activation: {rate: 10Hz}, execution: {wcet: 1ms}"


def _system(text: str) -> System:
    return load_system_text(f"rt_sched: 1\nname: small\n{text}", file_name="s", base_dir=".", stages=None)


def _one(element: str, tasks: str = f"  t: {{runs_on: ecu.cpu, {RUN}}}\n", more: str = "") -> System:
    return _system(
        f"devices: {{ecu: {{processing_elements: {{cpu: {{kind: cpu, {element}}}}}}}}}\n{more}tasks:\n{tasks}"
    )


def _policies(system: System, policy: str | None) -> set[Policy]:
    return {processor.policy for processor in make_plan(system, policy).processors}


@pytest.mark.parametrize(
    ("element", "file", "asked", "expected"),
    [
        ("cores: 2", "policy: rms\n", None, Policy.FIXED_PRIORITY),
        ("cores: 2", "policy: edf\n", None, Policy.EDF),
        ("policy: edf", "policy: rms\n", None, Policy.EDF),
        ("policy: edf", "policy: rms\n", "dm", Policy.FIXED_PRIORITY),
        ("policy: fixed_priority", "policy: rms\n", "edf", Policy.EDF),
        ("policy: fifo", "policy: rms\n", "edf", Policy.FIFO),
        ("policy: time_sliced, slices: [{length: 1ms, tasks: t}]", "", "edf", Policy.TIME_SLICED),
        ("policy: table, table: {cycle: 9ms, entries: [{at: 0ms, length: 1ms, task: t}]}", "", "rms", Policy.TABLE),
    ],
)
def test_the_policy_of_an_element(element: str, file: str, asked: str | None, expected: Policy) -> None:
    system = _one(element, more=file)
    assert _policies(system, asked) == {expected}
    assert check_plan(system, make_plan(system, asked)) == []


def test_tasks_go_to_the_queue_with_the_least_load_per_core() -> None:
    tasks = "".join(f"  t{n}: {{runs_on: ecu.cpu, {RUN}}}\n" for n in range(4))
    assert [p.processor for p in make_plan(_one("cores: 4", tasks)).placements] == [0, 1, 2, 3]
    assert {p.processor for p in make_plan(_one("cores: 4, scheduling: global", tasks)).placements} == {0}
    clusters = make_plan(_one("cores: 4, scheduling: clustered, cluster_size: 2", tasks))
    assert [p.processor for p in clusters.placements] == [0, 1, 0, 1]


def test_a_core_names_its_cluster() -> None:
    tasks = f"  t: {{runs_on: ecu.cpu, core: 3, {RUN}}}\n"
    plan = make_plan(_one("cores: 4, scheduling: clustered, cluster_size: 2", tasks))
    assert plan.processors[plan.placements[0].processor].name == "ecu.cpu[2-3]"


@pytest.mark.parametrize(
    ("protocol", "together"), [("priority_ceiling", True), ("priority_inheritance", True), ("msrp", False)]
)
def test_tasks_that_share_a_lock_for_one_core_stay_together(protocol: str, together: bool) -> None:
    lock = "critical_sections: [{resource: r, to: 1us}]"
    tasks = "".join(f"  t{n}: {{runs_on: ecu.cpu, {RUN}, {lock}}}\n" for n in range(3))
    system = _one("cores: 4", tasks, f"resources: {{r: {{protocol: {protocol}}}}}\n")
    plan = make_plan(system)
    assert (len({p.processor for p in plan.placements}) == 1) is together
    assert check_plan(system, plan) == []


def _elsewhere(plan: Plan, task: int, processor: int) -> Plan:
    placements = list(plan.placements)
    placements[task] = replace(placements[task], processor=processor)
    return replace(plan, placements=tuple(placements))


def test_a_ceiling_across_cores_is_refused() -> None:
    lock = "critical_sections: [{resource: r, to: 1us}]"
    tasks = f"  a: {{runs_on: ecu.cpu, {RUN}, {lock}}}\n  b: {{runs_on: ecu.cpu, {RUN}, {lock}}}\n"
    system = _one("cores: 2", tasks, "resources: {r: {protocol: priority_ceiling}}\n")
    assert check_plan(system, _elsewhere(make_plan(system), 1, 1)) == [
        "resource r: priority_ceiling works on one core, but its users are on ecu.cpu.0, ecu.cpu.1; "
        "bind them to one core, or use msrp"
    ]
    shared = _one("cores: 2, scheduling: global", tasks, "resources: {r: {protocol: priority_ceiling}}\n")
    assert "works on one core, but its users are on ecu.cpu[0-1]" in check_plan(shared, make_plan(shared))[0]


def test_locks_and_cycles_exclude_each_other() -> None:
    lock = "critical_sections: [{resource: r, to: 1us}]"
    table = "policy: table, table: {cycle: 9ms, entries: [{at: 0ms, length: 1ms, task: t}]}"
    for protocol, reason in (
        ("msrp", "resource r: msrp spins without preemption, which ecu.cpu.0 does not allow"),
        ("priority_ceiling", "resource r: priority_ceiling needs fixed_priority or edf; ecu.cpu.0 is table"),
    ):
        system = _one(
            table, f"  t: {{runs_on: ecu.cpu, {RUN}, {lock}}}\n", f"resources: {{r: {{protocol: {protocol}}}}}\n"
        )
        assert check_plan(system, make_plan(system)) == [reason]


def test_a_candidate_is_a_legal_place() -> None:
    system = _system(
        "devices: {ecu: {processing_elements: {cpu: {kind: cpu}, big: {kind: cpu}, gpu: {kind: gpu}}}}\n"
        f"tasks: {{t: {{runs_on: ecu.cpu, candidates: ecu.big, {RUN}}}}}\n"
    )
    plan = make_plan(system)
    assert check_plan(system, _elsewhere(plan, 0, 1)) == []
    assert check_plan(system, _elsewhere(plan, 0, 2)) == ["task t belongs on ecu.cpu or ecu.big, not on ecu.gpu.0"]


def test_queues_must_be_those_of_the_element() -> None:
    system = _one("cores: 4, scheduling: clustered, cluster_size: 2")
    plan = make_plan(system)
    single = replace(plan, processors=(replace(plan.processors[0], cores=1), plan.processors[1]))
    askew = replace(plan, processors=(replace(plan.processors[0], core=1), plan.processors[1]))
    expected = "ecu.cpu is clustered, 2 cores share a ready queue"
    assert check_plan(system, single) == [f"processor ecu.cpu.0: {expected}"]
    assert check_plan(system, askew) == [f"processor ecu.cpu[1-2]: {expected}"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"table": (TableEntry(0, 5 * MS, "t"), TableEntry(4 * MS, MS, "t"))},
            "table entry 1 begins before entry 0 has ended",
        ),
        ({"table": (TableEntry(8 * MS, 5 * MS, "t"),)}, "the table ends at 13ms, after its cycle of 10ms"),
        (
            {"table": (TableEntry(0, MS, "t"), TableEntry(MS, MS, "x"))},
            "table entry 1 is for task x, which runs elsewhere",
        ),
        ({"table": ()}, "task t is in no table entry of ecu.cpu.0, so it never runs"),
        ({"policy": Policy.TIME_SLICED}, "processor ecu.cpu.0 is time_sliced, but has no slice"),
        (
            {"policy": Policy.TIME_SLICED, "slices": (TimeSlice(MS, ("t",), MS),)},
            "slice 0 of 1ms has a switch cost of 1ms",
        ),
        (
            {"policy": Policy.TIME_SLICED, "slices": (TimeSlice(MS, ("t", "x")),)},
            "slice 0 is for task x, which runs elsewhere",
        ),
        ({"policy": Policy.TIME_SLICED, "slices": (TimeSlice(MS, ()),)}, "task t is in no slice of ecu.cpu.0"),
    ],
)
def test_cycles_that_cannot_be_followed_are_refused(change: dict, problem: str) -> None:
    system = _one("policy: table, table: {cycle: 10ms, entries: [{at: 0ms, length: 5ms, task: t}]}")
    element = replace(system.devices[0].processing_elements[0], **change)
    wrong = replace(system, devices=(replace(system.devices[0], processing_elements=(element,)),))
    assert any(problem in said for said in check_plan(wrong, make_plan(wrong)))


def test_names_that_lead_nowhere_are_refused() -> None:
    system = _one("cores: 1", f"  t: {{runs_on: ecu.cpu, {RUN}, critical_sections: [{{resource: r, to: 1us}}]}}\n",
                  "resources: {r: {protocol: none}}\n")  # fmt: skip
    wrong = replace(system, resources=())
    assert check_plan(wrong, make_plan(wrong)) == ["task t holds r, which is no resource of the system"]
