"""A link carries all that its senders publish, also to tasks that a mode leaves out: it is sent all the same."""

from __future__ import annotations

import random

import pytest

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.measured.monitors import monitor_jobs
from rt_sched.config import load_system_text
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import ModeChange, System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain

SYSTEM = """
rt_sched: 1
name: two_devices
devices:
  near: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
  far: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
links: {net: {bandwidth: 8Gbit/s, between: [near, far]}}
sensors:
  eye: {kind: camera, rate: 50Hz, attached_to: near, topic: /eye, frame_size: 3MB}
tasks:
  big: {runs_on: near.cpu, core: 0, activation: {period: 20ms}, execution: {wcet: 2ms}, output_size: 6MB}
  small: {runs_on: near.cpu, core: 1, activation: {period: 20ms}, execution: {wcet: 2ms}, output_size: 1MB}
  heavy: {runs_on: far.cpu, core: 0, inputs: {x: {from: big, link: net}}, execution: {wcet: 5ms}}
  look: {runs_on: far.cpu, core: 0, inputs: {x: {from: eye, link: net}}, execution: {wcet: 1ms}}
  light: {runs_on: far.cpu, core: 1, inputs: {x: {from: small, link: net}}, execution: {wcet: 1ms}}
chains: {through: {path: [small, light]}}
modes:
  full: {}
  less: {without: [heavy, look]}
"""


def loaded(text: str) -> System:
    return load_system_text(text, file_name="m.yaml", base_dir=".", stages=None)


def longest_ns(system: System, mode: str, seed: int = 0) -> dict[str, int]:
    """The largest latency of every chain in a run that changes to `mode` at its begin."""
    horizon_ns = 400 * 10**6
    given = lower(
        system,
        make_plan(system),
        nominal_samples(system, horizon_ns, seed),
        horizon_ns=horizon_ns,
        seed=seed,
        execution=Execution.WCET,
        mode_changes=(ModeChange(0, mode),),
    )
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    return {one.name: int(measure_chain(trace, one.path).latency_ns.max(initial=0)) for one in system.chains}


def latency_bound_ns(system: System, chain: str, mode: str) -> int:
    report = analyze(system, make_plan(system))
    (found,) = [one for m in report.modes if m.name == mode for one in m.chains if one.chain == chain]
    assert found.latency is not None
    return found.latency.value_ns


@pytest.mark.parametrize("mode", ["full", "less"])
def test_messages_to_tasks_that_a_mode_leaves_out_delay_the_others(mode: str) -> None:
    # 2 for the job, 3 and 6 for the messages before its own, which takes 1, and 1 for the reader.
    assert latency_bound_ns(loaded(SYSTEM), "through", mode) == 13_000_000


def test_senders_that_a_mode_leaves_out_send_nothing() -> None:
    system = loaded(SYSTEM.replace("without: [heavy, look]", "without: [heavy, big, look]"))
    assert latency_bound_ns(system, "through", "less") == 7_000_000


def random_system(seed: int) -> System:
    """Senders with one or two readers each, of which the second mode leaves some out."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    tasks, readers, left_out, chains = [], [], [], []
    for number in range(rng.randint(2, 4)):
        period = rng.choice((10, 20, 40))
        size, offset = rng.randint(1, 4), rng.choice((0, 0, 3))
        tasks.append(
            f"  s{number}: {{runs_on: near.cpu, core: {number}, activation: {{period: {period}ms, offset: {offset}ms}},"
            f" execution: {{wcet: 1ms}}, output_size: {size}MB}}"
        )
        for copy in range(rng.randint(1, 2)):
            name = f"r{number}_{copy}"
            tasks.append(
                f"  {name}: {{runs_on: far.cpu, core: {len(readers)}, inputs: {{x: {{from: s{number}, link: net}}}},"
                f" execution: {{wcet: 1ms}}}}"
            )
            readers.append(name)
            chains.append(f"  c{name}: {{path: [s{number}, {name}]}}")
            if rng.random() < 0.5:
                left_out.append(name)
    left_out = left_out[: len(readers) - 1] or readers[:1]
    return loaded(
        "rt_sched: 1\nname: m\ndevices:\n"
        "  near: {processing_elements: {cpu: {kind: cpu, cores: 8}}}\n"
        "  far: {processing_elements: {cpu: {kind: cpu, cores: 8}}}\n"
        "links: {net: {bandwidth: 16Gbit/s, between: [near, far]}}\n"
        "tasks:\n" + "\n".join(tasks) + "\nchains:\n" + "\n".join(chains) + "\nmodes:\n  full: {}\n"
        f"  less: {{without: [{', '.join(left_out)}]}}\n"
    )


def test_no_run_of_a_mode_with_fewer_readers_exceeds_its_bounds() -> None:
    close = 0
    for seed in range(15):
        system = random_system(seed)
        took_ns = longest_ns(system, "less", seed)
        for found in analyze(system, make_plan(system)).modes[1].chains:
            if found.latency is not None:
                assert took_ns[found.chain] <= found.latency.value_ns, (seed, found.chain)
                close += 3 * took_ns[found.chain] >= 2 * found.latency.value_ns
    assert close > 12


BURST = """
rt_sched: 1
name: m
devices:
  near: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
  far: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
links: {net: {bandwidth: 8Gbit/s, between: [near, far]}}
tasks:
  early: {runs_on: near.cpu, core: 0, activation: {period: 20ms}, execution: {bcet: 5ms, wcet: 5ms}, output_size: 2MB}
  kept: {runs_on: far.cpu, activation: {period: 20ms}, execution: {wcet: 1ms}, inputs: {x: {from: early, link: net}}}
modes: {all: {}, some: {without: kept}}
"""


@pytest.mark.parametrize("mode", [0, 1])
def test_a_job_that_sends_too_early_is_noticed_whoever_reads_it(mode: int) -> None:
    system = loaded(BURST)
    load = mode_loads(system, make_plan(system))[mode]
    fast = loaded(BURST.replace("bcet: 5ms, wcet: 5ms", "bcet: 4ms, wcet: 5ms"))
    given = lower(
        fast,
        make_plan(fast),
        nominal_samples(fast, 10**8, 0),
        horizon_ns=10**8,
        seed=0,
        execution=Execution.BCET,
        mode_changes=(ModeChange(0, load.name),) if mode else (),
    )
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    early = trace.jobs.task == 0
    broken = [one.key for one in monitor_jobs(load, trace, early) if not one.holds]
    assert broken == ["best_case"]
