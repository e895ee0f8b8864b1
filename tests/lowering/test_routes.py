"""Links of messages when a plan places tasks elsewhere, and the memory of devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rt_sched.analysis.analyze import analyze
from rt_sched.config import load_system_text
from rt_sched.lowering import check_plan
from rt_sched.lowering.routes import crossings_without_link, routed
from rt_sched.model import Plan, System
from rt_sched.planner import make_plan


def _system(links: str = "", sender: str = "a.cpu", reader: str = "a.cpu", given: str = "send", **sizes: str) -> System:
    cpus = [f"{device}.cpu" for device in "abc"]
    task = "{{runs_on: {}, candidates: [{}], execution: {{wcet: 1ms}}, {}}}"
    others = {place: ", ".join(cpu for cpu in cpus if cpu != place) for place in cpus}
    size = f"output_size: {sizes.get('size', '1MB')}, " if sizes.get("size", "1MB") else ""
    return load_system_text(
        "rt_sched: 1\nname: s\ndevices:\n"
        + "".join(f"  {device}: {{memory: 3MB, processing_elements: {{cpu: {{kind: cpu}}}}}}\n" for device in "abc")
        + (f"links: {{{links}}}\n" if links else "")
        + "sensors: {eye: {kind: camera, rate: 10Hz, attached_to: [a, b], topic: /e, frame_size: 2MB}}\ntasks:\n"
        + f"  send: {task.format(sender, others[sender], size + 'inputs: {image: eye}')}\n"
        + f"  read: {task.format(reader, others[reader], f'inputs: {{x: {given}}}')}\n",
        file_name="s", base_dir=".", stages=None,
    )  # fmt: skip


def _placed(system: System, *devices: str) -> Plan:
    plan = make_plan(system)
    index = {processor.device: number for number, processor in enumerate(plan.processors)}
    return replace(
        plan,
        placements=tuple(
            replace(one, processor=index[device], level=number)
            for number, (one, device) in enumerate(zip(plan.placements, devices, strict=True))
        ),
    )


def _links(system: System, plan: Plan) -> list[str | None]:
    return [given.link for task in routed(system, plan).tasks for given in task.inputs]


BOTH = "slow: {bandwidth: 1Gbit/s, between: [a, b]}, fast: {bandwidth: 10Gbit/s, between: [a, b]}"


def test_messages_within_a_device_take_no_link() -> None:
    declared = _system(BOTH, "a.cpu", "b.cpu", "{from: send, link: slow}")
    assert _links(declared, _placed(declared, "a", "b")) == [None, "slow"]
    assert _links(declared, _placed(declared, "b", "b")) == [None, None]
    assert _links(declared, _placed(declared, "b", "a")) == [None, "slow"]


def test_messages_that_come_at_once_between_devices_are_told() -> None:
    declared, apart, local = (
        _system(BOTH, "a.cpu", "b.cpu", "{from: send, link: slow}"),
        _system(BOTH, reader="b.cpu"),
        _system(BOTH),
    )
    assert crossings_without_link(declared, make_plan(declared)) == []
    assert crossings_without_link(apart, make_plan(apart)) == [("read", "send")]
    assert crossings_without_link(apart, _placed(apart, "a", "c")) == [("read", "send")]
    assert crossings_without_link(apart, _placed(apart, "b", "b")) == []
    assert crossings_without_link(local, _placed(local, "a", "b")) == []
    without = _system()
    assert crossings_without_link(without, _placed(without, "c", "a")) == [("send", "eye"), ("read", "send")]


def test_messages_between_devices_take_the_fastest_link() -> None:
    local = _system(BOTH)
    assert _links(local, _placed(local, "a", "a")) == [None, None]
    plan = _placed(local, "a", "b")
    assert _links(local, plan) == [None, "fast"]
    assert check_plan(local, plan) == []
    routes = routed(local, plan)
    assert routed(routes, plan) == routes


def test_without_links_all_messages_are_visible_at_once() -> None:
    system = _system()
    plan = _placed(system, "c", "b")
    assert _links(system, plan) == [None, None]
    assert check_plan(system, plan) == []


def test_what_no_link_reaches_or_nobody_knows_the_size_of_is_refused() -> None:
    system = _system(BOTH)
    assert check_plan(system, _placed(system, "c", "b")) == [
        "task send: input image comes from eye on a and b, and no link leads from there to c",
        "task read: input x comes from send on c, and no link leads from there to b",
    ]
    unsized = _system(BOTH, size="")
    assert check_plan(unsized, _placed(unsized, "a", "b")) == [
        "task read: input x comes over fast here, but the size of its messages is not known; write output_size or "
        "frame_size at send"
    ]


@pytest.mark.parametrize(("devices", "transfer_ms"), [("aa", 0), ("ab", 0.8)])
def test_the_analysis_counts_the_transfer_of_a_moved_task(devices: str, transfer_ms: float) -> None:
    system = _system(BOTH)
    chain = load_system_text(
        "rt_sched: 1\nname: c\ndevices: {a: {processing_elements: {cpu: {kind: cpu}}}}\n"
        "sensors: {eye: {kind: camera, rate: 10Hz, attached_to: a, topic: /e}}\n"
        "tasks:\n  send: {runs_on: a.cpu, inputs: {x: eye}, execution: {wcet: 1ms}}\n"
        "  read: {runs_on: a.cpu, inputs: {x: send}, execution: {wcet: 1ms}}\n"
        "chains: {see: {path: [eye, send, read]}}\n",
        file_name="c", base_dir=".", stages=None,
    ).chains  # fmt: skip
    latency = analyze(replace(system, chains=chain), _placed(system, *devices)).modes[0].chains[0].latency
    assert latency is not None
    assert sum(term.value_ns for term in latency.terms if term.kind.value == "transfer") == transfer_ms * 1_000_000


def test_tasks_fit_into_the_memory_of_their_device() -> None:
    system = _system()
    tasks = tuple(replace(task, memory_bytes=2_000_000) for task in system.tasks)
    big = replace(system, tasks=tasks)
    assert check_plan(big, _placed(big, "a", "b")) == []
    assert check_plan(big, _placed(big, "b", "b")) == [
        "device b: its tasks need 4000000 bytes of memory, and it has 3000000"
    ]
