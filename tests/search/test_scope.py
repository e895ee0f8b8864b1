"""What a search does not cover is said, and what its runs cannot have is refused as a target."""

from __future__ import annotations

import pytest
from searched import system_of

from rt_sched.app.search.scope import check_targets, left_out
from rt_sched.errors import ConfigError

MODES = """
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  always: {runs_on: ecu.cpu, activation: {rate: 100Hz}, execution: {wcet: 1ms}}
  parking: {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 1ms},
            inputs: {x: {from: always, required: false}}}
chains: {park: {path: [always, parking]}}
modes:
  drive: {tasks: [always]}
  park: {tasks: [always, parking]}
faults:
  cpu_gone: {lose: ecu, at: 10ms}
"""


def test_targets_of_other_modes_and_unknown_ones_are_refused_together() -> None:
    system = system_of(MODES)
    with pytest.raises(ConfigError) as caught:
        check_targets(system, ["parking", "always", "park", "alwais"])
    assert [str(problem) for problem in caught.value.problems] == [
        "--target  alwais: unknown task or chain 'alwais'; did you mean 'always'? valid: always, parking, park",
        "--target  park: runs stay in mode drive, which lacks parking",
        "--target  parking: runs stay in mode drive, which lacks parking",
    ]
    check_targets(system, ["always"])


def test_other_modes_and_faults_are_told_to_be_left_out() -> None:
    system = system_of(MODES)
    assert left_out(system) == [
        "runs stay in mode drive; not searched: park, and changes of mode",
        "runs are without faults; not searched: cpu_gone",
    ]
    assert left_out(system_of(MODES[: MODES.index("modes:")])) == []
