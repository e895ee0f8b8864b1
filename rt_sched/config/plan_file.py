"""Plan files: text in, a Plan for a system out, or every mistake with line and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rt_sched.config import fields, quantities
from rt_sched.config.loader import POLICIES
from rt_sched.config.plan_takeovers import PLACEMENT, TAKEOVERS, Names, read_placements, read_takeovers
from rt_sched.config.plan_text import PLAN_VERSION, system_sha256
from rt_sched.config.problems import Problems, listed, unknown
from rt_sched.config.table import Key, Spec, Table, mapping_entries, mapping_of
from rt_sched.config.value import list_of
from rt_sched.config.yaml_file import root_of_file
from rt_sched.config.yaml_nodes import Node
from rt_sched.errors import ConfigError
from rt_sched.model import Plan, Policy, Processor, System

_PROCESSOR_NAME = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)(?:\.([0-9]{1,4})|\[([0-9]{1,4})-([0-9]{1,4})\])")

PROCESSOR = Spec(
    "processor",
    "a processor",
    (
        Key(
            "policy",
            fields.choice(Policy, "policy"),
            "How it orders its jobs.",
            required=True,
            example="policy: fixed_priority",
        ),
        Key(
            "preemptive",
            fields.boolean,
            "Whether a better job may take a core.",
            required=True,
            example="preemptive: true",
        ),
    ),
)
PLAN = Spec(
    "plan",
    "a plan file",
    (
        Key(
            "rt_sched_plan",
            {"const": PLAN_VERSION},
            "Version of the format of plan files.",
            required=True,
            example=f"rt_sched_plan: {PLAN_VERSION}",
        ),
        Key("system", fields.name, "The system it was made for.", "", required=True, example="system: quad_orin"),
        Key("system_sha256", fields.text, "Hash of that system, to tell whether it has changed since.", ""),
        Key("policy", fields.one_of(POLICIES, "policy"), "How priorities were assigned.", POLICIES[0], POLICIES[0]),
        Key(
            "processors",
            mapping_of({"$spec": PROCESSOR}, 1),
            "Every ready queue, device.element.core or device.element[first-last].",
            required=True,
            example="processors: {orin-1.cpu.0: {policy: fixed_priority, preemptive: true}}",
        ),
        Key(
            "placements",
            mapping_of({"$spec": PLACEMENT}, 1),
            "Where each task runs.",
            required=True,
            example="placements: {detect: {processor: orin-1.cpu.0, level: 0}}",
        ),
        Key(
            "merged",
            list_of(fields.texts.schema, 0),
            "Groups of tasks that run as one job each, in their order.",
            default_text="none",
        ),
        Key(
            "offsets",
            mapping_of(quantities.NON_NEGATIVE_TIME),
            "Offsets of timed tasks, in place of those of the system file.",
            default_text="those of the file",
        ),
        Key("takeovers", TAKEOVERS, "What changes when something is lost.", default_text="none"),
    ),
    other="x-",
)


Groups = tuple[tuple[str, ...], ...]
#: The system in which groups of tasks are one, and every reason why they cannot be, beginning with "merged a+b".
Merge = Callable[[System, Groups], tuple[System, list[str]]]


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan as read, for `system`, in which merged tasks are one.

    `made_for_another`: whether the system has changed since the plan was made. `places`: where tasks, processors and
    takeovers stand, by the words with which a problem with them begins.
    """

    file: str
    plan: Plan
    system: System
    made_for_another: bool
    places: Mapping[str, Node]

    def refusal(self, reasons: list[str]) -> ConfigError:
        """The reasons of `check_plan` why the plan does not fit, each at its line where it names what stands there."""
        problems = Problems(self.file)
        for reason in reasons:
            place = next(
                (node for words, node in self.places.items() if re.match(rf"{re.escape(words)}\b", reason)), None
            )
            if place is None:
                problems.add_at(0, 0, "", reason)
            else:
                problems.add(place, reason)
        return problems.error()


def without_merging(system: System, groups: Groups) -> tuple[System, list[str]]:
    """For whoever reads plans of single tasks only."""
    return system, [f"merged {'+'.join(group)}: plans with merged tasks are not read here" for group in groups]


def load_plan_file(path: str | Path, system: System, merge: Merge = without_merging) -> PlanFile:
    """The plan in the file at `path`, for `system`; whether it fits is for `check_plan` to say.

    Raises ConfigError with every problem found, each with line, column, value and valid choices.
    """
    problems = Problems(str(path))
    root = root_of_file(Path(path), "plan file", problems)
    found = _read(root, system, str(path), merge, problems)
    problems.raise_if_any()
    return found


def _read(root: Node, system: System, file: str, merge: Merge, problems: Problems) -> PlanFile:
    top = Table(root, PLAN, problems)
    version = top.get("rt_sched_plan")
    if version is not None and fields.plain_number(version) != PLAN_VERSION:
        problems.add(version, f"this program reads version {PLAN_VERSION} of plan files, not {version.shown}")
    name, digest = top.read("system"), top.read("system_sha256")
    system_node = top.get("system")
    if system_node is not None and name and name != system.name:
        problems.add(system_node, f"the plan was made for system {name}, not for {system.name}")
    made_for_another = digest != system_sha256(system)
    merged = _read_merged(top.get("merged"), problems)
    system, reasons = merge(system, tuple(merged))
    for reason in reasons:
        where = next((node for group, node in merged.items() if reason.startswith(f"merged {'+'.join(group)}:")), root)
        problems.add(where, reason)
    if reasons:
        problems.raise_if_any()  # what follows would speak of the merged tasks
    processors = _read_processors(top.get("processors"), system, problems)
    names = Names(
        {task.name: index for index, task in enumerate(system.tasks)},
        {processor.name: index for index, (processor, _) in enumerate(processors)},
    )
    placements_node = top.get("placements")
    placements = read_placements(placements_node, "placements", names, problems)
    written = placements_node.entries if placements_node is not None and placements_node.is_mapping else {}
    missing = [task for task in names.tasks if task not in written]
    if missing and placements_node is not None:
        problems.add(placements_node, f"not placed: {listed(missing)}")
    takeovers = read_takeovers(top.get("takeovers"), names, problems)
    offsets = _read_offsets(top.get("offsets"), names, problems)
    plan = Plan(
        system.name,
        top.read("policy"),
        tuple(processor for processor, _ in processors),
        tuple(placements[task][0] for task in names.tasks if task in placements),
        tuple(takeover for takeover, _ in takeovers.values()),
        tuple((task, offset_ns) for task, (offset_ns, _) in offsets.items()),
        tuple(merged),
    )
    places = {f"processor {processor.name}": node for processor, node in processors}
    places |= {f"task {task}": node for task, (_, node) in placements.items()}
    places |= {f"offset of {task}": node for task, (_, node) in offsets.items()}
    places |= {f"takeover for {', '.join(losses)}": node for losses, (_, node) in takeovers.items()}
    return PlanFile(file, plan, system, made_for_another, places)


def _read_merged(node: Node | None, problems: Problems) -> dict[tuple[str, ...], Node]:
    """Group of tasks -> where it stands."""
    items = () if node is None else fields.elements(node, "merged", problems) or ()
    return {group: item for item in items if (group := fields.texts(item, problems))}


def _read_offsets(node: Node | None, names: Names, problems: Problems) -> dict[str, tuple[int, Node]]:
    """Task -> its offset and where its name stands."""
    found = {}
    for task, entry in mapping_entries(node, "offsets", problems).items() if node is not None else ():
        offset_ns = quantities.time_up_or_zero(entry.value, problems)
        if task not in names.tasks:
            problems.add(entry.key, unknown("task", task, names.tasks))
        elif offset_ns is not None:
            found[task] = offset_ns, entry.key
    return found


def _read_processors(node: Node | None, system: System, problems: Problems) -> list[tuple[Processor, Node]]:
    elements = {(device.name, pe.name) for device in system.devices for pe in device.processing_elements}
    known = [".".join(element) for element in sorted(elements)]
    found = []
    for name, entry in mapping_entries(node, "processors", problems).items() if node is not None else ():
        table = Table(entry.value, PROCESSOR, problems)
        policy, preemptive = table.read("policy"), table.read("preemptive")
        match = _PROCESSOR_NAME.fullmatch(name)
        if match is None:
            problems.add(entry.key, "a processor is named device.element.core, or device.element[first-last]")
        elif (match[1], match[2]) not in elements:
            problems.add(entry.key, unknown("processing element", f"{match[1]}.{match[2]}", known))
        else:
            first = int(match[3] or match[4])
            cores = int(match[5]) - first + 1 if match[5] else 1
            ordering = policy or Policy.FIXED_PRIORITY
            found.append((Processor(match[1], match[2], first, ordering, bool(preemptive), cores), entry.key))
    return found
