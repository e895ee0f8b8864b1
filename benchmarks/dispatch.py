"""From release to start, by tier, beside a bare loop in C under the same class in the same run.

    python benchmarks/dispatch.py [--releases N] [--rounds N] [--load N] [--json]

A process wakes at instants one millisecond apart and says how late it is. Python and C take turns, `--rounds` times, so
that both see the same machine; `--load` processes compute meanwhile under SCHED_OTHER on the same core.

- user      SCHED_OTHER with the smallest slack of timers
- fifo      SCHED_FIFO
- deadline  SCHED_DEADLINE on a core of its own (load runs on the others)
- edf       SCHED_FIFO with priorities by deadline: a dispatcher of higher priority wakes at the release, gives the
            workers priorities in the order of their absolute deadlines, and wakes the one whose job is released;
            told is when that one starts. This is EDF where SCHED_DEADLINE cannot be had.

Tiers that the machine does not allow are named with the reason. Without a C compiler there is no loop to compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import fork, in_child, on_cores
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.measure import quantile, wake_up_lateness_ns
from rt_sched.runtime.host.memory import lock_memory
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, scheduled, set_scheduling
from rt_sched.runtime.host.sleeping import now_ns, set_timer_slack_ns, sleep_until_ns
from rt_sched.runtime.host.tiers import Tier, available_tiers
from rt_sched.units import NS_PER_MS, NS_PER_US

#: Measures a number of releases in a tier.
Loop = Callable[[int, Tier], list[int]]

PERIOD_NS = NS_PER_MS
PRIORITY = 50
#: Relative deadlines of the workers under EDF by priorities.
DEADLINES_NS = (4 * NS_PER_MS, 6 * NS_PER_MS, 9 * NS_PER_MS)

_C_LOOP = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv) {
    int64_t period = atoll(argv[1]), count = atoll(argv[2]), next = now() + period;
    int64_t *late = malloc(count * sizeof *late);
    if (argc != 3 || !late) return 1;
    for (int64_t i = 0; i < count; i++) late[i] = 0;
    for (int64_t i = 0; i < count; i++) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) { }
        int64_t woken = now();
        late[i] = woken - next;
        next += period * (1 + late[i] / period);
    }
    for (int64_t i = 0; i < count; i++) printf("%lld\n", (long long)late[i]);
    return 0;
}
"""


#: The class of a worker by tier.
CLASSES = {
    Tier.DEADLINE: Scheduling.deadline(PERIOD_NS // 2, PERIOD_NS, PERIOD_NS),
    Tier.FIFO: Scheduling.fifo(PRIORITY),
    Tier.USER: Scheduling.other(),
}


def in_python(releases: int, tier: Tier) -> list[int]:
    """Lateness of the calling process in the class of a tier."""
    with scheduled(CLASSES[tier]):
        return wake_up_lateness_ns(PERIOD_NS, releases)


def in_c(program: Path) -> Loop:
    """The same by the C loop."""

    def measured(releases: int, tier: Tier) -> list[int]:
        def become() -> None:
            set_scheduling(CLASSES[tier])

        command = [str(program), str(PERIOD_NS), str(releases)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=become).stdout
        return [int(line) for line in printed.split()]

    return measured


def compiled_loop(folder: Path) -> Path | None:
    """The C loop, compiled; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, program = folder / "loop.c", folder / "loop"
    source.write_text(_C_LOOP)
    subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True)
    return program


def of_tier(tier: Tier, loop: Loop, releases: int) -> list[int]:
    """Lateness in a child process that is of the tier, on the last core."""

    def measured() -> list[int]:
        _lock_memory_if_allowed()
        set_timer_slack_ns(1)
        core = max(allowed_cores())
        if tier is not Tier.DEADLINE:
            pin({core})
            return loop(releases, tier)
        with ExclusiveCpuset({core}, patience_ns=5000 * NS_PER_MS) as cpuset:
            cpuset.admit(os.getpid())
            return loop(releases, tier)

    return in_child(measured, limit_s=60 + releases / 100)


def _lock_memory_if_allowed() -> None:
    with suppress(Refused):
        lock_memory()


def edf_by_priorities(releases: int) -> list[int]:
    """From the release to the start of the job that is released, where priorities follow the deadlines."""

    def dispatch() -> list[int]:
        _lock_memory_if_allowed()
        pin({max(allowed_cores())})
        answers, answer = os.pipe()
        workers, bells = [], []
        for _ in DEADLINES_NS:
            asleep, bell = os.pipe()
            workers.append(fork(partial(_worker, asleep, answer)))
            bells.append(bell)
        try:
            with scheduled(Scheduling.fifo(PRIORITY + len(workers) + 1)):
                return _released(releases, workers, bells, answers)
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    return in_child(dispatch, limit_s=60 + releases / 100)


def _worker(asleep: int, answer: int) -> None:
    """A job of no length: it answers when it has started."""
    while os.read(asleep, 1):
        os.write(answer, struct.pack("q", now_ns()))


def _released(releases: int, workers: list[int], bells: list[int], answers: int) -> list[int]:
    lateness: list[int] = []
    due = [0] * len(workers)
    given = [0] * len(workers)
    instant = now_ns() + PERIOD_NS
    for number in range(releases):
        released = number % len(workers)
        sleep_until_ns(instant)
        due[released] = instant + DEADLINES_NS[released]
        order = sorted(range(len(workers)), key=due.__getitem__, reverse=True)
        for place, worker in enumerate(order):
            if given[worker] != PRIORITY + place:
                given[worker] = PRIORITY + place
                set_scheduling(Scheduling.fifo(given[worker]), workers[worker])
        os.write(bells[released], b"!")
        (started,) = struct.unpack("q", os.read(answers, 8))
        lateness.append(started - instant)
        instant += PERIOD_NS * (1 + max(0, now_ns() - instant) // PERIOD_NS)
    return lateness


def loaded(processes: int) -> AbstractContextManager[None]:
    """That many processes compute meanwhile, on the core that is measured."""

    def compute() -> None:
        while True:
            pass

    return on_cores([max(allowed_cores())] * processes, compute)


def measured(tiers: list[Tier], releases: int, rounds: int, program: Path | None) -> dict[tuple[str, str], list[int]]:
    """Lateness by (tier, language), all rounds together."""
    found: dict[tuple[str, str], list[int]] = {}
    for _ in range(rounds):
        for tier in tiers:
            loops: dict[str, Loop] = {"python": in_python} | ({} if program is None else {"c": in_c(program)})
            for language, loop in loops.items():
                found.setdefault((tier.value, language), []).extend(of_tier(tier, loop, releases))
        if Tier.FIFO in tiers:
            found.setdefault(("edf", "python"), []).extend(edf_by_priorities(releases))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--releases", type=int, default=2000, metavar="N", help="releases of each in a round (2000)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (3)")
    parser.add_argument("--load", type=int, default=1, metavar="N", help="processes that compute meanwhile (1)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    reports = available_tiers()
    missing = [f"tier {report.tier.value}: {'; '.join(report.reasons)}" for report in reports if not report.available]
    tiers = [report.tier for report in reports if report.available]
    with tempfile.TemporaryDirectory() as folder, loaded(options.load):
        program = compiled_loop(Path(folder))
        if program is None:
            missing.append("loop in C: there is no compiler cc")
        found = measured(tiers, options.releases, options.rounds, program)
    rows: list[dict[str, Any]] = [
        {
            "tier": tier,
            "language": language,
            "releases": len(late),
            "p50_ns": quantile(late, 0.5),
            "p99_ns": quantile(late, 0.99),
            "max_ns": max(late),
        }
        for (tier, language), late in found.items()
    ]
    if options.json:
        document = {"schema": "rt-sched/dispatch/1", "load": options.load, "missing": missing, "rows": rows}
        print(json.dumps(document, indent=2))
        return 0
    for line in missing:
        print(f"not measured: {line}", file=sys.stderr)
    print(f"release to start, every {PERIOD_NS / NS_PER_MS:g} ms, {options.load} processes compute on the core")
    print(f"{'tier':10}{'':8}{'releases':>9}{'p50':>13}{'p99':>13}{'max':>13}{'p50, p99 of C':>20}")
    for row in rows:
        times = "".join(f"{row[key] / NS_PER_US:>10.1f} us" for key in ("p50_ns", "p99_ns", "max_ns"))
        print(f"{row['tier']:10}{row['language']:8}{row['releases']:>9}{times}{_beside_c(row, rows):>20}")
    return 0


def _beside_c(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """How many times as late as the loop in C of the same class; EDF by priorities runs under SCHED_FIFO."""
    tier = Tier.FIFO.value if row["tier"] == "edf" else row["tier"]
    loop = next((one for one in rows if one["tier"] == tier and one["language"] == "c"), None)
    if loop is None or loop is row:
        return ""
    return ", ".join(f"{row[key] / loop[key]:.2f}x" for key in ("p50_ns", "p99_ns"))


if __name__ == "__main__":
    sys.exit(main())
