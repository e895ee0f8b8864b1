"""A run's arrivals and demands give its schedule back, and what is later in the run is told to the nanosecond."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.rerun import print_rerun, rerun_document
from rt_sched.config import load_system_text
from rt_sched.errors import DataError
from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.planner import make_plan
from rt_sched.record.trace_file import save_trace
from rt_sched.sim import Simulation
from rt_sched.sim.rerun import rerun
from rt_sched.trace.records import JobStatus, Trace

SYSTEM = """
rt_sched: 1
name: mixed
devices:
  ecu:
    processing_elements:
      cpu: {kind: cpu, cores: 1, policy: POLICY, preemptive: PREEMPTIVE}
      gpu: {kind: gpu}
sensors:
  front: {kind: camera, rate: 30Hz, jitter: 2ms, attached_to: ecu, topic: /a}
  imu: {kind: imu, rate: 200Hz, jitter: 0.2ms, attached_to: ecu, topic: /b}
tasks:
  pre: {runs_on: ecu.cpu, inputs: {image: front}, execution: {bcet: 1ms, wcet: 6ms}}
  infer: {runs_on: ecu.gpu, inputs: {tensor: pre}, execution: {bcet: 4ms, wcet: 12ms}}
  post: {runs_on: ecu.cpu, inputs: {raw: infer}, execution: {bcet: 1ms, wcet: 2ms}}
  ego: {runs_on: ecu.cpu, inputs: {imu: imu}, execution: {bcet: 0.1ms, wcet: 0.8ms}}
  fuse: {runs_on: ecu.cpu, activation: {rate: 20Hz, jitter: 3ms},
         inputs: {boxes: {from: post, required: false}, ego: {from: ego, required: false}},
         execution: {bcet: 1ms, wcet: 7ms}}
  both: {runs_on: ecu.cpu, activation: {join: all, tolerance: 20ms}, inputs: {a: post, b: fuse}, execution: {wcet: 1ms}}
"""
KINDS = [("fixed_priority", True), ("fixed_priority", False), ("edf", True), ("fifo", False)]


def _trace(policy: str, preemptive: bool, seed: int) -> Trace:
    text = SYSTEM.replace("POLICY", policy).replace("PREEMPTIVE", str(preemptive).lower())
    system = load_system_text(text, file_name="mixed", base_dir=".", stages=ImportedStages())
    horizon_ns = 1_000_000_000
    plan = make_plan(system, "edf" if policy == "edf" else "dm")
    samples = nominal_samples(system, horizon_ns, seed)
    given = lower(system, plan, samples, horizon_ns=horizon_ns, seed=seed, execution=Execution.UNIFORM)
    # In a paced run jobs are released as they arrive.
    given = replace(given, tasks=tuple(replace(task, jitter_ns=0) for task in given.tasks))
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


@pytest.mark.parametrize(("policy", "preemptive"), KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_schedule_comes_back_exactly(policy: str, preemptive: bool, seed: int) -> None:
    trace = _trace(policy, preemptive, seed)
    simulated, pairs = rerun(trace)
    compared = 0
    for real, again in pairs:
        done = trace.jobs.status[real] == JobStatus.COMPLETED
        compared += int(done.sum())
        for column in ("arrival_ns", "start_ns", "finish_ns"):
            assert np.array_equal(getattr(trace.jobs, column)[real][done], getattr(simulated.jobs, column)[again][done])
    assert compared > 300


def test_what_is_later_is_told_exactly(tmp_path: Path) -> None:
    trace = _trace("fixed_priority", True, 3)
    index = trace.task_names.index("fuse")
    late = trace.jobs.task == index
    finish = trace.jobs.finish_ns + np.where(late & (trace.jobs.finish_ns >= 0), 1234, 0)
    save_trace(replace(trace, jobs=replace(trace.jobs, finish_ns=finish)), tmp_path / "trace.npz")
    document = rerun_document(tmp_path)
    for row in document["tasks"]:
        expected = 1234 if row["name"] == "fuse" else 0
        assert row["jobs"] > 0
        assert {row["deviation"][name] for name in ("min_ns", "p50_ns", "max_ns")} == {expected}
        assert row["start_deviation"]["max_ns"] == 0
    assert document["deviation"]["max_ns"] == 1234


def test_what_declared_overheads_explain_is_told_where_the_run_says_so(tmp_path: Path) -> None:
    save_trace(_trace("fixed_priority", True, 3), tmp_path / "trace.npz")
    assert {row["explained"] for row in rerun_document(tmp_path)["tasks"]} == {None}
    overheads = [{"task": "fuse", "jobs": 20, "explained": 19}]
    (tmp_path / "summary.json").write_text(json.dumps({"tier": "fifo", "overheads": overheads}), encoding="utf-8")
    document = rerun_document(tmp_path)
    assert {row["name"]: row["explained"] for row in document["tasks"]}["fuse"] == 19
    console = Console(file=io.StringIO(), width=200)
    print_rerun(document, console)
    (line,) = [line for line in console.file.getvalue().splitlines() if line.startswith("fuse")]  # type: ignore[attr-defined]
    assert line.split()[-1] == "19"


def test_jobs_that_were_left_out_do_not_shift_the_others() -> None:
    trace = _trace("fixed_priority", True, 4)
    rows = np.flatnonzero(trace.jobs.task == trace.task_names.index("fuse"))
    status = trace.jobs.status.copy()
    status[rows[2]] = JobStatus.SUPPRESSED
    simulated, pairs = rerun(replace(trace, jobs=replace(trace.jobs, status=status)))
    real, again = pairs[trace.task_names.index("fuse")]
    assert rows[2] not in real
    assert np.array_equal(trace.jobs.arrival_ns[real], simulated.jobs.arrival_ns[again])


def test_a_folder_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no"):
        rerun_document(tmp_path)
    with pytest.raises(DataError, match="rules"):
        rerun(replace(_trace("fifo", False, 1), setup=None))
