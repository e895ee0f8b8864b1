"""The section `resources`, and the critical sections in which tasks hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.table import Key, Spec, Table, named_entries
from rt_sched.config.value import list_of
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import CriticalSection, PEKind, Protocol, SharedResource, Suspension
from rt_sched.units import format_ns

RESOURCE = Spec(
    "resource",
    "a resource",
    (
        Key(
            "protocol",
            fields.choice(Protocol, "protocol"),
            "How it is locked.",
            Protocol.PRIORITY_INHERITANCE,
            required=True,
            example="protocol: priority_inheritance",
        ),
    ),
)
SECTION = Spec(
    "critical_section",
    "a critical section",
    (
        Key("resource", fields.text, "What is held.", "", required=True, example="resource: bus"),
        Key("from", quantities.time_up_or_zero, "Executed time at which it is locked.", 0, "0ns"),
        Key("to", quantities.time_down, "Executed time at which it is unlocked.", required=True, example="to: 2ms"),
    ),
)
SECTIONS_SCHEMA = list_of({"$spec": SECTION})


@dataclass(frozen=True, slots=True)
class SectionUse:
    """One use of a resource: by whom, on which element of which kind, and where it stands."""

    task: str
    pe: tuple[str, str]
    kind: PEKind | None
    resource: str
    node: Node


def read_resources(node: Node | None, problems: Problems) -> dict[str, SharedResource]:
    """Name -> resource, in file order."""
    named = [] if node is None else named_entries(node, "resources", problems)
    return {
        name: SharedResource(name, Table(entry.value, RESOURCE, problems).read("protocol")) for name, entry in named
    }


def read_sections(
    node: Node | None,
    resources: Mapping[str, SharedResource],
    suspensions: Sequence[Suspension],
    wcet_ns: int | None,
    problems: Problems,
) -> tuple[tuple[CriticalSection, Node], ...]:
    """The critical sections of a task, properly nested, each with its place."""
    found: list[tuple[CriticalSection, Node]] = []
    for item in () if node is None else fields.elements(node, "critical_sections", problems) or ():
        table = Table(item, SECTION, problems)
        name: str = table.read("resource")
        name_node = table.get("resource")
        if name_node is not None and name and name not in resources:
            problems.add(name_node, unknown("resource", name, resources))
        end: int | None = table.read("to")
        if end is None:
            continue
        section = CriticalSection(name, table.read("from"), end)
        complaint = _complaint(section, [other for other, _ in found], suspensions, wcet_ns)
        if complaint is not None:
            problems.add(item, complaint)
        else:
            found.append((section, item))
    return tuple(found)


def _complaint(
    section: CriticalSection,
    earlier: Sequence[CriticalSection],
    suspensions: Sequence[Suspension],
    wcet_ns: int | None,
) -> str | None:
    start, end = format_ns(section.start_ns), format_ns(section.end_ns)
    if section.end_ns <= section.start_ns:
        return f"ends at {end}, not after its begin at {start}"
    if wcet_ns is not None and section.start_ns >= wcet_ns:
        return f"no job executes longer than {format_ns(wcet_ns)}, so none gets to {start}"
    for other in earlier:
        first, second = sorted((section, other), key=lambda one: (one.start_ns, -one.end_ns))
        if second.start_ns >= first.end_ns:
            continue
        span = f"{format_ns(other.start_ns)} to {format_ns(other.end_ns)}"
        if other.resource == section.resource:
            return f"{section.resource} is already held from {span}"
        if second.end_ns > first.end_ns:
            return f"overlaps the section on {other.resource} from {span}; sections nest, the inner one ends first"
    for wait in suspensions:
        if section.start_ns < wait.after_ns < section.end_ns:
            return f"holds {section.resource} while the job waits after {format_ns(wait.after_ns)}; unlock before that"
    return None


def check_uses(uses: Sequence[SectionUse], resources: Mapping[str, SharedResource], problems: Problems) -> None:
    """Report resources that are shared in ways their protocol, or the hardware, does not allow."""
    for name, resource in resources.items():
        mine = [use for use in uses if use.resource == name]
        first_of_kind = {use.kind: use.task for use in reversed(mine)}
        for use in mine:
            others = [task for kind, task in first_of_kind.items() if kind is not use.kind]
            if use.kind in (PEKind.GPU, PEKind.DLA) and others:
                reason = f"a job on a {use.kind.value} holds no lock of another kind of element"
                message = f"{reason}; {name} is used by {others[0]}"
                problems.add(use.node, message)
            elif resource.protocol is Protocol.PRIORITY_CEILING and use.pe != mine[0].pe:
                first = f"{mine[0].task} on {'.'.join(mine[0].pe)}"
                message = (
                    f"priority_ceiling protects within one element; {name} is used by {first}; use msrp across elements"
                )
                problems.add(use.node, message)
