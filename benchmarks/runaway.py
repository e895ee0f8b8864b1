"""How long a stage that ignores everything keeps its class: taken off it by the supervisor, or by its own CPU timer.

    python benchmarks/runaway.py [--budget MS] [--runs N] [--json]

A process under SCHED_FIFO computes in compiled code that no Python interrupts, on one core with whoever watches it.

- supervisor: a process of higher priority has armed a timer on the CPU clock of the process; the signal wakes it, and
  it gives every thread of the process the class OTHER.
- own timer: the process has armed a timer on the clock of its thread, with SIGSTOP; its supervisor is told that it has
  stopped, gives it the class OTHER and lets it go on.

Told is the CPU time that the process has used beyond its budget when it has lost its class. The kernel looks at CPU
timers once a tick, so nothing under one tick can be promised. Exit code 3 where the machine does not allow SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import signal
import statistics
import struct
import sys
from collections.abc import Callable
from typing import Any

from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import fork, in_child
from rt_sched.runtime.host.cpu_time import CpuTimer, cpu_time_ns, process_clock, thread_clock
from rt_sched.runtime.host.measure import quantile, tick_ns
from rt_sched.runtime.host.processes import ProcessHandle, demote
from rt_sched.runtime.host.scheduling import Scheduling, scheduling_of, set_scheduling
from rt_sched.runtime.host.signals import SignalDescriptor
from rt_sched.runtime.host.tiers import Tier, available_tiers
from rt_sched.units import NS_PER_MS

WATCHER, WORKER = 90, 50
_SIGNAL = signal.SIGRTMIN + 6
_LIMIT_S = 10.0


def by_supervisor_ns(budget_ns: int, runs: int) -> list[int]:
    """CPU time beyond the budget when the supervisor has taken the class away, for every run."""
    return in_child(lambda: _watched(budget_ns, runs, _take_off_when_told), limit_s=60 + runs)


def by_own_timer_ns(budget_ns: int, runs: int) -> list[int]:
    """The same where the process is stopped by the timer of its own thread."""
    return in_child(lambda: _watched(budget_ns, runs, _take_off_when_stopped), limit_s=60 + runs)


def spin_for_ever() -> None:
    """Waits in compiled code for a lock that it holds itself, without giving the interpreter back."""
    library = ctypes.PyDLL(None)
    lock = ctypes.c_int()
    library.pthread_spin_init(ctypes.byref(lock), 0)
    library.pthread_spin_lock(ctypes.byref(lock))
    library.pthread_spin_lock(ctypes.byref(lock))


def _watched(budget_ns: int, runs: int, one_run: Callable[[int, int], int]) -> list[int]:
    core = max(allowed_cores())
    pin({core})
    set_scheduling(Scheduling.fifo(WATCHER))
    return [one_run(budget_ns, core) for _ in range(runs)]


def _take_off_when_told(budget_ns: int, core: int) -> int:
    ready, is_ready = os.pipe()

    def worker() -> None:
        _become_worker(core)
        os.write(is_ready, b"!")
        spin_for_ever()

    pid = fork(worker)
    try:
        os.read(ready, 1)
        clock = process_clock(pid)
        with SignalDescriptor([_SIGNAL]) as signals, CpuTimer(clock, _SIGNAL) as timer:
            due_ns = cpu_time_ns(clock) + budget_ns
            timer.arm_at(due_ns)
            if not select.select([signals], [], [], _LIMIT_S)[0]:
                raise TimeoutError("the budget never ended")
            signals.read()
            demote(pid)
            return _beyond(pid, due_ns)
    finally:
        _end(pid, ready, is_ready)


def _take_off_when_stopped(budget_ns: int, core: int) -> int:
    ready, is_ready = os.pipe()

    def worker() -> None:
        _become_worker(core)
        own = thread_clock(os.getpid())
        with CpuTimer(own, signal.SIGSTOP) as timer:
            due_ns = cpu_time_ns(own) + budget_ns
            timer.arm_at(due_ns)
            os.write(is_ready, struct.pack("q", due_ns))
            spin_for_ever()

    pid = fork(worker)
    try:
        (due_ns,) = struct.unpack("q", os.read(ready, 8))
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        demote(pid)
        beyond = _beyond(pid, due_ns)
        with ProcessHandle(pid) as process:
            process.send(signal.SIGCONT)
        return beyond
    finally:
        _end(pid, ready, is_ready)


def _become_worker(core: int) -> None:
    pin({core})
    set_scheduling(Scheduling.fifo(WORKER))


def _beyond(pid: int, due_ns: int) -> int:
    used_ns = cpu_time_ns(process_clock(pid))
    if scheduling_of(pid).scheduling_class.is_real_time:
        raise RuntimeError("the process still has its class")
    return used_ns - due_ns


def _end(pid: int, *descriptors: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for descriptor in descriptors:
        os.close(descriptor)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=float, default=10.0, metavar="MS", help="CPU time of a job (10 ms)")
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="runs of each way (100)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    tier = next(report for report in available_tiers() if report.tier is Tier.FIFO)
    if not tier.available:
        print(f"nothing measured: {'; '.join(tier.reasons)}", file=sys.stderr)
        return 3
    budget_ns = round(options.budget * NS_PER_MS)
    found = {
        "supervisor": by_supervisor_ns(budget_ns, options.runs),
        "own timer": by_own_timer_ns(budget_ns, options.runs),
    }
    rows: list[dict[str, Any]] = [
        {
            "way": way,
            "runs": len(beyond),
            "median_ns": int(statistics.median(beyond)),
            "p99_ns": quantile(beyond, 0.99),
            "max_ns": max(beyond),
        }
        for way, beyond in found.items()
    ]
    if options.json:
        document = {"schema": "rt-sched/runaway/1", "budget_ns": budget_ns, "tick_ns": tick_ns(), "ways": rows}
        print(json.dumps(document, indent=2))
        return 0
    print(f"budget {budget_ns / NS_PER_MS:g} ms, tick {tick_ns() / NS_PER_MS:g} ms, {options.runs} runs each")
    print(f"{'CPU time beyond the budget':28}{'median':>10}{'p99':>10}{'max':>10}")
    for row in rows:
        times = "".join(f"{row[key] / NS_PER_MS:>7.2f} ms" for key in ("median_ns", "p99_ns", "max_ns"))
        print(f"{row['way']:28}{times}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
