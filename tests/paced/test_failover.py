"""A device of a paced run is lost for real: it is noticed, warm standbys go on, and nothing is said twice."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.paced.device_losses import device_faults, losses_of
from rt_sched.app.paced.tiers import check_tier_of_failover
from rt_sched.config import load_system
from rt_sched.errors import ConfigError, DeploymentError
from rt_sched.model import Fault, FaultKind, System
from rt_sched.planner import make_plan
from rt_sched.planner.failover.plan import failover_plan
from rt_sched.runtime.host.tiers import Tier, TierReport
from rt_sched.runtime.paced.devices.answers import device_failover
from rt_sched.runtime.paced.devices.failover import Notice
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.faults.strike import Struck
from rt_sched.trace.records import JobStatus, SampleTable

from .conftest import FAILOVER, ROOT, Ended, Running, require, write_failover

sys.path.insert(0, str(ROOT / "benchmarks" / "evidence"))

from paced_failover import fused_twice

MOVED = ("pre_front_wide", "infer_front_wide", "post_front_wide")
#: Longer than in the example: a machine that runs other tests may stand still for so long.
_PATIENT = "{period: 10ms, misses: 10, margin: 20ms}"
_TIMEOUT_NS = 120_000_000
_OPTIONS = ("--tier", "fifo", "--duration", "2.4s")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The example with a patient watch, and a plan for it."""
    return write_failover(tmp_path_factory.mktemp("failover"), _PATIENT)


@pytest.fixture(scope="module", params=["fault", "supervisor", "stop"])
def ended(
    request: pytest.FixtureRequest,
    files: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
    tiers: dict[str, TierReport],
) -> Ended:
    """The device is lost by `--fault`, as somebody kills its supervisor alone, or as all its processes are stopped."""
    require(tiers, "fifo")
    system, plan = files
    folder = tmp_path_factory.mktemp("runs") / request.param
    words = ["--plan", str(plan), *_OPTIONS]
    if request.param == "fault":
        return Running(folder, *words, "--fault", "device:ecu-a@1.23s", system=system).end()
    running = Running(folder, *words, system=system)
    running.wait_until_begun()
    time.sleep(1.0)
    supervisor = running.supervisor_of("ecu-a")
    if request.param == "stop":
        os.killpg(supervisor, signal.SIGSTOP)
    else:
        os.kill(supervisor, signal.SIGKILL)
    return running.end()


def test_the_loss_is_noticed_and_answered(ended: Ended) -> None:
    assert ended.code in (0, 1, 3), ended.errors
    (fault,) = ended.summary["faults"]
    assert fault["fault"] == "device:ecu-a"
    assert fault["takeover"]["answered"] and sorted(fault["takeover"]["moves"]) == sorted(MOVED)
    assert fault["switched_after_ns"] > fault["detected_after_ns"]
    assert fault["recovered_after_ns"] is not None
    if ended.folder.name == "stop":
        assert fault["detected_by"] == "heartbeat" and fault["detected_after_ns"] >= _TIMEOUT_NS
    elif ended.folder.name == "fault":
        assert fault["detected_by"] == "process_end" and fault["detected_after_ns"] < _TIMEOUT_NS
    assert fault["recovery_bound_ns"] is not None
    assert [row["device"] for row in ended.summary["failover"]["notices"]] == ["ecu-a"]


def test_moved_tasks_go_on_and_their_workers_were_lost_with_the_device(ended: Ended) -> None:
    (fault,) = ended.summary["faults"]
    switched_ns = fault["time_ns"] + fault["switched_after_ns"]
    for task in MOVED:
        jobs = ended.jobs(task)
        assert ((jobs["arrival_ns"] >= switched_ns) & (jobs["status"] == JobStatus.COMPLETED)).any(), task
        if ended.folder.name != "fault":  # else it is not known to the microsecond when it was lost
            continue
        while_lost = (jobs["arrival_ns"] > fault["time_ns"]) & (jobs["arrival_ns"] < switched_ns)
        assert not (jobs["status"][while_lost] == JobStatus.COMPLETED).any(), task
    assert {row["task"] for row in ended.summary["losses"]} == {*MOVED}
    assert all(row["with_device"] and row["back_ns"] > switched_ns for row in ended.summary["losses"])
    assert "workers were lost" not in ended.summary["reason"]


def test_the_arbiter_decides_in_every_cycle_and_no_frame_is_fused_twice(ended: Ended) -> None:
    arbiter = ended.jobs("arbiter")
    over = arbiter["deadline_ns"] < ended.summary["duration_ns"]
    assert (arbiter["status"][over] == JobStatus.COMPLETED).mean() > 0.9
    names = [row["name"] for row in ended.summary["tasks"]]
    with np.load(ended.folder / "trace.npz") as file:
        jobs = {key.removeprefix("jobs."): file[key] for key in file.files if key.startswith("jobs.")}
    assert fused_twice(jobs, names, ended.summary["faults"][0]) == 0


@pytest.fixture(scope="module")
def example() -> System:
    return load_system(FAILOVER, stages=ImportedStages())


def test_devices_that_share_a_core_of_this_host_make_times_that_are_not_representative(ended: Ended) -> None:
    assert ended.summary["representative"] is False
    told = (
        "ecu-a.cpu and ecu-c.cpu: elements share a host core, so timing is not representative of the modelled devices"
    )
    assert told in " ".join(ended.summary["notes"])
    assert "timing is not representative" in (ended.folder / "report.html").read_text(encoding="utf-8")


def test_every_loss_that_a_paced_run_cannot_inject_is_named(example: System) -> None:
    words = ["camera:front_wide@1s", "device:ecu-b@1s"]
    with pytest.raises(ConfigError) as refused:
        device_faults(words, example, 10**10)
    told = str(refused.value)
    assert "camera:front_wide" in told and "device of the arbiter" in told


def test_losses_are_those_of_strikes_and_of_others_and_end_with_the_first_sign_of_a_return() -> None:
    planned = [Fault(FaultKind.DEVICE, name, at_ns) for name, at_ns in (("a", 100), ("b", 100), ("a", 900))]
    struck = tuple(Struck(at_ns, 1, None, None) for at_ns in (101, 102, 901))

    def notice(device: str, noticed_ns: int, sign_ns: int, *, is_back: bool = False) -> Notice:
        return Notice(device, noticed_ns, sign_ns, Sign.HEARTBEAT, is_back)

    notices = (
        notice("a", 110, 99),
        notice("a", 400, 200, is_back=True),
        notice("a", 600, 550),
        notice("a", 800, 700, is_back=True),
    )
    outcome: Any = SimpleNamespace(struck=struck, notices=notices)
    found = [(one.target, one.time_ns, one.until_ns) for one in losses_of(planned, outcome)]
    assert found == [("a", 101, 200), ("b", 102, None), ("a", 550, 700), ("a", 901, None)]


def test_reservations_do_not_move() -> None:
    check_tier_of_failover(Tier.FIFO)
    with pytest.raises(DeploymentError, match="--tier fifo"):
        check_tier_of_failover(Tier.DEADLINE)


def test_who_stands_by_where_follows_from_the_plan(files: tuple[Path, Path]) -> None:
    system = load_system(files[0], stages=ImportedStages())
    plan = failover_plan(system, make_plan(system, None), [("device:ecu-a",)]).plan
    none = np.zeros(0, np.int64)
    samples = SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))
    found = device_failover(system, plan, samples, 10**9)
    assert found.watcher == "ecu-b" and found.timeout_ns == _TIMEOUT_NS
    assert [(system.tasks[one.task].name, one.device) for one in found.standbys] == [(name, "ecu-c") for name in MOVED]
    there, answer, spare = found.answers
    assert not there.devices and not there.moves
    assert spare.devices == {"ecu-c"} and not spare.moves
    assert answer.devices == {"ecu-a"} and answer.at_once == {0: 0}
