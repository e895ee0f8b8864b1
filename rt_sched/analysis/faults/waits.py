"""Waits inside jobs for elements that serve them, when something is lost and while a takeover comes into force.

A job that moves leaves its request behind: nothing says that the element drops it, and the task asks anew from its new
place beside it. So nothing is known of the queue of an element that such a task asks. What is asked of a lost element
is never served.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rt_sched import model
from rt_sched.analysis.faults.takeover_crossing import Crossing
from rt_sched.analysis.loads.resolve import ModeLoad, Place
from rt_sched.analysis.result import Verdict, WaitResult
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.waits import served_places, wait_results
from rt_sched.lowering.losses import lost_devices


def waits_after(
    mode: ModeLoad, bounds: Mapping[int, TaskBound], faults: Sequence[model.Fault]
) -> tuple[WaitResult, ...]:
    """The waits of what is left of a mode after these losses."""
    return wait_results(mode, bounds, _of_lost(mode, lost_devices(faults)))


def wait_problems(nominal: ModeLoad, one: Crossing, faults: Sequence[model.Fault]) -> list[str]:
    """Every wait that may be longer than declared under a takeover of `nominal`, or on its way there, with the reason.

    `faults`: all that it answers.
    """
    lost = _of_lost(one.across, lost_devices(faults))
    left = dict(_left_behind(nominal, one))
    across = wait_results(one.across, one.bounds, left | lost)
    return [
        *(f"{_wait(wait)}: {wait.reason}" for wait in _late(waits_after(one.after, one.steady, faults))),
        *(f"{_wait(wait)} at the takeover: {wait.reason}" for wait in _late(across)),
    ]


def _of_lost(mode: ModeLoad, devices: Collection[str]) -> dict[Place, str]:
    return {place: f"device {place[0]} is lost" for place in served_places(mode) if place[0] in devices}


def _left_behind(nominal: ModeLoad, one: Crossing) -> Iterator[tuple[Place, str]]:
    for index, task in enumerate(nominal.system.tasks):
        homes = {mode.setup.tasks[index].processor for mode in (nominal, one.across, one.after)}
        if nominal.active[index] and len(homes) > 1:
            for wait in task.suspensions:
                if wait.on is not None:
                    yield wait.on, f"{task.name} moves, and what its last job had asked may still be in the queue"


def _wait(one: WaitResult) -> str:
    return f"wait of {one.task} for {one.element}"


def _late(waits: Sequence[WaitResult]) -> list[WaitResult]:
    return [one for one in waits if one.verdict is not Verdict.SCHEDULABLE]
