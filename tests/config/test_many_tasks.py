"""Reading what many tasks say of many processing elements takes time in proportion to the tasks."""

from __future__ import annotations

import time
from collections.abc import Callable

from rt_sched.config.devices import Devices
from rt_sched.config.placement import check_cycles, read_candidates, read_core, read_pe
from rt_sched.config.problems import Problems
from rt_sched.config.processing import read_processing_element
from rt_sched.config.table import Table
from rt_sched.config.tasks import TASK
from rt_sched.config.yaml_nodes import Node, parse
from rt_sched.model import Device, PEKind, Policy, ProcessingElement

FEW, MANY = 1000, 4000


def rising(work: Callable[[int], Callable[[], None]]) -> float:
    """How many times longer the work of MANY takes than that of FEW: processor time, the least of several times."""
    least_s = []
    for count in (FEW, MANY):
        run, times = work(count), []
        for _ in range(5):
            began = time.process_time()
            run()
            times.append(time.process_time() - began)
        least_s.append(min(times))
    return least_s[1] / least_s[0]


def tree(text: str) -> Node:
    root = parse(text.encode(), Problems("many.yaml"))
    assert root is not None
    return root


def test_finding_the_element_of_a_task_does_not_look_through_all_of_them() -> None:
    def work(count: int) -> Callable[[], None]:
        elements = tuple(ProcessingElement(f"c{n}", PEKind.CPU, 1, Policy.EDF, preemptive=True) for n in range(count))
        devices = Devices({"d": Device("d", elements)})
        lines = (f"t{n}: {{runs_on: d.c{n}, candidates: [d.c{count - 1 - n}], execution: 1ms}}\n" for n in range(count))
        problems = Problems("many.yaml")
        tasks = [Table(entry.value, TASK, problems) for entry in tree("".join(lines)).entries.values()]

        def run() -> None:
            for number, table in enumerate(tasks):
                pe = read_pe(table.get("runs_on"), devices, problems)
                assert devices.element(pe) is elements[number]
                assert read_core(table, devices.element(pe)) is None
                read_candidates(table, pe, devices)

        return run

    assert rising(work) < 2.5 * MANY / FEW


def test_cycles_that_name_many_tasks_are_held_against_those_of_their_element() -> None:
    def work(count: int) -> Callable[[], None]:
        names = [f"t{n}" for n in range(count)]
        slices = ", ".join(f"{{length: 1us, tasks: [{name}]}}" for name in names)
        devices_node = tree(
            f"d: {{processing_elements: {{c: {{kind: cpu, policy: time_sliced, slices: [{slices}]}}}}}}"
        )
        problems = Problems("many.yaml")
        node = devices_node.entries["d"].value.entries["processing_elements"].value.entries["c"].value
        element = read_processing_element("c", node, problems)
        assert element is not None
        devices = Devices({"d": Device("d", (element,))})
        tasks = dict.fromkeys(names, (("d", "c"), node))

        def run() -> None:
            check_cycles(devices_node, devices, tasks, problems)
            problems.raise_if_any()

        return run

    assert rising(work) < 2.5 * MANY / FEW
