"""How good and how fast planning is: CP-SAT against HEFT on random graphs, and whole systems by size.

    python benchmarks/planner.py [--graphs N] [--limit S] [--systems]

Graphs: N of 5 to 20 tasks, and a tenth as many of 30 and 40, on three processors; costs 1 to 30, messages 0 to 20. The
solver is not given HEFT's schedule. `gap` is what the solver could not exclude, as a share of its makespan.
Systems: cameras with three tasks each on devices with a CPU of four cores, a GPU and two DLAs, every task free to run
on its kind of element anywhere; CPU time of this process and its threads, and wall time.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "planner")]

from placement_cases import random_graph  # noqa: E402

from rt_sched import kernels  # noqa: E402
from rt_sched.config import load_system_text  # noqa: E402
from rt_sched.model import System  # noqa: E402
from rt_sched.planner.objectives import Objective  # noqa: E402
from rt_sched.planner.optimise import optimise  # noqa: E402
from rt_sched.planner.placing.cp import Status, load_solver, solve  # noqa: E402
from rt_sched.planner.placing.frame_model import Goal  # noqa: E402
from rt_sched.planner.placing.heft import heft  # noqa: E402
from rt_sched.planner.placing.problem import check_frame  # noqa: E402
from rt_sched.planner.placing.stopping import Stop  # noqa: E402


def graphs(count: int, limit_s: float) -> int:
    """Prints a row for each size; the number of graphs on which the solver was worse, or broke a rule."""
    print(f"{'tasks':>6} {'graphs':>7} {'optimal':>8} {'HEFT/best':>10} {'worst gap':>10} {'worse':>6} {'longest':>9}")
    wrong = 0
    sizes = [(low, low + 4, count // 4) for low in (5, 9, 13, 17)] + [(30, 31, count // 10), (40, 41, count // 10)]
    for low, high, many in sizes:
        optimal, ratios, gaps, worse, longest_s = 0, [], [0.0], 0, 0.0
        for seed in range(many):
            problem = random_graph(1000 * low + seed, low + seed % (high - low))
            fast = heft(problem)
            began = time.monotonic()
            found = solve(problem, Goal.MAKESPAN, Stop(limit_s))
            longest_s = max(longest_s, time.monotonic() - began)
            if fast is None or found.schedule is None:
                worse += 1
                continue
            optimal += found.status is Status.OPTIMAL
            gaps.append(found.gap)
            ratios.append(fast.makespan_ns / found.schedule.makespan_ns)
            worse += found.schedule.makespan_ns > fast.makespan_ns or bool(check_frame(problem, found.schedule))
        wrong += worse
        name = str(low) if high == low + 1 else f"{low}-{high - 1}"
        mean = sum(ratios) / len(ratios) if ratios else 0.0
        print(
            f"{name:>6} {many:>7} {optimal:>8} {mean:>10.3f} {100 * max(gaps):>8.1f} % {worse:>6} {longest_s:>7.1f} s",
            flush=True,
        )
    return wrong


def rig(cameras: int, devices: int) -> System:
    """A camera a chain of three tasks, and a task on each device that reads what its cameras found."""
    names = [f"d{number}" for number in range(devices)]

    def task(name: str, element: str, home: str, more: str) -> str:
        others = ", ".join(f"{device}.{element}" for device in names if device != home)
        return f"  {name}: {{runs_on: {home}.{element}, candidates: [{others}], {more}}}\n"

    text = ["rt_sched: 1\nname: rig\ndevices:\n"]
    elements = "cpu: {kind: cpu, cores: 4}, gpu: {kind: gpu}, dla0: {kind: dla}, dla1: {kind: dla}"
    text += [f"  {name}: {{processing_elements: {{{elements}}}}}\n" for name in names]
    text.append("links: {net: {bandwidth: 10Gbit/s, latency: 50us}}\nsensors:\n")
    homes = [names[number % devices] for number in range(cameras)]
    attached = [f"[{name}, {names[(names.index(name) + 1) % devices]}]" for name in homes]
    text += [
        f"  c{n}: {{kind: camera, rate: 10Hz, attached_to: {attached[n]}, topic: /c{n}, frame_size: 1MB}}\n"
        for n in range(cameras)
    ]
    text.append("tasks:\n")
    for n, home in enumerate(homes):
        rest = "deadline: 50ms, output_size: 200kB"
        text.append(task(f"pre{n}", "cpu", home, f"inputs: {{x: c{n}}}, execution: {{wcet: {2 + n % 3}ms}}, {rest}"))
        text.append(task(f"see{n}", "gpu", home, f"inputs: {{x: pre{n}}}, execution: {{wcet: {3 + n % 4}ms}}, {rest}"))
        text.append(task(f"post{n}", "cpu", home, f"inputs: {{x: see{n}}}, execution: {{wcet: 1ms}}, {rest}"))
    text += [
        task(f"fuse{k}", "cpu", name, "activation: {rate: 20Hz}, inputs: {" + ", ".join(
            f"i{n}: {{from: post{n}, required: false}}" for n in range(cameras) if homes[n] == name
        ) + "}, execution: {wcet: 3ms}")
        for k, name in enumerate(names)
    ]  # fmt: skip
    text.append("chains:\n")
    text += [f"  see{n}: {{path: [c{n}, pre{n}, see{n}, post{n}], max_latency: 100ms}}\n" for n in range(cameras)]
    return load_system_text("".join(text), file_name="rig", base_dir=".", stages=None)


def systems() -> None:
    """Prints what planning of whole systems takes."""
    print(f"{'tasks':>6} {'elements':>9}  {'how':<26} {'wall':>8} {'CPU':>8}  verdict, method, mean latency")
    for cameras, devices, search, limit_s in ((12, 4, True, 30.0), (12, 4, False, 30.0), (64, 8, False, 30.0)):
        system = rig(cameras, devices)
        began, cpu = time.monotonic(), time.process_time()
        found = optimise(system, Objective.LATENCY, Stop(limit_s), search=search)
        wall_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
        costs = found.best.costs if found.best is not None else None
        latency = "none" if costs is None or costs.latency_ns is None else f"{costs.latency_ns / 1e6:.2f} ms"
        method = "none" if found.best is None else found.best.method
        how = f"solver and moves, {limit_s:.0f} s" if search else "heuristics"
        elements = sum(len(device.processing_elements) for device in system.devices)
        print(
            f"{len(system.tasks):>6} {elements:>9}  {how:<26} {wall_s:>6.1f} s {cpu_s:>6.1f} s  "
            f"{found.verdict.value}, {method}, {latency}",
            flush=True,
        )


def main() -> None:
    """Everything that was asked for; exit 1 where the solver was worse than HEFT on a graph."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--graphs", type=int, default=200, help="random graphs of up to 20 tasks")
    arguments.add_argument("--limit", type=float, default=60.0, help="seconds for one graph")
    arguments.add_argument("--systems", action="store_true", help="whole systems only")
    given = arguments.parse_args()
    load_solver()
    kernels.warm_up()
    wrong = 0 if given.systems else graphs(given.graphs, given.limit)
    systems()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
