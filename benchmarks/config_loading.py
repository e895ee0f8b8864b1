"""How long a system file of many tasks takes to load: python benchmarks/config_loading.py [TASKS].

The file has a camera, and for each task of the example's kind a detector with a profile, a deadline and a budget.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rt_sched.config import load_system_text

_HEAD = """\
rt_sched: 1
name: large
devices: {orin-1: {soc: agx-orin}}
resources: {map: {protocol: priority_inheritance}}
sensors: {front: {kind: camera, rate: 30Hz, latency: 5ms, jitter: 0.5ms, attached_to: orin-1, topic: /camera/front}}
tasks:
"""
_TASK = """\
  task_{number}:
    runs_on: orin-1.cpu
    inputs: {{image: front}}
    execution: {{bcet: 1ms, wcet: 3ms, profile: [1ms, 2ms, 3ms], origin: measured}}
    deadline: 20ms
    budget: {{limit: 3ms, granularity: 10us, on_overrun: abort}}
    critical_sections: [{{resource: map, from: 0.5ms, to: 1ms}}]
    criticality: B
"""
_RUNS = 5


class _NoStages:
    """A catalogue for files whose tasks have no stages."""

    def describe(self, stage: str) -> str:
        return f"{stage}: no stage is known here"

    def check_parameters(self, stage: str, parameters: object) -> tuple[str, ...]:
        return ()


def main(tasks: int) -> None:
    """Print the size of the file and the best and worst of a few loads."""
    text = _HEAD + "".join(_TASK.format(number=number) for number in range(tasks))
    took_s = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        system = load_system_text(text, file_name="large.yaml", base_dir=Path.cwd(), stages=_NoStages())
        took_s.append(time.perf_counter() - started)
    lines = text.count("\n")
    print(f"{len(system.tasks)} tasks, {lines} lines: {min(took_s):.2f} s (worst of {_RUNS}: {max(took_s):.2f} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
