"""A hand-made run of four devices: eight cameras, a LiDAR, fusion, decision, backup and arbiter, half a second long."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.messages import ArbiterDecision, ArbiterState, Command
from rt_sched.model import CauseEffectChain
from rt_sched.report.run_report import AnnotatedFrame, ChainResult, RunReport
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import DropTable, EdgeName, JobStatus, JobTable, SampleTable, SliceTable, Trace
from rt_sched.trace.statistics import measure_processing_elements, measure_tasks

sys.path.insert(0, str(Path(__file__).parent))

MS = 1_000_000
HORIZON_NS = 500 * MS


@dataclass(frozen=True)
class Step:
    """A task that runs non-preemptively in order of arrival; `source`: sensor or task whose message activates it."""

    name: str
    source: str
    processor: str
    low_ns: int
    high_ns: int
    deadline_ns: int


@dataclass
class Recorder:
    """Runs steps to completion over sensor samples and keeps the columns of a trace."""

    steps: Sequence[Step]
    periods_ns: Mapping[str, int]
    horizon_ns: int = HORIZON_NS
    seed: int = 7
    rows: list[dict[str, int]] = field(default_factory=list)

    def trace(self) -> Trace:
        random = np.random.default_rng(self.seed)
        tasks = [s.name for s in self.steps]
        processors = sorted({s.processor for s in self.steps})
        sensors = list(self.periods_ns)
        free = dict.fromkeys(processors, 0)
        samples: list[tuple[int, int, int, int]] = []
        for index, sensor in enumerate(sensors):
            period = self.periods_ns[sensor]
            for number, capture in enumerate(range(0, self.horizon_ns - 5 * MS, period)):
                samples.append((capture + 5 * MS, index, number, capture))
        samples.sort()
        queue: list[tuple[int, int, int, int, int]] = []
        for row, (arrival, sensor, _, capture) in enumerate(samples):
            for t, step in enumerate(self.steps):
                if step.source == sensors[sensor]:
                    heapq.heappush(queue, (arrival, t, len(queue), -2 - row, capture))
        numbers = [0] * len(tasks)
        columns: list[tuple[int, ...]] = []
        pieces: list[tuple[int, int, int, int]] = []
        while queue:
            arrival, t, _, message, capture = heapq.heappop(queue)
            step, job = self.steps[t], len(columns)
            demand = int(random.integers(step.low_ns, step.high_ns))
            start = max(arrival, free[step.processor])
            finish = start + demand
            free[step.processor] = finish
            done = finish <= self.horizon_ns
            if start < self.horizon_ns:
                end = min(finish, self.horizon_ns)
                pieces.append((processors.index(step.processor), job, start, end))
            deadline = arrival + step.deadline_ns
            columns.append(
                (
                    t,
                    numbers[t],
                    arrival,
                    arrival,
                    start if start < self.horizon_ns else -1,
                    finish if done else -1,
                    deadline,
                    demand,
                    min(demand, max(0, self.horizon_ns - start)),
                    capture,
                    JobStatus.COMPLETED if done else JobStatus.UNFINISHED,
                    (finish > deadline) if done else deadline <= self.horizon_ns,
                    0,
                    message,
                )
            )
            numbers[t] += 1
            if done:
                for target, other in enumerate(self.steps):
                    if other.source == step.name:
                        heapq.heappush(queue, (finish, target, len(columns), job, capture))
        table = np.array(columns, dtype=np.int64).reshape(len(columns), 14).T
        piece = np.array(sorted(pieces, key=lambda p: p[3]), dtype=np.int64).reshape(len(pieces), 4).T
        sample = np.array(samples, dtype=np.int64).reshape(len(samples), 4).T
        return Trace(
            task_names=tuple(tasks),
            processor_names=tuple(processors),
            sensor_names=tuple(sensors),
            edges=tuple(EdgeName(s.source, s.name, "in", 0) for s in self.steps),
            jobs=JobTable(
                table[0].astype(np.int32),
                *table[1:10],
                table[10].astype(np.int8),
                table[11].astype(bool),
                table[12].astype(bool),
                table[13].reshape(-1, 1),
            ),
            slices=SliceTable(piece[0].astype(np.int32), *piece[1:]),
            drops=DropTable(*(np.zeros(0, t) for t in (np.int64, np.int32, np.int64, np.int8))),
            samples=SampleTable(
                sample[1].astype(np.int32), sample[2], sample[0], sample[3], np.ones(len(samples), np.int8)
            ),
            horizon_ns=self.horizon_ns,
            seed=self.seed,
        )


CAMERAS = ("front_wide", "front_standard", "front_tele", "right", "left", "rear", "surround_left", "surround_right")


def quad_steps() -> list[Step]:
    steps = []
    for index, camera in enumerate(CAMERAS):
        device = f"orin-{index // 2 + 1}"
        steps += [
            Step(f"pre_{camera}", camera, f"{device}.cpu.{index % 2}", 2 * MS, 5 * MS, 10 * MS),
            Step(f"infer_{camera}", f"pre_{camera}", f"{device}.gpu.0", 6 * MS, 9 * MS, 25 * MS),
            Step(f"post_{camera}", f"infer_{camera}", f"{device}.cpu.{index % 2}", MS // 2, 2 * MS, 5 * MS),
        ]
    return [
        *steps,
        Step("pre_lidar", "lidar", "orin-4.cpu.2", 5 * MS, 8 * MS, 20 * MS),
        Step("cluster", "pre_lidar", "orin-4.cpu.2", 6 * MS, 11 * MS, 20 * MS),
        Step("integrate", "imu", "orin-1.cpu.2", 10_000, 40_000, 5 * MS),
        Step("fuse", "post_front_wide", "orin-1.cpu.3", 2 * MS, 5 * MS, 6 * MS),
        Step("decide", "fuse", "orin-1.cpu.3", MS, 3 * MS, 5 * MS),
        Step("backup", "cluster", "orin-4.cpu.3", MS, 2 * MS, 10 * MS),
        Step("arbiter", "decide", "gateway.mcu.0", 100_000, 300_000, MS),
    ]


def quad_periods() -> dict[str, int]:
    return {**dict.fromkeys(CAMERAS, 33 * MS + 333_333), "lidar": 100 * MS, "imu": 5 * MS}


def summary_of(trace: Trace, steps: Sequence[Step], chains: Sequence[ChainResult], **changes: Any) -> dict[str, Any]:
    deadlines = {s.name: s.deadline_ns for s in steps}
    tasks = [
        {
            "name": t.name,
            "jobs": t.jobs,
            "misses": t.misses,
            "drops": t.drops,
            "overruns": t.overruns,
            "response_max_ns": t.response.max_ns,
            "response_p99_ns": t.response.p99_ns,
            "deadline_ns": deadlines[t.name],
            "bound_ns": None,
        }
        for t in measure_tasks(trace)
    ]
    rows = [
        {
            "name": c.chain.name,
            "reaction_max_ns": c.measurement.reaction.max_ns,
            "latency_max_ns": c.measurement.latency.max_ns,
            "data_age_max_ns": c.measurement.data_age.max_ns,
            "reaction_bound_ns": None,
            "data_age_bound_ns": None,
        }
        for c in chains
    ]
    summary: dict[str, Any] = {
        "schema": {"name": "rt-sched.run", "version": 1},
        "status": "deadline_miss" if any(t["misses"] for t in tasks) else "ok",
        "clock": "lockstep",
        "tier": "lockstep",
        "system": "quad_orin",
        "policy": "rms",
        "duration_ns": trace.horizon_ns,
        "recording": "replay_data/braking_lead.mcap",
        "tasks": tasks,
        "chains": rows,
        "topics": [
            {"name": f"/camera/{c}/image", "recorded": 15, "delivered": 15, "dropped": 0, "undecodable": 0}
            for c in CAMERAS
        ]
        + [{"name": "/lidar/points", "recorded": 5, "delivered": 4, "dropped": 0, "undecodable": 1}],
        "pes": [{"name": p.name, "utilisation": p.utilisation} for p in measure_processing_elements(trace)]
        + [{"name": "orin-1.dla0", "utilisation": 0.0}],
        "arbiter": {
            "state_time_ns": {"STARTING": 60 * MS, "NOMINAL": 240 * MS, "DEGRADED": 120 * MS, "BACKUP": 80 * MS},
            "decisions": {"primary": 42, "backup": 8},
        },
        "faults": [
            {
                "fault": "camera:front_wide",
                "time_ns": 300 * MS,
                "detected_after_ns": 38 * MS,
                "recovered_after_ns": 71 * MS,
            }
        ],
        "notes": ["/gps/fix has no sensor in the system file and was not used."],
        "warnings": [],
    }
    return {**summary, **changes}


def quad_decisions() -> list[tuple[int, ArbiterDecision]]:
    decisions = []
    for step in range(50):
        time_ns = step * 10 * MS
        state = (
            ArbiterState.STARTING
            if step < 6
            else ArbiterState.NOMINAL
            if step < 30
            else ArbiterState.DEGRADED
            if step < 42
            else ArbiterState.BACKUP
        )
        source = "backup" if state is ArbiterState.BACKUP else "primary"
        braking = step >= 20
        command = Command(
            capture_time_ns=time_ns,
            source=source,
            counter=step,
            acceleration_m_s2=-8.0 if step >= 35 else -0.25 * (step - 20) if braking else 0.0,
            emergency=step >= 35,
            time_to_collision_ns=(60 - step) * 60 * MS if step >= 12 else None,
            valid=True,
        )
        decisions.append((time_ns, ArbiterDecision(time_ns, time_ns, state, source, command, "test")))
    return decisions


def make_report(steps: Sequence[Step], periods: Mapping[str, int], **changes: Any) -> RunReport:
    trace = Recorder(steps, periods).trace()
    chains = [
        ChainResult(CauseEffectChain(name, path, *limits), measure_chain(trace, path))
        for name, path, limits in (
            (
                "brake_front_wide",
                ("front_wide", "pre_front_wide", "infer_front_wide", "post_front_wide", "fuse", "decide", "arbiter"),
                (200 * MS, 100 * MS, 90 * MS),
            ),
            ("brake_lidar", ("lidar", "pre_lidar", "cluster", "backup"), (200 * MS, None, None)),
        )
        if set(path[1:]) <= set(trace.task_names)
    ]
    summary = summary_of(trace, steps, chains)
    summary.update(changes.pop("summary", {}))
    groups = {"pre": "camera", "infer": "camera", "post": "camera", "cluster": "lidar", "integrate": "imu"}
    return RunReport(
        summary=summary,
        manifest={
            "command": ["rt-sched", "replay", "replay_data/braking_lead.mcap", "-o", "run"],
            "inputs": [{"path": "examples/quad_orin.yaml", "sha256": "ab" * 32}],
            "versions": {"rt-sched": "0.1.0", "numpy": "2.4.6"},
            "seed": 7,
            "machine": "test bench",
            "schedule_sha256": "cd" * 32,
            "outputs_sha256": "ef" * 32,
        },
        **{
            "trace": trace,
            "chains": chains,
            "arbiter": quad_decisions(),
            "task_groups": {
                t: "lidar" if "lidar" in t else groups.get(t.split("_")[0], "safety path") for t in trace.task_names
            },
            **changes,
        },
    )


@pytest.fixture(scope="session")
def quad_report() -> RunReport:
    """Every section has something to show."""
    jpeg = bytes.fromhex("ffd8ffd9")
    frames = [AnnotatedFrame(c, t * MS, jpeg, 640, 400, f"{c} detections") for c in CAMERAS[:4] for t in (100, 300)]
    return make_report(quad_steps(), quad_periods(), frames=frames)


@pytest.fixture(scope="session")
def report_with() -> Callable[..., RunReport]:
    """Makes a report from steps and sensor periods, with fields of RunReport replaced."""

    def make(
        steps: Sequence[Step] | None = None, periods: Mapping[str, int] | None = None, **changes: Any
    ) -> RunReport:
        return make_report(steps or quad_steps(), periods or quad_periods(), **changes)

    return make


@pytest.fixture(scope="session")
def quad() -> tuple[type[Step], list[Step], dict[str, int], Callable[..., Any]]:
    """The pieces to vary: the class of steps, the steps, the sensors' periods, and `dataclasses.replace`."""
    return Step, quad_steps(), quad_periods(), replace
