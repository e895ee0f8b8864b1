"""Priority inversion on one core, in real processes: a mutex without a protocol, with inheritance, with a ceiling.

    python benchmarks/inversion.py [--section MS] [--hog MS] [--runs N] [--json]

Three processes under SCHED_FIFO share a core. The lowest takes the mutex and computes for the length of its section;
2 ms later the highest wants the mutex; half a millisecond after that the one between begins to compute and does not
stop for a long time. Told is how long the highest is kept waiting, from the instant at which it wants the mutex; the
median of all runs. Without a protocol it waits for the one between as well (Sha, Rajkumar, Lehoczky 1990).

Exit code 3 where the machine does not allow SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import select
import signal
import statistics
import struct
import sys
import time
from collections.abc import Sequence
from typing import Any

from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.mutex import Protocol, SharedMutex
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import now_ns, sleep_until_ns
from rt_sched.runtime.host.tiers import Tier, available_tiers
from rt_sched.units import NS_PER_MS

LOW, MIDDLE, HIGH = 10, 20, 30
PROTOCOLS = {"none": Protocol.NONE, "inheritance": Protocol.INHERIT, "ceiling": Protocol.CEILING}

_SETTLE_NS, _WANT_AFTER_NS, _HOG_AFTER_NS = 10 * NS_PER_MS, 2 * NS_PER_MS, NS_PER_MS // 2
_LIMIT_S = 10.0
#: Where in the shared page the mutex and the result lie.
_MUTEX_AT, _RESULT_AT = 0, 256


def blocked_ns(protocol: Protocol, section_ns: int, hog_ns: int, core: int) -> int:
    """How long the highest process waits for the mutex, in one run."""
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        ceiling = HIGH if protocol is Protocol.CEILING else None
        mutex = SharedMutex.create(page, _MUTEX_AT, protocol=protocol, ceiling=ceiling)
        ready, is_ready = os.pipe()
        began, begin = os.pipe()

        def start(priority: int, after_ns: int) -> int:
            """Waits, under its class, for the beginning of all three; the instant at which this one starts."""
            pin({core})
            set_scheduling(Scheduling.fifo(priority))
            os.write(is_ready, b"!")
            instant = int(struct.unpack("q", os.read(began, 8))[0]) + after_ns
            sleep_until_ns(instant)
            return instant

        def low() -> None:
            start(LOW, 0)
            with mutex.held():
                _compute(section_ns)

        def middle() -> None:
            start(MIDDLE, _WANT_AFTER_NS + _HOG_AFTER_NS)
            _compute(hog_ns)

        def high() -> None:
            want_ns = start(HIGH, _WANT_AFTER_NS)
            with mutex.held():
                struct.pack_into("q", page, _RESULT_AT, now_ns() - want_ns)

        pids = [fork(work) for work in (low, middle, high)]
        for _ in pids:
            if not select.select([ready], [], [], _LIMIT_S)[0]:
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                break
            os.read(ready, 1)
        os.write(begin, struct.pack("q", now_ns() + _SETTLE_NS) * len(pids))
        codes = [os.waitpid(pid, 0)[1] for pid in pids]
        for descriptor in (ready, is_ready, began, begin):
            os.close(descriptor)
        if any(codes):
            raise RuntimeError(f"the three processes ended with {codes}")
        mutex.destroy()
        return int(struct.unpack_from("q", page, _RESULT_AT)[0])


def _compute(cpu_ns: int) -> None:
    end = time.thread_time_ns() + cpu_ns
    while time.thread_time_ns() < end:
        pass


def measured(section_ns: int, hog_ns: int, runs: int, names: Sequence[str] = tuple(PROTOCOLS)) -> dict[str, list[int]]:
    """Waiting times of every run by protocol; the protocols take turns."""
    core = max(allowed_cores())
    found: dict[str, list[int]] = {name: [] for name in names}
    for _ in range(runs):
        for name, waits in found.items():
            waits.append(blocked_ns(PROTOCOLS[name], section_ns, hog_ns, core))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--section", type=float, default=30.0, metavar="MS", help="critical section (30 ms)")
    parser.add_argument("--hog", type=float, default=200.0, metavar="MS", help="work of the process between (200 ms)")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each protocol (5)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    tier = next(report for report in available_tiers() if report.tier is Tier.FIFO)
    if not tier.available:
        print(f"nothing measured: {'; '.join(tier.reasons)}", file=sys.stderr)
        return 3
    section_ns, hog_ns = (round(ms * NS_PER_MS) for ms in (options.section, options.hog))
    found = measured(section_ns, hog_ns, options.runs)
    rows: list[dict[str, Any]] = [
        {"protocol": name, "median_ns": int(statistics.median(waits)), "max_ns": max(waits), "runs": len(waits)}
        for name, waits in found.items()
    ]
    if options.json:
        document = {"schema": "rt-sched/inversion/1", "section_ns": section_ns, "hog_ns": hog_ns, "protocols": rows}
        print(json.dumps(document, indent=2))
        return 0
    print(f"section {section_ns / NS_PER_MS:g} ms, work between {hog_ns / NS_PER_MS:g} ms, {options.runs} runs each")
    print(f"{'protocol':14}{'median':>12}{'max':>12}{'of section':>14}")
    for row in rows:
        times = "".join(f"{row[key] / NS_PER_MS:>9.2f} ms" for key in ("median_ns", "max_ns"))
        print(f"{row['protocol']:14}{times}{row['median_ns'] / section_ns:>13.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
