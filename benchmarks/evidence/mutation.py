"""A mutation of the scheduling kernel, its files, and the pieces of its loop that mutations reorder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """In `rt_sched/<file>` the text `old`, which occurs once, becomes `new`; `rule` is the number in the semantics."""

    rule: int
    says: str
    file: str
    old: str
    new: str


CHANGES = """\
            if time["next_change"] < len(changes):
                make_changes(m)
"""
COMPLETIONS = """\
            if time["progress_min_ns"] == instant_ns or time["spins_ended"] > 0:
                completions(m)
"""
DELIVERIES = """\
            if instant_ns < time["horizon_ns"]:
                deliveries(m)
"""
EXPIRIES = "            expiries(m)\n"
ARRIVALS = "                arrivals(m)\n"
DISPATCH = "                dispatch(m)\n"
LOOP = f"""\
{CHANGES}{COMPLETIONS}{DELIVERIES}{EXPIRIES}\
            if instant_ns == time["horizon_ns"]:
                _end(m)
            else:
{ARRIVALS}{DISPATCH}"""

#: The same pieces among the phases that the horizon leaves out.
EXPIRIES_INSIDE = "                expiries(m)\n"
DELIVERIES_INSIDE = "                deliveries(m)\n"


def order(*phases: tuple[str, str]) -> str:
    """The loop over the phases with pieces replaced, one after the other."""
    loop = LOOP
    for old, new in phases:
        if loop.count(old) != 1:
            raise ValueError(f"not once in the loop: {old}")
        loop = loop.replace(old, new)
    return loop


DRAW = "kernels/draw.py"
MACHINE = "kernels/machine.py"
PHASES = "kernels/phases.py"
JOBS = "kernels/jobs.py"
DISPATCHING = "kernels/dispatch.py"
BUDGETS = "kernels/budgets.py"
SERVERS = "kernels/servers.py"
LOCKS = "kernels/locks.py"
PROGRAM = "kernels/program.py"
MESSAGES = "kernels/messages.py"
FREQUENCY = "kernels/frequency.py"
CHANGING = "kernels/changes.py"
TAKEOVERS = "kernels/takeovers.py"
SPANS = "kernels/spans.py"
BUILD = "sim/build.py"
