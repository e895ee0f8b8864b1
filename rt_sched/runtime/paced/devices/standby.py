"""The process that stands by for a task, on another device or where it is nominally while it is elsewhere: started and
warm, until a takeover or a return makes it the owner.
"""

from __future__ import annotations

import os
import time

from rt_sched.runtime.host.scheduling import set_scheduling
from rt_sched.runtime.paced.jobs.process import Employment, budget_timers, failures_told, prepared, serve
from rt_sched.runtime.paced.roster import State
from rt_sched.trace.records import JobStatus
from rt_sched.transport.endings import is_ending

#: How often it is looked whether the process has begun to end that was killed.
_LOOK_S = 0.0002


def stand_by(job: Employment) -> None:
    """The whole life of a standby, which is that of a worker from the switch on.

    It has the class of its place from the start: what waits takes no time from anybody.
    """
    with failures_told(job):
        mine = job.roster.waiting(job.index, job.tenure.owner)
        stage = prepared(job)
        job.prepare_post()
        mine["state"] = State.READY
        if not job.clock.wait_until_prepared():
            return
        timers = budget_timers(job, stage)
        set_scheduling(job.seat.scheduling)
        mine["state"] = State.SEATED
        if not job.clock.wait_until(lambda: job.tenure.switch is not None):
            return
        epoch = job.tenure.switch
        if epoch is None or epoch.answer is None:
            return
        _succeed(job)
        post = job.open_post(stage.stateful)
        if job.clock.sleep_until(epoch.switch_ns):
            answer = job.tenure.ownership.answers[epoch.answer]
            post.arrivals.take_over(epoch.switch_ns, redo=job.index in answer.redone)
            mine["state"] = State.SERVING
            serve(job, stage, post, timers)


def _succeed(job: Employment) -> None:
    """Waits until whoever served the task runs no more; its open job ends with it."""
    before = int(job.roster.places["pid"][job.index])
    if before:
        while not is_ending(before) and not job.clock.ended:
            time.sleep(_LOOK_S)
        job.journal.close_open(before, JobStatus.LOST)
    job.roster.places["pid"][job.index] = os.getpid()
