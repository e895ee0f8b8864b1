"""Random task sets for studies, and how they run on the scheduling kernel: the same for the same seed, everywhere."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "stages")]

from plot import Series, line_plot  # noqa: E402

from rt_sched.lowering.machine_input import (  # noqa: E402
    DeadlineAction,
    MachineInput,
    Policy,
    ProcessorRow,
    ResourceRow,
    SectionRow,
    TaskRow,
    TimeSlice,
)

Int64s = npt.NDArray[np.int64]
US, MS, S = 1_000, 1_000_000, 1_000_000_000


@dataclass(frozen=True, slots=True)
class DrawnSet:
    """Tasks by period, the shortest first: wcet_ns, period_ns, deadline_ns int64[n]."""

    wcet_ns: Int64s
    period_ns: Int64s
    deadline_ns: Int64s

    @property
    def load(self) -> float:
        """What the processor is asked for, as a share."""
        return float((self.wcet_ns / self.period_ns).sum())


def draw_set(
    rng: np.random.Generator,
    tasks: int,
    load: float,
    *,
    periods_ms: tuple[float, float] = (10.0, 200.0),
    deadlines: tuple[float, float] = (1.0, 1.0),
) -> DrawnSet:
    """Loads by UUniFast, drawn again while one is above 1 (UUniFast-Discard); periods log-uniform on a grid of 10 us.

    `deadlines`: drawn evenly between these shares of the period, at least the wcet.
    Source: Bini, Buttazzo 2005; Davis, Burns 2011; Emberson, Stafford, Davis 2010 for the periods.
    """
    while True:
        # Each part of what is left keeps a share u^(1/k) of it: the loads are uniform over all that have this sum.
        kept = rng.random(tasks - 1) ** (1.0 / np.arange(tasks - 1, 0, -1))
        left = load * np.concatenate([[1.0], np.cumprod(kept), [0.0]])
        shares = left[:-1] - left[1:]
        if shares.max() <= 1.0:
            break
    low, high = np.log(periods_ms[0]), np.log(periods_ms[1])
    period_ns = np.sort((np.exp(rng.uniform(low, high, tasks)) * 100).astype(np.int64)) * 10 * US
    wcet_ns = np.maximum((shares * period_ns).astype(np.int64), 1)
    deadline_ns = np.maximum((period_ns * rng.uniform(*deadlines, tasks)).astype(np.int64), wcet_ns)
    return DrawnSet(wcet_ns, period_ns, deadline_ns)


#: Name of a policy in a study -> how the kernel schedules, and whether running jobs may be preempted.
POLICIES = {
    "FP": (Policy.FIXED_PRIORITY, True),
    "FP, not preemptive": (Policy.FIXED_PRIORITY, False),
    "EDF": (Policy.EDF, True),
    "EDF, not preemptive": (Policy.EDF, False),
    "FIFO": (Policy.FIFO, False),
    "time slices": (Policy.TIME_SLICED, True),
}


def machine_of(
    drawn: DrawnSet,
    policy: str,
    offsets_ns: Sequence[int],
    horizon_ns: int,
    *,
    action: DeadlineAction = DeadlineAction.CONTINUE,
    resources: Sequence[ResourceRow] = (),
    sections: Sequence[tuple[SectionRow, ...]] | None = None,
    cycle_ns: int = 5 * MS,
) -> MachineInput:
    """A set on one core; priorities by deadline. Time slices: one a task, its share of the load of each cycle."""
    kind, preemptive = POLICIES[policy]
    order = np.argsort(drawn.deadline_ns, kind="stable")
    levels = np.empty(len(order), np.int64)
    levels[order] = np.arange(len(order))
    slices: tuple[TimeSlice, ...] = ()
    if kind is Policy.TIME_SLICED:
        shares = drawn.wcet_ns / drawn.period_ns / drawn.load
        slices = tuple(TimeSlice(max(1, int(share * cycle_ns)), (task,)) for task, share in enumerate(shares.tolist()))
    rows = tuple(
        TaskRow(
            f"t{task}",
            0,
            int(drawn.deadline_ns[task]),
            int(drawn.wcet_ns[task]),
            int(levels[task]),
            rate_hz=Fraction(S, int(drawn.period_ns[task])),
            offset_ns=int(offsets_ns[task]),
            deadline_action=action,
            sections=() if sections is None else sections[task],
        )
        for task in range(len(drawn.wcet_ns))
    )
    processor = ProcessorRow("cpu", kind, preemptive, slices=slices)
    return MachineInput((processor,), (), rows, (), horizon_ns=horizon_ns, resources=tuple(resources))


def study(description: str, sets: int) -> argparse.Namespace:
    """What every study is told on its command line: `sets`, `seed`, and where plots go."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=sets, help="random task sets a point")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="also draw the plots of docs/studies.md there")
    return parser.parse_args()


def tell(
    title: str, x_label: str, y_label: str, curves: dict[str, dict[float, float]], file: Path | None, digits: int = 3
) -> None:
    """Print a table of curves, name -> {x: y}, and draw it where `file` is given."""
    print(f"{title}: {y_label} against {x_label}")
    width = max(len(name) for name in curves)
    xs = sorted({x for points in curves.values() for x in points})
    print(" " * width + "".join(f"{x:>8g}" for x in xs))
    for name, points in curves.items():
        cells = (f"{points[x]:>8.{digits}f}" if x in points else f"{'':>8}" for x in xs)
        print(f"{name:<{width}}{''.join(cells)}")
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        series = [Series(name, tuple(sorted(points.items()))) for name, points in curves.items()]
        file.write_text(line_plot(title, x_label, y_label, series), encoding="utf-8")


def spent() -> None:
    """Print the processor time of this process."""
    print(f"{time.process_time():.0f} s of processor time")
