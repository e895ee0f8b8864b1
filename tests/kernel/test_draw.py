"""Draws equal those of plain Python integers, and have the distribution of their quantile table."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracle.state
from kernel_systems import random_system

from rt_sched.kernels import draw, warm_up
from rt_sched.kernels.compiled import sources_digest
from rt_sched.kernels.machine import advance
from rt_sched.sim import Simulation
from rt_sched.trace import schedule_sha256


def test_splitmix64_reference_values() -> None:
    """First outputs of the published generator for seed 1234567."""
    state, gamma = 1234567, 0x9E3779B97F4A7C15
    outputs = []
    for _ in range(3):
        outputs.append(int(draw.mix(np.uint64(state))))
        state = (state + gamma) % 2**64
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_draws_equal_plain_python() -> None:
    rng = random.Random(1)  # noqa: S311 - reproducible test data
    for _ in range(2000):
        seed, task, number = rng.getrandbits(64), rng.randrange(1000), rng.getrandbits(rng.randint(1, 62))
        bits = int(draw.draw(np.uint64(seed), np.int64(task), np.int64(number), 1))
        assert bits == oracle.state.draw(seed, task, number, 1)
        quantiles = sorted(rng.randint(1, 2 ** rng.randint(1, 60)) for _ in range(33))
        drawn = int(draw.interpolate(np.array(quantiles), np.uint64(bits)))
        assert drawn == oracle.state.interpolate(tuple(quantiles), bits)
        assert quantiles[0] <= drawn <= quantiles[-1]


def test_extreme_bits_reach_the_ends_of_the_table() -> None:
    quantiles = np.arange(33, dtype=np.int64) * 2**30 + 1
    assert int(draw.interpolate(quantiles, np.uint64(0))) == 1
    assert int(draw.interpolate(quantiles, np.uint64(2**64 - 1))) == 32 * 2**30


def test_draws_follow_the_quantiles() -> None:
    quantiles = np.cumsum(np.arange(33, dtype=np.int64) ** 2 * 1000) + 1
    drawn = [int(draw.demand_ns(quantiles, np.uint64(3), np.int64(5), np.int64(k))) for k in range(8000)]
    for point in (4, 8, 16, 24, 28):
        share = np.mean(np.array(drawn) <= quantiles[point])
        assert abs(share - point / 32) < 0.02


def test_without_compilation_the_schedule_is_the_same() -> None:
    """The kernel as plain Python, in a process where numba is told not to compile."""
    script = """
import json, sys
sys.path.insert(0, sys.argv[1])
from kernel_systems import random_system
from rt_sched.sim import Simulation
from rt_sched.trace import schedule_sha256
from rt_sched.kernels.machine import advance
assert not hasattr(advance, "signatures")
hashes = []
for seed in range(12):
    simulation = Simulation(random_system(seed), rows=1)
    simulation.run()
    hashes.append(schedule_sha256(simulation.trace()))
print(json.dumps(hashes))
"""
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(here.parents[1]),
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, str(here)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = []
    for seed in range(12):
        simulation = Simulation(random_system(seed))
        simulation.run()
        expected.append(schedule_sha256(simulation.trace()))
    assert json.loads(done.stdout) == expected


def test_compiled_code_is_kept_per_content_of_all_kernel_sources() -> None:
    constants = [cell.cell_contents for cell in advance.py_func.__closure__]
    assert sources_digest() in constants


def test_warm_up_compiles_what_simulations_call() -> None:
    warm_up()
    before = list(advance.dispatcher.signatures)
    simulation = Simulation(random_system(3))
    simulation.step()
    simulation.run()
    assert advance.dispatcher.signatures == before
    assert len(before) == 1
