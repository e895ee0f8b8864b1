"""Chains and disparities after a change of mode, beside the bounds of the mode that is then in force."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from dataclasses import replace

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.measured.fresh import fresh_jobs
from rt_sched.analysis.measured.spans import spans_of
from rt_sched.analysis.result import Bound
from rt_sched.app.runs.bounds import RunBounds, run_bounds
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.config import load_system_text
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import ModeChange, System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import Trace, sample_of

SYSTEM = """
rt_sched: 1
name: m
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 2, frequency: 1GHz}}}}
sensors:
  eye: {kind: camera, rate: 50Hz, latency: 2ms, attached_to: ecu, topic: /eye}
  top: {kind: lidar, rate: 20Hz, latency: 3ms, attached_to: ecu, topic: /top}
tasks:
  see: {runs_on: ecu.cpu, core: 0, inputs: {x: eye}, execution: {bcet: 1ms, wcet: 4ms}}
  old: {runs_on: ecu.cpu, core: 0, inputs: {x: top}, execution: {bcet: 1ms, wcet: 3ms}}
  new: {runs_on: ecu.cpu, core: 1, inputs: {x: top}, execution: {bcet: 2ms, wcet: 6ms}, start_latency: 11ms}
  tick: {runs_on: ecu.cpu, core: 0, activation: {period: 30ms}, execution: {wcet: 1ms}}
  fuse:
    {runs_on: ecu.cpu, core: 1, activation: {period: 20ms}, execution: {wcet: 2ms},
     inputs: {a: {from: see, required: false}, b: {from: new, required: false}, c: {from: old, required: false}}}
  act:
    {runs_on: ecu.cpu, core: 1, activation: {period: 20ms}, execution: {wcet: 1ms},
     inputs: {a: {from: fuse, required: false}, t: {from: tick, required: false}}}
chains:
  clock: {path: [tick, act]}
  left: {path: [eye, see, fuse]}
  right: {path: [top, new, fuse]}
modes:
  first: {without: new}
  second: {without: old, frequencies: {ecu.cpu: 500MHz}}
"""
HORIZON_NS = 800_000_000
RESULTS = importlib.import_module("rt_sched.analysis.measured.after_change")


def loaded(text: str = SYSTEM) -> System:
    return load_system_text(text, file_name="m.yaml", base_dir=".", stages=None)


def run_of(system: System, seed: int, *changes: tuple[int, str]) -> Trace:
    given = lower(
        system,
        make_plan(system),
        nominal_samples(system, HORIZON_NS, seed),
        horizon_ns=HORIZON_NS,
        seed=seed,
        execution=Execution.PROFILE,
        mode_changes=tuple(ModeChange(at_ns, mode) for at_ns, mode in changes),
    )
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


def beside_bounds(system: System, trace: Trace) -> RunBounds:
    plan = make_plan(system)
    chains = judged_chains(system, plan, trace, (), ("eye", "top"), [])
    return run_bounds(system, plan, trace, chains, [])


def test_no_chain_or_disparity_exceeds_the_bounds_of_the_modes_it_goes_through() -> None:
    system, rng = loaded(), random.Random(3)  # noqa: S311 - reproducible test data
    for seed in range(3):
        at_ns = rng.randint(50, 250) * 10**6
        back_ns = at_ns + rng.randint(150, 250) * 10**6
        found = beside_bounds(system, run_of(system, seed, (at_ns, "second"), (back_ns, "first")))
        assert found.exceeded == []
        assert [span["mode"] for span in found.spans] == ["first", "second", "second", "first", "first"]


@pytest.mark.parametrize(
    ("which", "of"), [("chain_results", {"left", "right", "clock"}), ("disparity_results", {"fuse", "act"})]
)
def test_bounds_of_the_second_mode_are_held_against_what_is_read_in_it(
    monkeypatch: pytest.MonkeyPatch, which: str, of: set[str]
) -> None:
    right = getattr(RESULTS, which)

    def least(bound: Bound | None) -> Bound | None:
        return bound and replace(bound, value_ns=1, terms=(replace(bound.terms[0], value_ns=1),))

    def wrong(*given: object) -> object:
        """Bounds of one nanosecond."""
        if which == "disparity_results":
            return tuple(replace(one, bound=least(one.bound)) for one in right(*given))
        return tuple(replace(one, latency=least(one.latency)) for one in right(*given))

    monkeypatch.setattr(RESULTS, which, wrong)
    system = loaded(SYSTEM.replace(", c: {from: old, required: false}", ""))
    found = beside_bounds(system, run_of(system, 0, (200_000_000, "second")))
    settled_ns = found.spans[-1]["begin_ns"]
    assert {one["who"] for one in found.exceeded} <= of
    assert found.exceeded
    assert all(one["time_ns"] >= settled_ns > 200_000_000 for one in found.exceeded)


def test_what_a_register_holds_from_before_does_not_count() -> None:
    """`fuse` goes on to read the last output of `old`, which is gone: it is no input of the second mode."""
    system = loaded()
    trace = run_of(system, 1, (200_000_000, "second"))
    (*_, settled) = spans_of(trace, mode_loads(system, make_plan(system)))
    fresh = fresh_jobs(trace, settled.begin_ns)
    fuse = (trace.jobs.task == 4) & (trace.jobs.arrival_ns >= settled.begin_ns)
    assert fuse.any()
    assert not fresh[fuse].any()
    see = (trace.jobs.task == 0) & (trace.jobs.arrival_ns >= settled.begin_ns + 20_000_000)
    assert fresh[see].all()


@pytest.mark.parametrize("since_ms", [0, 40, 333])
def test_fresh_jobs_are_those_all_of_whose_ancestors_are(since_ms: int) -> None:
    trace = run_of(loaded(), 2, (100_000_000, "second"), (400_000_000, "first"))
    jobs, samples, since_ns = trace.jobs, trace.samples, since_ms * 10**6

    def is_fresh(row: int) -> bool:
        inputs = jobs.inputs[row]
        return bool(
            jobs.arrival_ns[row] >= since_ns
            and jobs.start_ns[row] >= 0
            and all(is_fresh(int(one)) for one in inputs if one >= 0)
            and all(samples.capture_ns[sample_of(one)] >= since_ns for one in inputs if one < -1)
        )

    assert fresh_jobs(trace, since_ns).tolist() == [is_fresh(row) for row in range(len(jobs))]
    assert Counter(fresh_jobs(trace, since_ns).tolist())[True] > 10


@pytest.mark.parametrize("since_ms", [0, 333, 795, 5000])
def test_reads_before_a_part_of_a_run_do_not_count(since_ms: int) -> None:
    system = loaded()
    trace, since_ns = run_of(system, 2, (100_000_000, "second")), since_ms * 10**6
    for chain in system.chains:
        whole = measure_chain(trace, chain.path)
        part = measure_chain(trace, chain.path, from_ns=since_ns)
        later = whole.capture_ns >= since_ns
        assert part.capture_ns.tolist() == whole.capture_ns[later].tolist()
        assert part.output_job.tolist() == whole.output_job[later].tolist()


SECTION = """
rt_sched: 1
name: m
devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}
resources: {bus: {protocol: priority_ceiling}}
tasks:
  a:
    {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 3ms},
     critical_sections: [{resource: bus, from: 1ms, to: 2ms}]}
modes: {fast: {}, slow: {frequencies: {ecu.cpu: 500MHz}}}
"""


def test_what_jobs_do_at_another_frequency_is_watched_at_that() -> None:
    system = loaded(SECTION)
    found = beside_bounds(system, run_of(system, 0, (201_000_000, "slow")))
    watched = {one["assumption"]: (one["holds"], one["checked"]) for one in found.monitors}
    jobs = HORIZON_NS // 20_000_000
    assert watched["sections"] == watched["execution"] == (True, jobs)
    assert found.exceeded == []
