"""A run with many workers begins soon: they are forked from a process that has everything loaded and compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from paced_kills import STAGES

from .conftest import LOG, ROOT

WORKERS = 30
TASK = """
  t{number}: {{stage: "busy_stages:Busy", runs_on: a.c{core}, activation: {{rate: 5Hz}},
    inputs: {{imu: {{from: imu, required: false}}}}, execution: {{wcet: 2ms}}, parameters: {{ms: 0.2}}}}"""
SYSTEM = """
rt_sched: 1
name: many
devices: {a: {processing_elements: {c0: {kind: cpu}, c1: {kind: cpu}}}}
deploy: {a.c0: 0, a.c1: 1}
sensors: {imu: {kind: imu, rate: 200Hz, latency: 0.2ms, jitter: 2ms, attached_to: a, topic: /imu/*}}
tasks:"""
#: What a worker that nobody forked would have to do before it begins to load its stage.
FRESH = "import numpy, numba; import rt_sched.app.paced.job"


def seconds_of_a_fresh_one(environment: dict[str, str]) -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", FRESH], check=True, env=environment)
    return time.monotonic() - began


def test_thirty_workers_start_in_the_time_of_a_few_fresh_ones(tmp_path: Path) -> None:
    tasks = "".join(TASK.format(number=number, core=number % 2) for number in range(WORKERS))
    (tmp_path / "many.yaml").write_text(SYSTEM + tasks + "\n", encoding="utf-8")
    (tmp_path / "busy_stages.py").write_text(STAGES, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
    options = ["--system", "many.yaml", "--paced", "--tier", "user", "--duration", "1s", "-o", "run"]
    told: dict[str, float] = {}
    with subprocess.Popen(
        [sys.executable, "-c", call, "replay", str(LOG), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    ) as run:
        assert run.stderr is not None
        for line in run.stderr:
            told.setdefault(line.strip(), time.monotonic())
    assert run.returncode in (0, 1, 3), list(told)
    took = told["running ..."] - told["starting the processes ..."]
    assert took < WORKERS / 3 * min(seconds_of_a_fresh_one(environment) for _ in range(3))
