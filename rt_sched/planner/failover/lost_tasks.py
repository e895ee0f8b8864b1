"""Which tasks of lost devices have to go on, and which are welcome to."""

from __future__ import annotations

from rt_sched.model import Criticality
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.places import Places


def lost_tasks(ground: Ground, places: Places) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lost tasks that must go on, and those that are welcome to, each after what it reads.

    What leads to the arbiter must; without a safety concept, what lies on a chain. Tasks on other chains with limits,
    and those with an integrity level, are welcome. What nothing would activate any more stays lost.
    """
    lost = [name for name in ground.tasks if places.is_lost(name) and name not in places.starved]
    safety = ground.system.safety
    if safety is not None:
        must = _leading_to(ground, safety.arbiter)
    else:
        must = {name for chain in ground.system.chains for name in chain.path}
    limited = {
        name
        for chain in ground.system.chains
        if chain.max_reaction_ns or chain.max_latency_ns or chain.max_data_age_ns
        for name in chain.path
    }
    order = _in_order(ground, lost)
    needed = tuple(name for name in order if name in must)
    rest = (name for name in order if name not in must)
    welcome = tuple(n for n in rest if n in limited or ground.tasks[n].criticality is not Criticality.QM)
    return needed, welcome


def _leading_to(ground: Ground, task: str) -> set[str]:
    found, open_names = {task}, [task]
    while open_names:
        for source in ground.feeders[open_names.pop()]:
            if source in ground.tasks and source not in found:
                found.add(source)
                open_names.append(source)
    return found


def _in_order(ground: Ground, tasks: list[str]) -> list[str]:
    """Each task after those that it reads; where they read each other, in the order of the system."""
    done: dict[str, None] = {}
    left = list(tasks)
    while left:
        free = [name for name in left if not any(s in left and s != name for s in ground.feeders[name])]
        free = free or [name for name in left if not any(s in left for s in ground.activating(name))] or left[:1]
        done.update(dict.fromkeys(free))
        left = [name for name in left if name not in done]
    return list(done)
