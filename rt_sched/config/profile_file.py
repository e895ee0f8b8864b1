"""Profile files: execution times that were measured somewhere, in place of those of a system file.

A system file names one by its key `profile`; every command that reads the system then uses its times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.table import Key, Spec, Table, mapping_entries, mapping_of
from rt_sched.config.value import list_of
from rt_sched.config.yaml_file import root_of_file
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import ExecutionTime
from rt_sched.units import ceil_int, floor_int

PROFILE_VERSION = 1

_TIMES = Spec(
    "measured_times",
    "measured times",
    (
        Key("bcet", quantities.positive_time, "Best case, by the rule.", required=True, example="bcet: 1ms"),
        Key("wcet", quantities.positive_time, "Worst case, by the rule.", required=True, example="wcet: 3ms"),
        Key("profile", list_of(quantities.POSITIVE_TIME, 2), "Quantiles at equal steps.", required=True,
            example="profile: [1ms, 2ms, 3ms]"),
    ),
    other="x-",
)  # fmt: skip
PROFILE = Spec(
    "profile",
    "a profile file",
    (
        Key("rt_sched_profile", {"const": PROFILE_VERSION}, "Version of the format of profile files.", required=True,
            example=f"rt_sched_profile: {PROFILE_VERSION}"),
        Key("system", fields.name, "The system that was measured.", "", required=True, example="system: quad_orin"),
        Key("measured_on", fields.text, "The machine.", "", required=True, example="measured_on: my laptop"),
        Key("rule", fields.text, "How bcet and wcet follow from what was measured.", ""),
        Key("tasks", mapping_of({"$spec": _TIMES}, 1), "Times of each task.", required=True,
            example="tasks: {detect: {bcet: 1ms, wcet: 3ms, profile: [1ms, 3ms]}}"),
    ),
    other="x-",
)  # fmt: skip


def read_profile(
    node: Node | None, base_dir: Path, tasks: Mapping[str, object], problems: Problems
) -> dict[str, ExecutionTime]:
    """Task -> its measured times, from the file that `node` names; `tasks`: those that the system has.

    A file that cannot be read is a problem of `node`; what is wrong in it is raised by ConfigError with its own lines.
    """
    if node is None:
        return {}
    name = fields.text(node, problems)
    if name is None:
        return {}
    path = base_dir / name
    if not path.is_file():
        problems.add(node, "the profile file cannot be read: there is no such file")
        return {}
    inside = Problems(str(path))
    found = _read(root_of_file(path, "profile file", inside), tasks, inside)
    inside.raise_if_any()
    return found


def _read(root: Node, tasks: Mapping[str, object], problems: Problems) -> dict[str, ExecutionTime]:
    top = Table(root, PROFILE, problems)
    version = top.get("rt_sched_profile")
    if version is not None and fields.plain_number(version) != PROFILE_VERSION:
        problems.add(version, f"this program reads version {PROFILE_VERSION} of profile files, not {version.shown}")
    top.read("system")
    origin = f"measured on {top.read('measured_on')}"
    node = top.get("tasks")
    found = {}
    for name, entry in ({} if node is None else mapping_entries(node, "tasks", problems)).items():
        if name not in tasks:
            problems.add(entry.key, unknown("task", name, tasks))
            continue
        times = _read_times(Table(entry.value, _TIMES, problems), origin)
        if times is not None:
            found[name] = times
    return found


def _read_times(table: Table, origin: str) -> ExecutionTime | None:
    bcet, wcet, node = table.read("bcet"), table.read("wcet"), table.get("profile")
    if bcet is None or wcet is None or node is None:
        return None
    items = fields.elements(node, "the profile", table.problems) or ()
    quantiles = [found for item in items if (found := quantities.positive_time(item, table.problems)) is not None]
    if len(items) < 2 and node.is_sequence:
        table.problems.add(node, "the profile has two quantiles at least, such as profile: [1ms, 3ms]")
    if len(quantiles) < len(items) or len(items) < 2:
        return None
    rounded = tuple(max(1, floor_int(one)) for one in quantiles)
    bcet_ns, wcet_ns = max(1, floor_int(bcet)), ceil_int(wcet)
    if list(rounded) != sorted(rounded) or not bcet_ns <= rounded[0] <= rounded[-1] <= wcet_ns:
        table.problems.add(node, "quantiles ascend, from bcet at least to wcet at most")
        return None
    return ExecutionTime(bcet_ns, wcet_ns, (bcet_ns, *rounded[1:]), origin)
