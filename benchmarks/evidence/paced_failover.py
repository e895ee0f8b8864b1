"""A device of a paced run is lost, again and again: how soon that is noticed, and its cameras go on elsewhere.

    python benchmarks/evidence/paced_failover.py [--strikes N] [--seed N] [--json] [-o FILE]

One run of examples/host_failover.yaml for each strike, in the tier `fifo`, from a process that has warmed up before.
The process group of the device gets SIGKILL and SIGSTOP in turn, at a random instant, as soon as a job runs there.
Every run is held against what must be so (`found_in`), and tells which assumptions its host did not keep. Exit code 1
where anything is not so, or where the p99 of all recoveries is over the limit of 100 ms.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import describe_run  # noqa: E402
from paced_campaigns import hand_over, parser_of  # noqa: E402
from sessions import left_behind, shared_memory  # noqa: E402

from rt_sched.app.inputs.stages import ImportedStages  # noqa: E402
from rt_sched.app.paced.job import run_paced  # noqa: E402
from rt_sched.app.paced.request import PacedRequest  # noqa: E402
from rt_sched.app.progress import Quiet  # noqa: E402
from rt_sched.config import load_system  # noqa: E402
from rt_sched.config.plan_text import plan_text  # noqa: E402
from rt_sched.planner import make_plan  # noqa: E402
from rt_sched.planner.failover.plan import failover_plan  # noqa: E402
from rt_sched.runtime.host.tiers import Tier  # noqa: E402
from rt_sched.trace.records import JobStatus, sample_of  # noqa: E402

LOG = ROOT / "replay_data" / "hazard.mcap"
SYSTEM = ROOT / "examples" / "host_failover.yaml"
DEVICE, PATH = "ecu-a", ("pre_front_wide", "infer_front_wide", "post_front_wide", "fuse")
ARBITER = "arbiter"
LIMIT_NS = 100_000_000
_DURATION_NS, _FIRST_NS, _LAST_NS = 2_000_000_000, 700_000_000, 1_400_000_000
_PERCENTILES = (50, 99, 100)

Row = dict[str, Any]


@dataclass(frozen=True)
class Strike:
    """What was found of one: times after it, None where it never came.

    `broken`: the assumptions that the run's monitors saw broken. `problems`: in words.
    """

    signal: str
    struck_ns: int
    job: int | None
    detected_ns: int | None
    detected_by: str | None
    switched_ns: int | None
    recovered_ns: int | None
    longest_silence_ns: int
    fused_twice: int
    broken: tuple[str, ...]
    problems: tuple[str, ...]


def write_plan(folder: Path) -> Path:
    """The placement of the file, with the takeover that the planner finds for the device."""
    system = load_system(SYSTEM, stages=ImportedStages())
    found = failover_plan(system, make_plan(system, None), [(f"device:{DEVICE}",)])
    if found.outcomes[0].takeover is None:
        raise SystemExit(f"the loss of {DEVICE} has no takeover: {found.outcomes[0].reason}")
    path = folder / "plan.yaml"
    path.write_text(plan_text(system, found.plan), encoding="utf-8")
    return path


def one_strike(plan: Path, folder: Path, instant_ns: int, *, stops: bool) -> Strike:
    """One run in a child of this process, and what was found of it."""
    shared = shared_memory()
    request = PacedRequest(
        log=str(LOG),
        system=str(SYSTEM),
        plan=plan,
        tier=Tier.FIFO,
        duration_ns=_DURATION_NS,
        output=folder,
        faults=(f"device:{DEVICE}@{instant_ns}ns",),
        stops=stops,
        inside=True,
    )
    session, code = _in_session(lambda: run_paced(request, Quiet()))
    if code:
        raise SystemExit(f"the run at {instant_ns} ns ended with exit code {code}")
    problems = left_behind(session, shared)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found_in(summary, folder, problems, stops=stops)


def found_in(summary: Row, folder: Path, problems: Sequence[str], *, stops: bool) -> Strike:
    """What a finished run tells."""
    with np.load(folder / "trace.npz") as file:
        columns = {key: file[key] for key in file.files}
    jobs = {key.removeprefix("jobs."): column for key, column in columns.items() if key.startswith("jobs.")}
    names = [row["name"] for row in summary["tasks"]]
    fault = next((row for row in summary["faults"] if row["fault"] == f"device:{DEVICE}"), None)
    strike = summary["failover"]["strikes"][0]
    silence_ns, silent = commands(jobs, names)
    twice = fused_twice(jobs, names, fault)
    found = [*problems, *silent]
    if fault is None or strike["struck_ns"] is None:
        found.append("nothing was struck")
    elif strike["job"] is None:
        found.append("the strike landed in no job")
    found += [
        f"{row['device']} was taken for lost" for row in summary["failover"]["notices"] if row["device"] != DEVICE
    ]
    if fault is not None and fault["recovered_after_ns"] is None:
        found.append("not recovered")
    if twice:
        found.append(f"{twice} frames were fused twice")
    return Strike(
        signal="SIGSTOP" if stops else "SIGKILL",
        struck_ns=strike["struck_ns"] or 0,
        job=strike["job"],
        detected_ns=None if fault is None else fault["detected_after_ns"],
        detected_by=None if fault is None else fault["detected_by"],
        switched_ns=None if fault is None else fault["switched_after_ns"],
        recovered_ns=None if fault is None else _path_recovered(fault),
        longest_silence_ns=silence_ns,
        fused_twice=twice,
        broken=tuple(one["assumption"] for one in summary["monitors"] if not one["holds"]),
        problems=tuple(found),
    )


def commands(jobs: dict[str, np.ndarray], names: Sequence[str]) -> tuple[int, list[str]]:
    """The longest time between two decisions of the arbiter, and what is wrong with its cycles: each has one."""
    mine = jobs["task"] == names.index(ARBITER)
    done = mine & (jobs["status"] == JobStatus.COMPLETED)
    ended = mine & (jobs["deadline_ns"] <= _DURATION_NS)
    lacking = int(np.count_nonzero(ended & ~done))
    silence_ns = int(np.diff(np.sort(jobs["finish_ns"][done])).max(initial=0))
    return silence_ns, [f"{lacking} cycles of the arbiter had no decision"] if lacking else []


def fused_twice(jobs: dict[str, np.ndarray], names: Sequence[str], fault: Row | None) -> int:
    """Frames of which two fusions say something, but for what the first task reads again in its job at the switch."""
    rows = np.flatnonzero((jobs["task"] == names.index(PATH[-1])) & (jobs["status"] == JobStatus.COMPLETED))
    for name in PATH[-2::-1]:
        rows = jobs["inputs"][rows, 0]
        if (jobs["task"][rows] != names.index(name)).any():
            raise ValueError(f"{name} is not what comes before in the path")
    switched_ns = (
        None if fault is None or fault["switched_after_ns"] is None else fault["time_ns"] + fault["switched_after_ns"]
    )
    again = rows[jobs["arrival_ns"][rows] != (-1 if switched_ns is None else switched_ns)]
    frames = sample_of(jobs["inputs"][again, 0])
    return len(frames) - len(np.unique(frames)) + len(rows) - len(np.unique(rows))


def _path_recovered(fault: Row) -> int | None:
    """When the last path had recovered and the arbiter commanded again, whichever is later."""
    times = [fault["recovered_after_ns"], *(path["recovered_after_ns"] for path in fault["paths"] if path["limited"])]
    return None if not fault["paths"] or None in times else max(times)


def campaign_of(strikes: int, seed: int, tell: Callable[[str], None]) -> list[Strike]:
    """So many strikes, killing and stopping in turn."""
    draw = random.Random(seed)  # noqa: S311
    found = []
    with tempfile.TemporaryDirectory() as place:
        plan = write_plan(Path(place))
        for number in range(strikes):
            instant_ns = draw.randrange(_FIRST_NS, _LAST_NS)
            one = one_strike(plan, Path(place) / f"run{number}", instant_ns, stops=bool(number % 2))
            found.append(one)
            times = [None if ns is None else round(ns / 1e6, 1) for ns in (one.detected_ns, one.recovered_ns)]
            broken = [f"not held: {', '.join(one.broken)}"] if one.broken else []
            tell(
                f"{number + 1}: {one.signal} noticed, recovered after {times} ms {'; '.join([*one.problems, *broken])}"
            )
    return found


def spread(values: Sequence[int | None]) -> Row:
    """p50, p99 and largest, in ns; `lacking`: how many never came."""
    known = np.array([value for value in values if value is not None], np.int64)
    found: Row = {"count": len(known), "lacking": len(values) - len(known)}
    for percent, name in zip(_PERCENTILES, ("p50_ns", "p99_ns", "max_ns"), strict=True):
        found[name] = int(np.percentile(known, percent, method="higher")) if len(known) else None
    return found


def document_of(found: Sequence[Strike], seed: int) -> Row:
    """The result as it is written."""
    rows: Row = {}
    for name in ("SIGKILL", "SIGSTOP", "both"):
        mine = [one for one in found if name in (one.signal, "both")]
        rows[name] = {
            "strikes": len(mine),
            "detection": spread([one.detected_ns for one in mine]),
            "switch": spread([one.switched_ns for one in mine]),
            "recovery": spread([one.recovered_ns for one in mine]),
            "longest_silence_of_arbiter": spread([one.longest_silence_ns for one in mine]),
        }
    return {
        "schema": "rt-sched/paced-failover/1",
        **describe_run(ROOT),
        "system": SYSTEM.name,
        "seed": seed,
        "limit_ns": LIMIT_NS,
        **rows,
        "inside_a_job": sum(one.job is not None for one in found),
        "fused_twice": sum(one.fused_twice for one in found),
        "assumptions_broken": {
            f"strike {number}": list(one.broken) for number, one in enumerate(found, 1) if one.broken
        },
        "problems": [f"strike {number}: {text}" for number, one in enumerate(found, 1) for text in one.problems],
    }


def _in_session(work: Callable[[], object]) -> tuple[int, int]:
    """Does it in a session of its own: returns which, and the exit code."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        os.setsid()
        try:
            with redirect_stdout(sys.stderr):
                work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> int:
    parser = parser_of(__doc__, "strikes", 200, "runs with one strike each", seed="of the instants")
    options = parser.parse_args()
    os.setpgid(0, 0)
    found = campaign_of(options.strikes, options.seed, lambda text: print(text, file=sys.stderr, flush=True))
    document = document_of(found, options.seed)
    hand_over(json.dumps(document, indent=1) + "\n", _table(document, len(found)), options)
    p99_ns = document["both"]["recovery"]["p99_ns"]
    return 1 if document["problems"] or p99_ns is None or p99_ns > LIMIT_NS else 0


def _table(document: Row, strikes: int) -> str:
    lines = [
        f"{strikes} strikes, {document['inside_a_job']} inside a job, "
        f"{document['fused_twice']} frames fused twice; in ms:",
        f"{'':9}{'':28}{'p50':>8}{'p99':>8}{'max':>8}{'lacking':>9}",
    ]
    for name in ("SIGKILL", "SIGSTOP", "both"):
        for what in ("detection", "switch", "recovery", "longest_silence_of_arbiter"):
            row = document[name][what]
            values = ["–" if row[key] is None else f"{row[key] / 1e6:.1f}" for key in ("p50_ns", "p99_ns", "max_ns")]
            cells = "".join(f"{one:>8}" for one in values)
            lines.append(f"{name:9}{what.replace('_', ' '):28}{cells}{row['lacking']:>9}")
    return "\n".join([*lines, *(document["problems"] or ["nothing else was wrong"]), ""])


if __name__ == "__main__":
    sys.exit(main())
