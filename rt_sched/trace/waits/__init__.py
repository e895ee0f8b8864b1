"""What every job and every frame of a trace waited for: parts of time that add up exactly.

`job_parts` splits a job from its arrival to its end, `journey` a frame from its capture to the output that it led to.
Both need the rules of the run, which `Schedule` takes from the trace.
"""

from rt_sched.trace.waits.journey import Journey, Step, journey
from rt_sched.trace.waits.kinds import Cause, Part, PartKind, Reason
from rt_sched.trace.waits.messages import Fate, FateKind
from rt_sched.trace.waits.parts import job_parts
from rt_sched.trace.waits.schedule import Schedule

__all__ = [
    "Cause",
    "Fate",
    "FateKind",
    "Journey",
    "Part",
    "PartKind",
    "Reason",
    "Schedule",
    "Step",
    "job_parts",
    "journey",
]
