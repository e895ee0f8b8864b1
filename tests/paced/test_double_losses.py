"""Two or three devices of a paced run are lost, and the plan knows only what answers each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.model import Plan, System
from rt_sched.planner import make_plan
from rt_sched.planner.failover.plan import failover_plan
from rt_sched.runtime.host.tiers import TierReport
from rt_sched.runtime.paced.devices import answers
from rt_sched.runtime.paced.devices.answers import DeviceFailover, device_failover
from rt_sched.trace.records import JobStatus, SampleTable

from .conftest import ROOT, Ended, Running, require

EXAMPLE = ROOT / "examples" / "host_failover.yaml"
_ECU = "  ecu-c: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}\n"
#: The backup path has a device of its own, for which ecu-c stands by as well; and the watch is patient.
_CHANGES = (
    (_ECU, _ECU + _ECU.replace("ecu-c", "ecu-d")),
    ("ecu-c.cpu: 0}", "ecu-c.cpu: 0, ecu-d.cpu: 1}"),
    ("    attached_to: ecu-b\n", "    attached_to: [ecu-d, ecu-c]\n"),
    ('LidarCorridor", runs_on: ecu-b.cpu,', 'LidarCorridor", runs_on: ecu-d.cpu, candidates: [ecu-c.cpu],'),
    ("{period: 5ms, misses: 3, margin: 2ms}", "{period: 10ms, misses: 10, margin: 20ms}"),
)


def _files(folder: Path, *losses: str) -> tuple[Path, Path, System, Plan]:
    text = EXAMPLE.read_text(encoding="utf-8")
    for old, new in _CHANGES:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file, plan_file = folder / "system.yaml", folder / "plan.yaml"
    file.write_text(text, encoding="utf-8")
    system = load_system(file, stages=ImportedStages())
    plan = failover_plan(system, make_plan(system, None), [(f"device:{one}",) for one in losses]).plan
    plan_file.write_text(plan_text(system, plan), encoding="utf-8")
    return file, plan_file, system, plan


def _failover(system: System, plan: Plan) -> DeviceFailover:
    none = np.zeros(0, np.int64)
    samples = SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))
    return device_failover(system, plan, samples, 10**9)


def _moves(found: DeviceFailover, system: System, *devices: str) -> dict[str, tuple[int, str]]:
    """By task: the standby, and its device."""
    (answer,) = [one for one in found.answers if one.devices == set(devices)]
    return {system.tasks[task].name: (n, found.standbys[n].device) for task, n in answer.moves.items()}


def test_pairs_that_the_plan_lacks_are_admitted_on_the_standbys_that_are_there(tmp_path: Path) -> None:
    *_, system, plan = _files(tmp_path, "ecu-a", "ecu-d")
    found = _failover(system, plan)
    both = _moves(found, system, "ecu-a", "ecu-d")
    assert both == _moves(found, system, "ecu-a") | _moves(found, system, "ecu-d")
    assert {device for _, device in both.values()} == {"ecu-c"} and "backup" in both
    (answer,) = [one for one in found.answers if one.devices == {"ecu-a", "ecu-d"}]
    assert answer.reason == "every deadline is kept" and answer.takeover.losses == ("device:ecu-a", "device:ecu-d")


def test_what_is_not_admitted_is_told_with_the_reason(tmp_path: Path) -> None:
    *_, system, plan = _files(tmp_path, "ecu-a", "ecu-d")
    refused = _failover(system, plan).refused
    assert set(refused) == {frozenset({"ecu-a", "ecu-c"}), frozenset({"ecu-a", "ecu-c", "ecu-d"})}
    assert all("pre_front_wide goes nowhere" in reason for reason in refused.values())


def test_three_that_the_plan_lacks_are_admitted_where_combinations_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, system, plan = _files(tmp_path, "ecu-a", "ecu-d")
    idle = replace(system.devices[0], name="ecu-e")
    more = replace(system, devices=(*system.devices, idle))
    three = {"ecu-a", "ecu-d", "ecu-e"}
    found = _failover(more, plan)
    (answer,) = [one for one in found.answers if one.devices == three]
    assert answer.reason == "every deadline is kept"
    assert {more.tasks[task].name for task in answer.moves} == set(_moves(found, more, "ecu-a", "ecu-d"))
    monkeypatch.setattr(answers, "_FEW", 13)  # four devices and six pairs of them, and four times three
    few = _failover(more, plan)
    assert max(len(one) for one in (*(one.devices for one in few.answers), *few.refused)) == 2


def test_a_plan_that_answers_no_device_admits_nothing(tmp_path: Path) -> None:
    *_, system, plan = _files(tmp_path)
    found = _failover(system, plan)
    assert [answer.devices for answer in found.answers] == [frozenset()] and not found.refused


@pytest.fixture(scope="module", params=["ecu-d", "ecu-c"])
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]
) -> Ended:
    """First ecu-a is lost, then one more: ecu-c could take that over as well, or has it all."""
    require(tiers, "fifo")
    folder = tmp_path_factory.mktemp("double")
    file, plan_file, *_ = _files(folder, "ecu-a", "ecu-d")
    words = ["--plan", str(plan_file), "--tier", "fifo", "--duration", "3s", "--rate", "0.5"]
    losses = ["--fault", "device:ecu-a@0.73s", "--fault", f"device:{request.param}@1.43s"]
    return Running(folder / request.param, *words, *losses, system=file).end()


def test_the_second_loss_is_answered_or_the_run_says_why_not(ended: Ended) -> None:
    assert ended.code in (0, 1, 3), ended.errors
    first, second = ended.summary["faults"]
    assert first["takeover"]["answered"]
    took = second["takeover"]
    assert took["losses"] == sorted(["device:ecu-a", second["fault"]])
    if second["fault"] == "device:ecu-d":
        assert took["answered"] and "every deadline is kept" in took["reason"] and "backup" in took["moves"]
        assert second["switched_after_ns"] is not None
    else:
        assert not took["answered"] and "none is admitted: task pre_front_wide goes nowhere" in took["reason"]
        assert any("nothing answers the loss of device:ecu-a, device:ecu-c" in note for note in ended.summary["notes"])


def test_a_third_loss_that_nothing_answers_leads_to_minimal_risk(tmp_path: Path, tiers: dict[str, TierReport]) -> None:
    require(tiers, "fifo")
    file, plan_file, *_ = _files(tmp_path, "ecu-a", "ecu-d")
    words = ["--plan", str(plan_file), "--tier", "fifo", "--duration", "3s", "--rate", "0.5"]
    for number, device in enumerate(("ecu-a", "ecu-d", "ecu-c")):
        words += ["--fault", f"device:{device}@{600 + 500 * number}ms"]
    ended = Running(tmp_path / "three", *words, system=file).end()
    assert ended.code in (0, 1, 3), ended.errors
    third = ended.summary["faults"][2]
    assert third["takeover"]["losses"] == ["device:ecu-a", "device:ecu-c", "device:ecu-d"]
    assert not third["takeover"]["answered"] and "none is admitted" in third["takeover"]["reason"]
    assert ended.summary["arbiter"]["state_time_ns"]["MINIMAL_RISK"] > 0
    arbiter = ended.jobs("arbiter")
    completed_ns = arbiter["finish_ns"][arbiter["status"] == JobStatus.COMPLETED]
    assert completed_ns.max() > third["time_ns"] + 700_000_000


def test_what_lives_goes_on_and_the_arbiter_decides_in_every_cycle(ended: Ended) -> None:
    second = ended.summary["faults"][1]
    arbiter = ended.jobs("arbiter")
    over = arbiter["deadline_ns"] < ended.summary["duration_ns"]
    assert (arbiter["status"][over] == JobStatus.COMPLETED).mean() > 0.9
    moved = second["fault"] == "device:ecu-d"
    backup, camera = ended.jobs("backup"), ended.jobs("post_front_wide")
    late_ns = second["time_ns"] + 500_000_000
    assert ((backup["arrival_ns"] > late_ns) & (backup["status"] == JobStatus.COMPLETED)).any()
    assert ((camera["arrival_ns"] > late_ns) & (camera["status"] == JobStatus.COMPLETED)).any() == moved
    states = ended.summary["arbiter"]["state_time_ns"]
    assert moved or states["BACKUP"] > 0
