"""A trace put together from the windows of a bulk simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rt_sched.kernels import codes
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim import Simulation
from rt_sched.sim.bulk import BulkSimulation, Window
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import GivenSamples

#: What a transfer, slice, drop or event of the log has in a row; -1 - row stands for what is not kept.
Rows = dict[str, list[tuple[int, ...]]]


class Collected:
    """Rows of all tables with the numbers that they have in tables that grow."""

    def __init__(self, given: MachineInput) -> None:
        self.given = given
        self.rows: Rows = {name: [] for name in ("jobs", "slices", "drops", "transfers", "events", "samples")}

    def see(self, window: Window) -> None:
        m, b = window.machine, window.bulk
        clock = m.clock[0]

        def name_of(message: int) -> int:
            if message >= 0:
                return int(b.rows[message]["ident"])
            return message if message == codes.NONE else int(codes.FIRST_SAMPLE - b.samples[-2 - message]["ident"])

        for row in range(clock["jobs"]):
            if b.rows[row]["folded"] == 2:
                job = m.jobs[row]
                values = [int(job[name]) for name in _JOB]
                inputs = [name_of(int(message)) for message in m.inputs[row]]
                self.rows["jobs"].append((int(b.rows[row]["ident"]), *values, *inputs))
        for piece in m.slices[: clock["slices"]].tolist():
            core, job, start_ns, end_ns, kind = piece
            self.rows["slices"].append((end_ns, core, start_ns, name_of(job), kind))
        for time_ns, edge, message, reason in m.drops[: clock["drops"]].tolist():
            self.rows["drops"].append((time_ns, edge, name_of(message), reason))
        under_way = set()
        for lane in m.lanes:
            transfer = int(lane["next"])
            while transfer != codes.NONE:
                under_way.add(transfer)
                transfer = int(m.transfers[transfer]["next"])
        for row in range(clock["transfers"]):
            if row not in under_way or window.ended:
                edge, message, queued, start, end, _, delivered, _ = m.transfers[row].tolist()
                self.rows["transfers"].append((edge, name_of(message), queued, start, end, delivered))
        for event in m.log[: clock["log"]]:
            time_ns, kind, processor, task, job, value = (int(event[name]) for name in _LOG)
            self.rows["events"].append((time_ns, kind, processor, task, job if job < 0 else name_of(job), value))


_JOB = (
    "task", "number", "arrival_ns", "release_ns", "start_ns", "finish_ns", "deadline_ns", "demand_ns", "executed_ns",
    "capture_ns", "status", "missed", "overrun",
)  # fmt: skip
_LOG = ("time_ns", "kind", "processor", "task", "job", "value")


def in_windows(given: MachineInput, rows: int, samples: int) -> Rows:
    """The rows of a run whose tables are drained as soon as `rows` rows are full."""
    collected = Collected(given)
    simulation = BulkSimulation(given, Questions(), rows=rows, samples=samples)
    simulation.run(0, given.seed, GivenSamples(given), see=collected.see)
    return {name: sorted(table) for name, table in collected.rows.items()}


def at_once(given: MachineInput) -> Rows:
    """The same rows of a run whose tables grow."""
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    j, s, d, t, e = trace.jobs, trace.slices, trace.drops, trace.transfers, trace.events
    jobs = zip(range(len(j)), *(getattr(j, name).tolist() for name in _JOB), *_columns(j.inputs), strict=True)
    return {
        "jobs": sorted(tuple(map(int, row)) for row in jobs),
        "slices": _rows(s.end_ns, s.processor, s.start_ns, s.job, s.kind),
        "drops": _rows(d.time_ns, d.edge, d.message, d.reason),
        "transfers": _rows(t.edge, t.message, t.queued_ns, t.start_ns, t.end_ns, t.delivered_ns),
        "events": _rows(*(getattr(e, name) for name in _LOG)),
        "samples": [],
    }


def _columns(table: np.ndarray) -> Sequence[list[int]]:
    return table.T.tolist()


def _rows(*columns: np.ndarray) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.tolist() for column in columns), strict=True))
