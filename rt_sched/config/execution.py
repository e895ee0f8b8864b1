"""The key `execution` of a task: best case, worst case and what lies between."""

from __future__ import annotations

from fractions import Fraction

from rt_sched import units
from rt_sched.config import fields
from rt_sched.config.fields import Table
from rt_sched.config.problems import Problems
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import ExecutionTime

_EXECUTION_KEYS = ("bcet", "wcet", "profile", "origin")


def read_execution(node: Node, problems: Problems) -> ExecutionTime | None:
    """The execution time with bcet rounded down and all else up; None after a problem that leaves it unknown.

    Without `bcet` the best case is the profile's first value, or the worst case. Without `profile` the demand is
    spread evenly between both.
    """
    table = Table(node, "an execution time", _EXECUTION_KEYS, problems)
    wcet_node = table.need("wcet", "wcet: 3ms")
    wcet = fields.positive_time(wcet_node, problems) if wcet_node else None
    origin = table.read("origin", fields.text, "declared")
    if wcet_node is None or wcet is None:
        return None
    no_profile: tuple[Fraction, ...] = ()
    profile = table.read("profile", _read_profile, no_profile)
    bcet = table.read("bcet", fields.positive_time, profile[0] if profile else wcet)
    bcet_node = table.get("bcet")
    profile_node = table.get("profile")
    if bcet_node is not None and bcet > wcet:
        problems.add(bcet_node, f"the best case {bcet_node.shown} is above the worst case {wcet_node.shown}")
        return None
    if profile_node is not None and profile:
        if profile[-1] > wcet:
            problems.add(
                profile_node.items[-1],
                f"the profile ends at {profile_node.items[-1].shown}, above the worst case {wcet_node.shown}",
            )
            return None
        if profile[0] != bcet and bcet_node is not None:
            problems.add(
                profile_node.items[0],
                f"the profile starts at {profile_node.items[0].shown}, not at the best case {bcet_node.shown}",
            )
            return None
    bcet_ns = units.floor_int(bcet)
    rest = profile[1:] if profile else (wcet,)
    return ExecutionTime(bcet_ns, units.ceil_int(wcet), (bcet_ns, *map(units.ceil_int, rest)), origin)


def _read_profile(node: Node, problems: Problems) -> tuple[Fraction, ...] | None:
    items = fields.elements(node, "a profile", problems)
    if items is None:
        return None
    if len(items) < 2:
        problems.add(node, "a profile has at least two values: the quantiles from probability 0 to 1 in equal steps")
        return None
    values = [fields.positive_time(item, problems) for item in items]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    for index, item in enumerate(items[1:], start=1):
        if known[index] < known[index - 1]:
            problems.add(item, f"the profile falls here: {items[index - 1].shown} is followed by {item.shown}")
            return None
    return tuple(known)
