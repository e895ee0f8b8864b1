"""Workers of paced runs killed at random instants, many in each run: what was finished stays, and the others go on.

    python benchmarks/evidence/paced_kills.py [--kills N] [--inside] [--seed N] [--tier fifo|user] [--json]

Every run is `rt-sched replay --paced` as a user starts it, on two systems in turn: the shipped example for two cores,
and a small one whose tasks keep spares. Between kills pass exponentially distributed times; victims are drawn from all
children of the supervisors, so also workers that start, wait or stand by; one kill in six takes two at once. With
`--inside` they are drawn from those that run at that moment, until so many have died within a job. Each run is then
held against what must be so whatever dies (`problems_of`). Exit code 1 where anything is not. Seeds draw victims and
instants; the run itself is as punctual as the machine.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_run
from paced_campaigns import add_tier, best_tier, hand_over, parser_of
from sessions import family, left_behind, member, shared_memory

from rt_sched.trace.records import JobStatus

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "replay_data" / "hazard.mcap"
SYSTEM = ROOT / "examples" / "host_two_cores.yaml"
#: Three tasks on one core, two of which keep a spare; what is killed with no job in it is not even late.
SPARES = """
rt_sched: 1
name: spares
policy: dm
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}}
deploy: {ecu.cpu: 1}
sensors: {imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}}
tasks:
  first:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, activation: {rate: 20Hz}, inputs: {imu: {from: imu, required: false}},
     execution: {wcet: 15ms}, deadline: 46ms,
     budget: {limit: 20ms, granularity: 10ms, on_overrun: abort}, parameters: {ms: 12}}
  second:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, inputs: {imu: first}, execution: {wcet: 15ms}, deadline: 48ms,
     budget: {limit: 20ms, granularity: 10ms, on_overrun: abort}, parameters: {ms: 12}}
  third:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, inputs: {imu: second}, execution: {wcet: 15ms}, deadline: 50ms,
     parameters: {ms: 12}}
"""
#: Beside SPARES, in a file of its own.
STAGES = '''
import time
from typing import ClassVar

import numpy as np

from rt_sched.messages import ImuSample
from rt_sched.ports import StageBase


class Busy(StageBase):
    """Takes `ms` of CPU time."""

    inputs: ClassVar = {"imu": ImuSample}
    optional_inputs: ClassVar = frozenset({"imu"})
    outputs: ClassVar = {"out": ImuSample}

    def __init__(self, *, ms: float) -> None:
        self._ns = int(ms * 1e6)

    def process(self, job, inputs):
        end_ns = time.thread_time_ns() + self._ns
        while time.thread_time_ns() < end_ns:
            pass
        return {"out": ImuSample(job.arrival_ns, "busy", np.zeros(3), np.zeros(3))}
'''
_START_LIMIT_S, _END_LIMIT_S = 300.0, 120.0
#: The last part of a run, in which nobody is killed, so that all have time to come back.
_QUIET_S = 2.0
#: So many jobs that arrive while a task is served again, this long before the end, cannot all stay undone.
_SOME_JOBS, _TIME_FOR_THEM_NS = 3, 500_000_000
#: How long a worker is watched that is to die in a job.
_AT_WORK_S = 0.3
_SUPERVISOR = "rt-sup-"

Row = dict[str, Any]


@dataclass
class Campaign:
    """What was done and found. `came_back`: tasks that went on after their last loss; `not_back`: that were still
    starting when the run ended. `problems`: what must not be, in words.
    """

    runs: int = 0
    kills: int = 0
    pairs: int = 0
    losses: int = 0
    in_job: int = 0
    standing_by: int = 0
    came_back: int = 0
    not_back: int = 0
    completed: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Kill:
    """`name`: of the process when it was killed."""

    pid: int
    name: str


def seen_at_work(pid: int) -> bool:
    """Waits until the process runs; False when it did not for a while, or has ended."""
    until = time.monotonic() + _AT_WORK_S
    while time.monotonic() < until:
        seen = member(pid)
        if seen is None or seen.runs:
            return seen is not None
        time.sleep(0.0002)
    return False


def one_run(
    system: Path, folder: Path, *, tier: str, seconds: float, kills: int, seed: int, inside: bool, campaign: Campaign
) -> None:
    """Starts a run, kills in it, waits for its end, and adds what was found."""
    draw = random.Random(seed)  # noqa: S311
    shared_before = shared_memory()
    call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
    words = ["replay", str(LOG), "--system", str(system), "--paced", "--json", "--tier", tier]
    process = subprocess.Popen(
        [sys.executable, "-c", call, *words, "--duration", f"{seconds:g}s", "-o", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{system.parent}"},
    )
    killed, died = _kill_some(process, draw, seconds - _QUIET_S, kills, campaign, inside=inside, tier=tier)
    problems = []
    try:
        out, errors = process.communicate(timeout=_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        problems.append(f"it did not end within {_END_LIMIT_S:g} s")
    problems += left_behind(process.pid, shared_before)
    campaign.runs += 1
    if process.returncode not in (0, 1, 3) or not out.strip():
        problems.append(f"exit code {process.returncode}: {errors.strip()[-500:]}")
    else:
        problems += problems_of(json.loads(out), folder, killed, died, campaign)
    campaign.problems += [f"{system.stem}, seed {seed}: {text}" for text in problems]


def _kill_some(
    process: subprocess.Popen[str],
    draw: random.Random,
    until_s: float,
    kills: int,
    campaign: Campaign,
    *,
    inside: bool,
    tier: str,
) -> tuple[dict[int, Kill], list[Kill]]:
    """Kills so many, the first perhaps before the begin, the last at the latest `until_s` after it; those that run at
    that moment where it is to be `inside` a job.

    Returns those that were killed, and those of them that are seen to be dead.
    """
    killed: dict[int, Kill] = {}
    limit, begun = time.monotonic() + _START_LIMIT_S, None
    early = draw.random() < 0.5 and not inside
    wait_s = None
    while len(killed) < kills and process.poll() is None and time.monotonic() < limit:
        members = family(process.pid)
        if begun is None and any(one.name == "rt-publishing" for one in members.values()):
            begun, limit = time.monotonic(), time.monotonic() + until_s
        if begun is not None and wait_s is None:
            wait_s = min(draw.expovariate(kills / until_s), 1.0)
            time.sleep(wait_s)
            members = family(process.pid)
        supervisors = {pid for pid, one in members.items() if one.name.startswith(_SUPERVISOR)}
        victims = sorted(pid for pid, one in members.items() if one.parent in supervisors and pid not in killed)
        if inside and tier != "user":
            victims = [pid for pid in victims if members[pid].is_urgent]
        if not victims or (begun is None and not early):
            time.sleep(0.02)
            continue
        early, wait_s = False, None
        chosen = draw.sample(victims, min(len(victims), 2 if draw.random() < 1 / 6 else 1))
        campaign.pairs += len(chosen) == 2
        for pid in chosen:
            if inside and not seen_at_work(pid):
                continue
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed[pid] = Kill(pid, members[pid].name)
    campaign.kills += len(killed)
    return killed, _dead(process, killed, limit + _QUIET_S / 2)


def _dead(process: subprocess.Popen[str], killed: dict[int, Kill], until: float) -> list[Kill]:
    """Those that are gone before the run ends: a process that is killed has to get the core once more to die."""
    while process.poll() is None and time.monotonic() < until and killed.keys() & family(process.pid).keys():
        time.sleep(0.02)
    left = family(process.pid)
    return [kill for pid, kill in killed.items() if pid not in left and process.poll() is None]


def problems_of(summary: Row, folder: Path, killed: dict[int, Kill], died: list[Kill], campaign: Campaign) -> list[str]:
    """What is wrong with a run of which these were killed; and adds to the counts of the campaign."""
    problems = []
    losses = summary["losses"]
    noted = {row["pid"] for row in losses}
    problems += [
        f"{row['task']} lost process {row['pid']}, which nobody killed"
        for row in losses
        if row["pid"] not in killed and not row["by_budget"]
    ]
    with np.load(folder / "trace.npz") as file:
        jobs = {key.removeprefix("jobs."): file[key] for key in file.files if key.startswith("jobs.")}
    names = [row["name"] for row in summary["tasks"]]
    spares = set(summary["spares"])
    for kill in died:
        if kill.pid not in noted and kill.name in names and kill.name not in spares:
            problems.append(f"the loss of process {kill.pid} of {kill.name} is not noted")
    done = jobs["status"] == JobStatus.COMPLETED
    problems += _record_problems(jobs, done, names)
    for task, name in enumerate(names):
        mine = jobs["task"] == task
        lost = int(np.count_nonzero(mine & (jobs["status"] == JobStatus.LOST)))
        mine_lost = [row for row in losses if row["task"] == name]
        if lost > len(mine_lost):
            problems.append(f"{name}: {lost} jobs were lost with {len(mine_lost)} workers")
        campaign.in_job += lost
        if mine_lost:
            back_ns = mine_lost[-1]["back_ns"]
            since = mine & (jobs["arrival_ns"] >= (np.inf if back_ns is None else back_ns))
            long_ago = since & (jobs["arrival_ns"] < summary["duration_ns"] - _TIME_FOR_THEM_NS)
            campaign.came_back += bool((since & done).any())
            campaign.not_back += back_ns is None
            if np.count_nonzero(long_ago) >= _SOME_JOBS and not (since & done).any():
                problems.append(f"{name} is served again from {back_ns / 1e6:.0f} ms on, and does not go on")
    if losses and summary["status"] in ("ok", "bound_violated"):
        problems.append(f"{len(losses)} workers were lost, and the status is {summary['status']}")
    campaign.losses += len(losses)
    campaign.standing_by += sum(pid not in noted for pid in killed)
    campaign.completed += int(np.count_nonzero(done))
    return problems


def _record_problems(jobs: dict[str, np.ndarray], done: np.ndarray, names: list[str]) -> list[str]:
    """Records that contradict one another: holes, effects before causes, messages of jobs that published nothing."""
    problems = []
    for task, name in enumerate(names):
        mine = jobs["task"] == task
        if sorted(jobs["number"][mine]) != list(range(int(mine.sum()))):
            problems.append(f"{name}: the records have holes")
        if (jobs["finish_ns"][mine & done] < jobs["start_ns"][mine & done]).any():
            problems.append(f"{name}: a job ends before it starts")
    for slot in range(jobs["inputs"].shape[1]):
        readers = np.flatnonzero(jobs["inputs"][:, slot] >= 0)
        sources = jobs["inputs"][readers, slot]
        if not done[sources].all():
            problems.append("a job has read what a job published that did not complete")
        elif (jobs["finish_ns"][sources] > jobs["start_ns"][readers]).any():
            problems.append("a job has read what was published after its start")
    return problems


def write_small_system(folder: Path) -> Path:
    """The system file of SPARES, with its stages beside it."""
    path = folder / "spares.yaml"
    path.write_text(SPARES, encoding="utf-8")
    (folder / "busy_stages.py").write_text(STAGES, encoding="utf-8")
    return path


def campaign_of(
    kills: int, *, tier: str, seed: int, seconds: float = 4.0, per_run: int = 20, inside: bool = False
) -> Campaign:
    """Runs until so many were killed, `inside` a job if so, or far more than it should take have been made."""
    found = Campaign()
    limit = (8 if inside else 2) * -(-kills // per_run)
    with tempfile.TemporaryDirectory() as folder:
        spares = write_small_system(Path(folder))
        while (done := found.in_job if inside else found.kills) < kills and found.runs < limit:
            number = found.runs
            one_run(
                (SYSTEM, spares)[number % 2],
                Path(folder) / f"run{number}",
                tier=tier,
                seconds=seconds,
                kills=min(per_run, kills - done),
                seed=seed + number,
                inside=inside,
                campaign=found,
            )
            told = f"run {found.runs}: {found.kills} killed, {found.in_job} in a job, {len(found.problems)} problems"
            print(told, file=sys.stderr)
    return found


def main() -> int:
    parser = parser_of(__doc__, "kills", 200, "processes to kill", seed="of victims and instants")
    parser.add_argument("--inside", action="store_true", help="only those that run, until N have died within a job")
    add_tier(parser)
    options = parser.parse_args()
    tier = best_tier(options.tier)
    found = campaign_of(options.kills, tier=tier, seed=options.seed, inside=options.inside)
    document = {
        "schema": "rt-sched/kills/1",
        **describe_run(ROOT),
        "tier": tier,
        "seed": options.seed,
        "inside": options.inside,
        **vars(found),
    }
    hand_over(json.dumps(document, indent=1) + "\n", _table(found, tier), options)
    missing = options.inside and found.in_job < options.kills
    return 1 if found.problems or missing else 0


def _table(found: Campaign, tier: str) -> str:
    lines = [
        f"tier {tier}: {found.kills} killed in {found.runs} runs, {found.pairs} times two at once",
        f"  {found.losses} served a task, {found.in_job} of them in a job; {found.standing_by} did not yet",
        f"  {found.completed} jobs completed; {found.came_back} tasks went on after their last loss, "
        f"{found.not_back} were still starting at the end",
        *(found.problems or ["  no run hung, nothing was left behind, no record was lost"]),
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
