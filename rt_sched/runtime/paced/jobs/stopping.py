"""Jobs that end early when their budget is nearly used, without their process: for stages that can be asked to.

A stage that computes in a library, such as a network in ONNX Runtime, is deaf to handlers of Python meanwhile, but the
library may have a way to be told. A second thread of the worker tells it, woken by a timer on the first one's CPU time.
What does not end then is stopped at its budget as ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from rt_sched.runtime.host.cpu_time import CpuTimer, cpu_time_ns, thread_clock
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling

#: The part of the budget before its end at which the stage is asked, at least and at most: the library's to heed.
_LEAST_PART, _MOST_PART = 10, 2
#: Of the thread that asks: above all tasks and the publisher, below the supervisors.
STOPPER_PRIORITY = 88
_SIGNAL = signal.SIGRTMIN + 1


class Stopper:
    """Of the calling thread's jobs. `ask`: the stage's `stop_job`. `granularity_ns`: how late a timer may be.

    `real_time`: whether jobs run under SCHED_FIFO.
    """

    def __init__(self, ask: Callable[[], None], granularity_ns: int, *, real_time: bool) -> None:
        self._ask, self._granularity_ns, self._real_time = ask, granularity_ns, real_time
        self._clock = thread_clock(threading.get_native_id())
        self._limit_ns: int | None = None
        self._ready = threading.Event()
        signal.pthread_sigmask(signal.SIG_BLOCK, [_SIGNAL])
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        self._ready.wait()
        self._timer = CpuTimer(thread_clock(0), _SIGNAL, thread=self._thread.native_id)

    def arm(self, budget_ns: int) -> None:
        """For the job that begins."""
        before_ns = min(max(self._granularity_ns, budget_ns // _LEAST_PART), budget_ns // _MOST_PART)
        self._limit_ns = cpu_time_ns(self._clock) + budget_ns - before_ns
        self._timer.arm_at(self._limit_ns)

    def disarm(self) -> None:
        """The job has ended."""
        self._limit_ns = None
        self._timer.disarm()

    def _watch(self) -> None:
        if self._real_time:
            set_scheduling(Scheduling.fifo(STOPPER_PRIORITY))
        self._ready.set()
        while True:
            signal.sigwait([_SIGNAL])
            limit_ns = self._limit_ns
            if limit_ns is not None and cpu_time_ns(self._clock) >= limit_ns:  # not of a job that has ended meanwhile
                self._ask()
