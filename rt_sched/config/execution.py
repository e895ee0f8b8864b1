"""The keys `execution`, `suspensions`, `preemption_points`, `budget` and `miss_limit` of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from rt_sched import units
from rt_sched.config import fields, quantities
from rt_sched.config.devices import Devices
from rt_sched.config.placement import read_pe
from rt_sched.config.problems import Problems, lacking
from rt_sched.config.table import Key, Spec, Table
from rt_sched.config.value import list_of, value
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Budget, ExecutionTime, OverrunAction, PEKind, Suspension
from rt_sched.units import format_ns

_NO_PROFILE: tuple[Fraction, ...] = ()

EXECUTION = Spec(
    "execution",
    "an execution time",
    (
        Key(
            "bcet",
            quantities.positive_time,
            "Best case.",
            default_text="the profile's first value, else the worst case",
        ),
        Key("wcet", quantities.positive_time, "Worst case.", required=True, example="wcet: 3ms"),
        Key(
            "profile",
            list_of(quantities.POSITIVE_TIME, 2),
            "Quantiles from probability 0 to 1 in equal steps.",
            default_text="evenly from best to worst case",
        ),
        Key("memory", quantities.time_up_or_zero, "Part of every demand that no frequency changes.", 0, "0ns"),
        Key(
            "at", quantities.frequency, "Frequency at which the times hold.", default_text="that at the start of a run"
        ),
        Key("wcet_lo", quantities.time_down, "C_LO: what a HI task is assumed to need in LO mode."),
        Key("origin", fields.text, "Where the figures come from.", "declared", "declared"),
    ),
)
_KINDS = tuple(kind.value for kind in PEKind)
#: Of one kind of processing element, or of each kind by its name.
EXECUTION_SCHEMA = {
    "anyOf": [
        {"$spec": EXECUTION},
        {
            "type": "object",
            "properties": {kind: {"$spec": EXECUTION} for kind in _KINDS},
            "additionalProperties": False,
        },
    ]
}

SUSPENSION = Spec(
    "suspension",
    "a suspension",
    (
        Key(
            "after", quantities.time_down, "Executed time after which a job waits.", required=True, example="after: 2ms"
        ),
        Key("min", quantities.time_up_or_zero, "Shortest wait.", 0, "0ns"),
        Key("max", quantities.time_down, "Longest wait.", required=True, example="max: 5ms"),
        Key("on", fields.text, "Element that serves the wait, such as orin.gpu; the analysis then derives it."),
        Key("service", quantities.time_up_or_zero, "Longest time on that element, without its queue."),
    ),
)

BUDGET = Spec(
    "budget",
    "a budget",
    (
        Key(
            "limit",
            quantities.time_down,
            "Execution time that a job may use.",
            default_text="on a table, that of its entry",
        ),
        Key("granularity", quantities.time_down, "Steps in which it is enforced.", 1, "1ns"),
        Key(
            "on_overrun",
            fields.choice(OverrunAction, "overrun action"),
            "What happens when it is used up.",
            default_text="log",
        ),
        Key("degraded", quantities.time_down, "What the next job needs at most after degrade."),
    ),
)
BUDGET_SCHEMA = {"anyOf": [quantities.POSITIVE_TIME, {"$spec": BUDGET}]}


MAX_WINDOW = 100_000
_MISS_LIMIT = r"\s*([0-9]{1,6})\s+of\s+([0-9]{1,6})\s*"


@value({"type": "string", "pattern": f"^{_MISS_LIMIT}$"})
def miss_limit(node: Node, problems: Problems) -> tuple[int, int] | None:
    """(m, k): at most m deadline misses among any k consecutive jobs."""
    match = re.fullmatch(_MISS_LIMIT, node.text, re.ASCII) if node.is_scalar else None
    if match is None:
        problems.add(node, f"expected a miss limit such as 1 of 10, found {node.shown}")
        return None
    misses, window = int(match[1]), int(match[2])
    if misses < window <= MAX_WINDOW:
        return misses, window
    problems.add(node, f"{node.shown} limits nothing; write fewer misses than jobs, of at most {MAX_WINDOW} jobs")
    return None


def read_executions(node: Node, problems: Problems) -> dict[PEKind | None, ExecutionTime]:
    """Execution time by kind of processing element; under None where the file gives one without a kind.

    Empty when that cannot be told.
    """
    if node.is_mapping and any(key in _KINDS for key in node.entries):
        found: dict[PEKind | None, ExecutionTime] = {}
        all_known = True
        for key, entry in node.entries.items():
            if key not in _KINDS:
                problems.add(entry.key, lacking("an execution time by kind", "kind of processing element", key, _KINDS))
                all_known = False
                continue
            time = _read_execution(entry.value, problems)
            if time is not None:
                found[PEKind(key)] = time
        return found if all_known else {}
    time = _read_execution(node, problems)
    return {} if time is None else {None: time}


def _read_execution(node: Node, problems: Problems) -> ExecutionTime | None:
    """The execution time with bcet rounded down and all else up; None after a problem that leaves it unknown.

    Without `bcet` the best case is the profile's first value, or the worst case. Without `profile` the demand is
    spread evenly between both.
    """
    table = Table(node, EXECUTION, problems)
    wcet_node, bcet_node, profile_node = table.get("wcet"), table.get("bcet"), table.get("profile")
    wcet: Fraction | None = table.read("wcet")
    rest = {key: table.read(key) for key in ("memory", "at", "wcet_lo", "origin")}
    if wcet_node is None or wcet is None:
        return None
    profile = _NO_PROFILE if profile_node is None else _read_profile(profile_node, problems) or _NO_PROFILE
    bcet: Fraction = table.read("bcet") or (profile[0] if profile else wcet)
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
    _check_parts(table, bcet, wcet, wcet_node)
    bcet_ns = units.floor_int(bcet)
    steps = profile[1:] if profile else (wcet,)
    return ExecutionTime(
        bcet_ns,
        units.ceil_int(wcet),
        (bcet_ns, *map(units.ceil_int, steps)),
        rest["origin"],
        memory_ns=rest["memory"],
        frequency_hz=rest["at"],
        wcet_lo_ns=rest["wcet_lo"],
    )


def _check_parts(table: Table, bcet: Fraction, wcet: Fraction, wcet_node: Node) -> None:
    memory_node, low_node = table.get("memory"), table.get("wcet_lo")
    if memory_node is not None and table.read("memory") > bcet:
        best = format_ns(units.floor_int(bcet))
        table.problems.add(memory_node, f"the memory-bound part {memory_node.shown} is above the best case {best}")
    low: int | None = table.read("wcet_lo")
    if low_node is not None and low is not None and low > wcet:
        table.problems.add(low_node, f"C_LO {low_node.shown} is above the worst case {wcet_node.shown}")


def _read_profile(node: Node, problems: Problems) -> tuple[Fraction, ...] | None:
    items = fields.elements(node, "a profile", problems)
    if items is None:
        return None
    if len(items) < 2:
        problems.add(node, "a profile has at least two values: the quantiles from probability 0 to 1 in equal steps")
        return None
    values = [quantities.positive_time(item, problems) for item in items]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    for index, item in enumerate(items[1:], start=1):
        if known[index] < known[index - 1]:
            problems.add(item, f"the profile falls here: {items[index - 1].shown} is followed by {item.shown}")
            return None
    return tuple(known)


def read_suspensions(
    node: Node | None, wcet_ns: int | None, devices: Devices, problems: Problems
) -> tuple[Suspension, ...]:
    """The waits of a job in order of executed time. `wcet_ns`: None when not known."""
    found: list[Suspension] = []
    for item in () if node is None else fields.elements(node, "suspensions", problems) or ():
        table = Table(item, SUSPENSION, problems)
        after, longest = table.read("after"), table.read("max")
        if after is None or longest is None:
            continue
        on, service_ns = _read_server(table, devices)
        wait = Suspension(after, table.read("min"), longest, on, service_ns)
        if service_ns is not None and service_ns > longest:
            alone = f"{format_ns(service_ns)} on {'.'.join(on or ())} alone"
            problems.add(item, f"{alone} are longer than the longest wait {format_ns(longest)}")
        elif wait.min_ns > wait.max_ns:
            problems.add(
                item, f"the shortest wait {format_ns(wait.min_ns)} is above the longest {format_ns(wait.max_ns)}"
            )
        elif found and after <= found[-1].after_ns:
            problems.add(item, "suspensions stand in order of 'after', each at another executed time")
        elif wcet_ns is not None and after >= wcet_ns:
            problems.add(
                item, f"no job executes longer than {format_ns(wcet_ns)}, so none waits after {format_ns(after)}"
            )
        else:
            found.append(wait)
    return tuple(found)


def _read_server(table: Table, devices: Devices) -> tuple[tuple[str, str] | None, int | None]:
    """Who serves a wait, and for how long at most; both or neither."""
    node, service_ns = table.get("on"), table.read("service")
    if node is None:
        table.refuse("service", "'service' belongs to an element; name it, such as on: orin.gpu")
        return None, None
    pe = read_pe(node, devices, table.problems)
    table.need("service", "service: 3ms")
    if service_ns is None or devices.element(pe) is None:
        return None, None
    return pe, max(1, service_ns)


def read_preemption_points(node: Node | None, wcet_ns: int | None, problems: Problems) -> tuple[int, ...]:
    """Executed times at which a job may be preempted, ascending."""
    found: list[int] = []
    for item in () if node is None else fields.elements(node, "preemption_points", problems) or ():
        point = quantities.time_down(item, problems)
        if point is None:
            continue
        if found and point <= found[-1]:
            problems.add(item, "preemption points ascend")
        elif wcet_ns is not None and point >= wcet_ns:
            problems.add(item, f"no job executes longer than {format_ns(wcet_ns)}, so {item.shown} is never reached")
        else:
            found.append(point)
    return tuple(found)


def read_budget(node: Node | None, on_table: bool, problems: Problems) -> tuple[int | None, Budget]:
    """The budget, None without one, and how it is enforced: short as a time, or as a mapping.

    `on_table`: the task runs on a table, whose entries are budgets already.
    """
    if node is None:
        return None, Budget()
    if not node.is_mapping:
        return quantities.time_down(node, problems), Budget()
    table = Table(node, BUDGET, problems)
    if not on_table:
        table.need("limit", "limit: 5ms")
    action: OverrunAction | None = table.read("on_overrun")
    degraded: int | None = table.read("degraded")
    if action is OverrunAction.DEGRADE and table.get("degraded") is None:
        problems.add(table.place("on_overrun"), "degrade needs what the next job does at most, such as degraded: 1ms")
    elif action is not OverrunAction.DEGRADE and action is not None:
        table.refuse("degraded", "'degraded' belongs to on_overrun: degrade")
    return table.read("limit"), Budget(table.read("granularity"), action or OverrunAction.LOG, degraded)


def execution_on(kind: PEKind | None, times: Mapping[PEKind | None, ExecutionTime]) -> ExecutionTime | None:
    """The time that holds on a kind of processing element."""
    return times.get(kind) or times.get(None)
