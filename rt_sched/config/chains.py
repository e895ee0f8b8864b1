"""The section `chains`: paths through tasks, from a sensor or a timed task, and their limits."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, listed, quoted, unknown
from rt_sched.config.table import Key, Spec, Table, named_entries
from rt_sched.config.tasks import TaskDraft
from rt_sched.config.value import list_of
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import CauseEffectChain, Communication, OnMessage, Periodic, Sensor, Sporadic

CHAIN = Spec(
    "chain",
    "a chain",
    (
        Key(
            "path",
            list_of(fields.WORD, 2),
            "A sensor or a timed task, then tasks.",
            required=True,
            example="path: [front_wide, detect, brake]",
        ),
        Key("max_reaction", quantities.time_down, "Limit from an event to the output that reflects it."),
        Key("max_latency", quantities.time_down, "Limit from a capture stamp, or a read, to the output that uses it."),
        Key("max_data_age", quantities.time_down, "Limit of the age of the data behind an output."),
        Key(
            "communication",
            fields.choice(Communication, "communication"),
            "Of those of its tasks that do not say their own.",
            Communication.IMPLICIT,
            "implicit",
        ),
    ),
)


def read_chains(
    node: Node | None, sensors: Mapping[str, Sensor], tasks: Mapping[str, TaskDraft], problems: Problems
) -> tuple[CauseEffectChain, ...]:
    """The chains in file order, each checked to be connected."""
    if node is None:
        return ()
    named = named_entries(node, "chains", problems)
    return tuple(_read_chain(name, entry.value, sensors, tasks, problems) for name, entry in named)


def _read_chain(
    name: str, node: Node, sensors: Mapping[str, Sensor], tasks: Mapping[str, TaskDraft], problems: Problems
) -> CauseEffectChain:
    table = Table(node, CHAIN, problems)
    path_node = table.get("path")
    path = _read_path(path_node, sensors, tasks, problems) if path_node else ()
    return CauseEffectChain(
        name=name,
        path=path,
        max_reaction_ns=table.read("max_reaction"),
        max_latency_ns=table.read("max_latency"),
        max_data_age_ns=table.read("max_data_age"),
        communication=table.read("communication"),
    )


def _read_path(
    node: Node, sensors: Mapping[str, Sensor], tasks: Mapping[str, TaskDraft], problems: Problems
) -> tuple[str, ...]:
    items = fields.elements(node, "a path", problems)
    if items is None:
        return ()
    if len(items) < 2:
        problems.add(node, "a path has a sensor or a timed task, and at least one task more")
        return ()
    names = [fields.text(item, problems) or "" for item in items]
    for index, (item, name) in enumerate(zip(items, names, strict=True)):
        if index == 0 and name:
            _check_head(name, item, sensors, tasks, problems)
        elif name and name not in tasks:
            hint = "is a sensor; only the first of a path may be one" if name in sensors else None
            problems.add(item, f"{quoted(name)} {hint}" if hint else unknown("task", name, tasks))
        elif name and name in names[:index]:
            problems.add(item, f"{quoted(name)} stands twice in this path")
        elif name and names[index - 1] in {**sensors, **tasks}:
            _check_step(names[index - 1], name, item, sensors, tasks, problems)
    return tuple(names)


def _check_head(
    name: str, item: Node, sensors: Mapping[str, Sensor], tasks: Mapping[str, TaskDraft], problems: Problems
) -> None:
    """Report a first member that is neither a sensor nor a task that reads the outside world by the clock."""
    if name in sensors:
        return
    timed = [task for task, draft in tasks.items() if isinstance(draft.activation, Periodic | Sporadic)]
    if name not in tasks:
        problems.add(item, unknown("sensor or timed task", name, [*sensors, *timed]))
    elif isinstance(tasks[name].activation, OnMessage):
        known = listed([*sensors, *timed])
        problems.add(item, f"{quoted(name)} is activated by messages; a path starts at a sensor or timed task: {known}")


def _check_step(
    before: str,
    name: str,
    item: Node,
    sensors: Mapping[str, Sensor],
    tasks: Mapping[str, TaskDraft],
    problems: Problems,
) -> None:
    """Report that `name` does not read `before`, unless one of its inputs is wrong anyway."""
    feeding = list(dict.fromkeys(draft.source for draft in tasks[name].inputs))
    is_known = tasks[name].is_readable and all(source in sensors or source in tasks for source in feeding)
    if is_known and before not in feeding:
        problems.add(item, f"{name} has no input from {before}; its inputs come from: {listed(feeding)}")
