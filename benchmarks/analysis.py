"""Speed of the batch analysis against pyRTA (`response-time-analysis`), on the same sets in the same run.

    python benchmarks/analysis.py [--sets N] [--peer-sets N] [--tasks N] [--load U] [--sweep] [--plots FOLDER]
                                  [--offsets]

Task sets: loads by UUniFast, periods log-uniform in 1 ... 1000 ms on a grid of 1 us, rate-monotonic priorities,
implicit deadlines; for the demand test deadlines are uniform in 0.6 ... 1 of the period.
Every figure is the best of some runs after one that is not counted, all cores used. The peer analyses the first sets
only, once; its bounds must be equal. It is not a dependency: without it only our own times are shown.
The sweep counts CPU time of all cores together; `--plots` draws it, into the pictures of docs/analysis.md by

    python benchmarks/analysis.py --sets 0 --plots docs/plots

`--offsets`: how much shorter bounds become when offsets are known, on sets with periods of 10 ... 200 ms.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path[:0] = [str(Path(__file__).resolve().parent / "stages")]

from plot import Series, line_plot  # noqa: E402

from rt_sched.analysis.batch import (  # noqa: E402
    BatchResult,
    Status,
    edf_response_times,
    edf_schedulable,
    fp_response_times,
)
from rt_sched.analysis.theory.transactions import OffsetTask, offset_worst_case  # noqa: E402

Int64s = npt.NDArray[np.int64]
US = 1000

#: Longest time a set may take in batch, in microseconds, and the least ratio to the peer.
TARGETS_US = {"FP preemptive": 3.0, "FP non-preemptive": 6.0, "EDF demand (QPA)": 10.0}
TARGET_RATIO = {"EDF preemptive": 100.0, "EDF non-preemptive": 100.0}


def task_sets(count: int, tasks: int, load: float, seed: int = 1) -> tuple[Int64s, Int64s]:
    """(wcet_ns, period_ns) int64[count, tasks], by period."""
    rng = np.random.default_rng(seed)
    shares = np.empty((count, tasks))
    left = np.full(count, load)
    for position in range(tasks - 1):
        after = left * rng.random(count) ** (1.0 / (tasks - 1 - position))
        shares[:, position] = left - after
        left = after
    shares[:, -1] = left
    period_us = np.sort(np.exp(rng.uniform(np.log(1e3), np.log(1e6), (count, tasks))).astype(np.int64), axis=1)
    wcet_us = np.maximum((shares * period_us).astype(np.int64), 1)
    return wcet_us * US, period_us * US


def deadlines(wcet_ns: Int64s, period_ns: Int64s) -> Int64s:
    """Relative deadlines between 0.6 of the period and the period, at least the wcet."""
    shares = np.random.default_rng(2).uniform(0.6, 1.0, period_ns.shape)
    return np.maximum((period_ns * shares).astype(np.int64), wcet_ns)


def best_s(run: Callable[[], Any], repeat: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Shortest of `repeat` runs after one that is not counted."""
    run()
    times = []
    for _ in range(repeat):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


METHODS: dict[str, Callable[[Int64s, Int64s], BatchResult]] = {
    "FP preemptive": fp_response_times,
    "FP non-preemptive": lambda wcet, period: fp_response_times(wcet, period, preemptive=False),
    "EDF demand (QPA)": lambda wcet, period: edf_schedulable(wcet, period, deadlines(wcet, period)),
    "EDF preemptive": edf_response_times,
    "EDF non-preemptive": lambda wcet, period: edf_response_times(wcet, period, preemptive=False),
}


def peer_bounds(method: str, wcet_ns: Int64s, period_ns: Int64s) -> Iterator[list[int]]:
    """Bounds of the peer, set by set; one tick of its time is a nanosecond."""
    import response_time_analysis as rta
    from response_time_analysis import model

    execution = model.FullyNonPreemptive if "non-preemptive" in method else model.FullyPreemptive
    for wcets, periods in zip(wcet_ns.tolist(), period_ns.tolist(), strict=True):
        tasks = model.taskset(
            model.Task(model.Sporadic(T), execution(model.WCET(C)), model.Deadline(T), model.Priority(len(wcets) - i))
            for i, (C, T) in enumerate(zip(wcets, periods, strict=True))
        )
        analysis = rta.fp if method.startswith("FP") else rta.edf
        yield [analysis.rta(tasks, task, model.IdealProcessor()).response_time_bound for task in tasks]


def against_peer(method: str, wcet_ns: Int64s, period_ns: Int64s) -> float:
    """Seconds that the peer takes; its bounds are compared with ours."""
    ours = METHODS[method](wcet_ns, period_ns)
    start = time.perf_counter()
    theirs = np.array(list(peer_bounds(method, wcet_ns, period_ns)))
    took = time.perf_counter() - start
    if not (ours.status == Status.OK).all() or not (ours.response_ns == theirs).all():
        raise SystemExit(f"{method}: bounds differ from the peer's")
    return took


def compare(sets: int, peer_sets: int, tasks: int, load: float, repeat: int) -> None:
    """Print one line a method."""
    try:
        import response_time_analysis as _  # noqa: F401
    except ImportError:
        peer_sets = 0
        print("response-time-analysis is not installed: our own times only")
    print(f"{tasks} tasks a set, U = {load}, {sets} sets in batch; the peer on {peer_sets}")
    print(f"{'method':<20} {'a set':>12} {'peer':>12} {'ratio':>9}  target")
    wcet, period = task_sets(sets, tasks, load)
    for method, analyse in METHODS.items():
        some = sets if method in TARGETS_US else max(1, sets // 20)
        ours = best_s(lambda run=analyse, some=some: run(wcet[:some], period[:some]), repeat) / some
        line = f"{method:<20} {ours * 1e6:>9.2f} us"
        ratio = 0.0
        few = peer_sets if method.startswith("FP") else -(-peer_sets // 20)
        if few and method != "EDF demand (QPA)":
            theirs = against_peer(method, wcet[:few], period[:few]) / few
            ratio = theirs / ours
            line += f" {theirs * 1e6:>9.0f} us {ratio:>8.0f}x"
        else:
            line += f" {'-':>12} {'-':>9}"
        if method in TARGETS_US:
            met = ours * 1e6 <= TARGETS_US[method]
            line += f"  <= {TARGETS_US[method]:g} us: {'met' if met else 'missed'}"
        elif ratio:
            line += f"  >= {TARGET_RATIO[method]:g}x: {'met' if ratio >= TARGET_RATIO[method] else 'missed'}"
        print(line)


def sweep(repeat: int) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """CPU time a set, in microseconds, against the number of tasks at U = 0.8 and against the load with 20 tasks."""
    points: dict[str, dict[str, list[tuple[float, float]]]] = {"tasks": {}, "load": {}}
    for axis, values in (("tasks", (5, 10, 20, 40, 80)), ("load", (0.5, 0.6, 0.7, 0.8, 0.9, 0.95))):
        for method, analyse in METHODS.items():
            for value in values:
                tasks, load = (int(value), 0.8) if axis == "tasks" else (20, value)
                sets = 1000 if method in TARGETS_US else 20
                wcet, period = task_sets(sets, tasks, load)
                took = best_s(lambda run=analyse, w=wcet, p=period: run(w, p), repeat, time.process_time) / sets * 1e6
                points[axis].setdefault(method, []).append((float(value), took))
    return points


#: File -> axis, its label, and the methods that it shows.
PLOTS = {
    f"analysis-{axis}-{name}.svg": (axis, label, methods)
    for axis, label in (("tasks", "tasks, at a load of 0.8"), ("load", "load, with 20 tasks"))
    for name, methods in (
        ("fast", ("FP preemptive", "FP non-preemptive", "EDF demand (QPA)")),
        ("edf", ("EDF preemptive", "EDF non-preemptive")),
    )
}


def plots(found: dict[str, dict[str, list[tuple[float, float]]]]) -> dict[str, str]:
    """The documents by file name."""
    return {
        file: line_plot(
            f"Cost of one task set against its {axis}",
            label,
            "CPU time in us",
            [Series(method, tuple(found[axis][method])) for method in methods],
        )
        for file, (axis, label, methods) in PLOTS.items()
    }


def offsets(sets: int, load: float) -> None:
    """Bounds with known offsets as a share of those without, and the time that they take, by release jitter."""
    rng = np.random.default_rng(3)
    print(f"10 tasks a set, U = {load}, {sets} sets: bound with known offsets / bound without")
    print(f"{'jitter / period':<16} {'median':>8} {'least':>8} {'shorter':>9} {'a set':>10}")
    for share in (0.0, 0.05, 0.2, 0.5):
        ratios: list[float] = []
        took = 0.0
        for wcet in task_sets(sets, 10, load)[0]:
            period = np.sort(rng.choice([10, 20, 25, 40, 50, 100, 200], 10)) * 1000 * US
            wcet = np.maximum((wcet * (load / (wcet / period).sum())).astype(np.int64), 1)
            jitter = (period * share * rng.random(10)).astype(np.int64)
            plain = fp_response_times([wcet], [period], None, [jitter])
            tasks = [
                OffsetTask(Fraction(int(T)), int(C), level, int(J), int(rng.integers(0, T)), int(J))
                for level, (T, C, J) in enumerate(zip(period, wcet, jitter, strict=True))
            ]
            begun = time.process_time()
            cases = [offset_worst_case(tasks, own) for own in range(len(tasks))]
            took += time.process_time() - begun
            ratios += [
                case.response_ns / int(bound)
                for case, bound, status in zip(cases, plain.response_ns[0], plain.status[0], strict=True)
                if case is not None and status == Status.OK
            ]
        shorter = sum(ratio < 1 for ratio in ratios) / len(ratios)
        print(
            f"{share:<16.2f} {np.median(ratios):>8.2f} {min(ratios):>8.2f} {shorter:>9.0%} {took / sets * 1e3:>7.1f} ms"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=50_000)
    parser.add_argument("--peer-sets", type=int, default=40)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--load", type=float, default=0.8)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--sweep", action="store_true", help="also print the cost against tasks and load")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="sweep, and write the plots there")
    parser.add_argument("--offsets", action="store_true", help="also print what known offsets gain")
    arguments = parser.parse_args()
    if arguments.sets:
        compare(arguments.sets, arguments.peer_sets, arguments.tasks, arguments.load, arguments.repeat)
    if arguments.sweep or arguments.plots:
        found = sweep(arguments.repeat)
        for axis, methods in found.items():
            print(f"\nCPU time in microseconds a set against {axis}")
            for method, points in methods.items():
                print(f"{method:<20} " + "  ".join(f"{value:g}: {took:.2f}" for value, took in points))
    if arguments.plots:
        arguments.plots.mkdir(parents=True, exist_ok=True)
        for file, drawn in plots(found).items():
            (arguments.plots / file).write_text(drawn, encoding="utf-8")
    if arguments.offsets:
        print()
        offsets(40, arguments.load)


if __name__ == "__main__":
    main()
