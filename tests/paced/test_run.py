"""Paced runs of the example: who ran, that causes come before effects, and what each tier promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_runs import Cli

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus

from .conftest import LOG, SYSTEM, Ended, Running, require

TASKS = ("pre_front_wide", "infer_front_wide", "post_front_wide", "fuse", "understand", "plan", "control", "backup")


@pytest.fixture(scope="module", params=["user", "fifo", "deadline"])
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]
) -> Ended:
    tier = request.param
    require(tiers, tier)
    return Running(tmp_path_factory.mktemp("paced") / tier, "--tier", tier, "--duration", "1.5s").end()


def test_the_result_says_how_it_ran(ended: Ended) -> None:
    summary = ended.summary
    assert ended.code in (0, 1, 3), ended.errors
    assert summary["clock"] == "paced" and summary["tier"] in ended.folder.name
    assert summary["representative"] is True
    assert {row["tier"] for row in summary["tiers"]} == {"deadline", "fifo", "user"}
    assert summary["losses"] == []
    assert (ended.folder / "report.html").is_file() and (ended.folder / "output.mcap").is_file()


def test_the_kernel_reports_what_was_asked_for(ended: Ended) -> None:
    workers = {row["task"]: row for row in ended.summary["workers"]}
    assert {*TASKS, "arbiter"} == workers.keys()
    assert len({row["pid"] for row in workers.values()}) == len(workers)
    for row in workers.values():
        assert row["scheduling"] == row["asked"]  # class and priority, or runtime, deadline and period
        assert row["cores"] == [row["asked_core"]]
        assert row["threads"] == 1
    if ended.summary["tier"] == "deadline":
        assert {row["class"] for row in workers.values()} == {"SCHED_DEADLINE"}
    if ended.summary["tier"] == "fifo":
        assert {row["class"] for row in workers.values()} == {"SCHED_FIFO"}
        on_b = {name: row["priority"] for name, row in workers.items() if row["cores"] == [1]}
        assert len(set(on_b.values())) == len(on_b)
        assert max(on_b, key=on_b.__getitem__) == "arbiter"


def test_every_task_works(ended: Ended) -> None:
    """All of them in a real-time class; on a host that is busy otherwise the user tier may not come far."""
    sure = ("pre_front_wide", "backup", "arbiter") if ended.summary["tier"] == "user" else (*TASKS, "arbiter")
    for row in ended.summary["tasks"]:
        assert row["completed"] > 0 or row["name"] not in sure, row["name"]
    assert ended.summary["feed"]["published"] == sum(
        topic["delivered"] + topic["unread"] for topic in ended.summary["topics"] if topic["sensor"] is not None
    )


def test_jobs_keep_their_order(ended: Ended) -> None:
    for task in (*TASKS, "arbiter"):
        jobs = ended.jobs(task)
        done = jobs["status"] == JobStatus.COMPLETED
        assert (np.diff(jobs["arrival_ns"]) >= 0).all()
        assert (jobs["start_ns"][done] >= jobs["arrival_ns"][done]).all()
        assert (jobs["finish_ns"][done] >= jobs["start_ns"][done]).all()
        assert (jobs["start_ns"][done][1:] >= jobs["finish_ns"][done][:-1]).all()
        assert (jobs["executed_ns"][done] > 0).all()


def test_a_job_arrives_when_its_message_was_published(ended: Ended) -> None:
    for source, target in (("fuse", "understand"), ("understand", "plan"), ("plan", "control")):
        before, after = ended.jobs(source), ended.jobs(target)
        published = before["finish_ns"][before["status"] == JobStatus.COMPLETED]
        assert np.isin(after["arrival_ns"], published).all()


def test_only_real_time_tiers_have_bounds(ended: Ended) -> None:
    bounds = [row["bound_ns"] for row in ended.summary["tasks"]]
    if ended.summary["tier"] == "user":
        assert not any(bounds)
        assert any("no bounds" in note for note in ended.summary["notes"])
    else:
        assert all(bounds)
        assert ended.summary["bounds_exceeded"] == [] or ended.summary["status"] != "ok"
        loss = ended.summary["supply_loss"]
        assert loss is None or loss["counted"] == [], "tasks leave the kernel what it wants for others"


def test_no_job_takes_longer_than_its_bound(ended: Ended) -> None:
    """Unless an assumption broke, as on a host that is busy with other virtual machines: then a monitor says so."""
    held = all(one["holds"] for one in ended.summary["monitors"])
    for row in ended.summary["tasks"]:
        if row["bound_ns"] is not None and held:
            jobs = ended.jobs(row["name"])
            done = jobs["status"] == JobStatus.COMPLETED
            assert int((jobs["finish_ns"] - jobs["arrival_ns"])[done].max(initial=0)) <= row["bound_ns"], row["name"]


def test_nobody_waits_for_a_reservation_at_the_beginning(ended: Ended) -> None:
    """A worker that wakes in vain just before its first message may have to wait for a whole period of its own."""
    for task in () if ended.summary["tier"] == "user" else ("fuse", "understand", "plan", "control"):
        jobs = ended.jobs(task)
        waited = (jobs["start_ns"] - jobs["arrival_ns"])[jobs["status"] == JobStatus.COMPLETED]
        assert np.median(waited[:3]) < np.median(waited[3:]) + 15e6, task


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tier", "hard"), "deadline, fifo, user"),
        (("--rate", "0"), "--rate"),
        (("--rate", "fast"), "--rate"),
        (("--duration", "5"), "--duration"),
        (("--threads", "2"), "--threads"),
        (("--fault", "camera:front_wide@1s"), "--fault"),
        (("--system", "quad_orin"), "deploy"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    call = ("replay", LOG, "--system", SYSTEM, "--paced", "--json", "-o", tmp_path / "run")
    assert words in Cli(tmp_path)(*call, *options, code=2).err
    assert not (tmp_path / "run").exists()
