"""What tests of several folders share.

Property tests try the same examples on every run, so that a failure is one that anybody can repeat; how long an example
takes is no part of it.

`pytest --hypothesis-profile=search` looks at new examples each time.
"""

import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("same")

#: Tests that take cores of this host for real-time classes; they would disturb one another, so one worker has them all.
_HOST = ("paced", "realtime")

#: What takes longest comes first, so that at the end of a run no worker waits long for another.
_LONGEST = (
    "paced/test_kill.py",
    "packaging/test_wheel.py",
    "analysis/test_system_analysis.py",
    "cli/test_faults.py",
    "kernel/test_oracle_agreement.py",
    "perception/test_quality.py",
    "perception/test_braking.py",
    "cli/test_start_up.py",
    "pipelines/test_hazard_reaction.py",
    "safety/test_transitions.py",
    "analysis/test_distributed.py",
    "cli/test_streams.py",
    "cli/test_determinism.py",
    "cli/test_init.py",
    "cli/test_scene.py",
    "paced/test_run.py",
)


def pytest_configure() -> None:
    """What a test starts hears Ctrl-C, also where the tests run in the background, which a shell makes deaf."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: (item.path.parent.name not in _HOST, places.get(item.path, len(places))))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each file goes to one worker; those of `_HOST` all to the same one."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "host" if Path(file).parent.name in _HOST else file

    return ByFile(config, log)


LIMP = """
rt_sched: 1
name: limp
devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}
sensors:
  front: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /front}
tasks:
  detect: {runs_on: ecu.cpu, inputs: {image: front}, execution: {wcet: 12ms, memory: 2ms}}
  blind: {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 3ms}, start_latency: 5ms}
  log: {runs_on: ecu.cpu, activation: {rate: 10Hz}, execution: {wcet: 10ms}, miss_limit: 1 of 5}
modes:
  normal: {tasks: [detect, log]}
  limp: {tasks: [blind, log], frequencies: {ecu.cpu: 500MHz}}
faults:
  lose_front: {lose: front, at: 90ms, detection: 60ms, reaction: 20ms, margin: 20ms, mode: limp, mode_after: 60ms}
  slow: {overrun: detect, jobs: [3], demand: 60ms}
"""


@pytest.fixture
def limp(tmp_path: Path) -> str:
    """A system file with two modes, a loss that the second one answers, and an overrun."""
    path = tmp_path / "limp.yaml"
    path.write_text(LIMP)
    return str(path)
