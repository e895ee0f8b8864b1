"""Processing elements: how their cores are scheduled, what switching costs, at which frequencies they run."""

from __future__ import annotations

from dataclasses import replace

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems
from rt_sched.config.table import Choice, Key, Spec, Table
from rt_sched.config.value import list_of
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import (
    OperatingPoint,
    PEKind,
    Policy,
    Preemption,
    ProcessingElement,
    Scheduling,
    TableEntry,
    TimeSlice,
)
from rt_sched.units import format_ns

MAX_CORES = 1024
MAX_ENTRIES = 100_000

_SLICE = Spec(
    "time_slice",
    "a slice",
    (
        Key(
            "length",
            quantities.time_down,
            "How long it lasts, switch cost included.",
            required=True,
            example="length: 6ms",
        ),
        Key("tasks", fields.texts, "The tasks that may run in it.", (), required=True, example="tasks: [detect]"),
        Key("switch_cost", quantities.time_up_or_zero, "What entering the slice costs, at its beginning.", 0, "0ns"),
    ),
)
_ENTRY = Spec(
    "table_entry",
    "a table entry",
    (
        Key(
            "at", quantities.time_up_or_zero, "Begin, from the begin of the cycle.", 0, required=True, example="at: 0ms"
        ),
        Key("length", quantities.time_down, "How long the task may run.", required=True, example="length: 5ms"),
        Key("task", fields.text, "The task that runs.", "", required=True, example="task: detect"),
    ),
)
_TABLE = Spec(
    "schedule_table",
    "a schedule table",
    (
        Key("cycle", quantities.time_down, "After which it repeats.", required=True, example="cycle: 100ms"),
        Key(
            "entries",
            list_of({"$spec": _ENTRY}),
            "What runs when, in order of time.",
            required=True,
            example="entries: [{at: 0ms, length: 5ms, task: detect}]",
        ),
    ),
)
_OPERATING_POINT = Spec(
    "operating_point",
    "an operating point",
    (
        Key("frequency", quantities.frequency, "Its clock.", required=True, example="frequency: 1.2GHz"),
        Key("voltage", quantities.voltage_uv, "Its supply voltage."),
    ),
)

_SETTINGS = (
    Key("policy", fields.choice(Policy, "policy"), "How ready jobs are ordered.", default_text="fixed_priority"),
    Key(
        "preemptive", fields.boolean, "Short for preemption: any, or none.", default_text="false for GPU, DLA and fifo"
    ),
    Key(
        "preemption",
        fields.choice(Preemption, "preemption"),
        "Where a better job may take the core.",
        default_text="any; for GPU, DLA and fifo none",
    ),
    Key(
        "scheduling",
        fields.choice(Scheduling, "scheduling"),
        "Which cores share a ready queue.",
        default_text="partitioned",
    ),
    Key("cluster_size", fields.integer(1, MAX_CORES), "Cores that share a ready queue when clustered."),
    Key("switch_cost", quantities.time_up_or_zero, "Before every start and resume of a job.", default_text="0ns"),
    Key("migration_cost", quantities.time_up_or_zero, "Added when a job resumes on another core.", default_text="0ns"),
    Key("slices", list_of({"$spec": _SLICE}), "The cycle of a time_sliced element."),
    Key("slack_sharing", fields.boolean, "Whether other tasks may use an idle slice.", default_text="false"),
    Key("table", {"$spec": _TABLE}, "The cycle of a table element."),
    Key("frequency", quantities.frequency, "At the start of a run.", default_text="the fastest operating point"),
    Key("operating_points", list_of({"$spec": _OPERATING_POINT}), "The frequencies it can run at."),
    Key("busy_power", quantities.power_mw, "What it draws when every core works, at the frequency above."),
    Key("idle_power", quantities.power_mw, "What it draws when no core works."),
)
_PREEMPTION = Choice(("preemptive", "preemption"))

PROCESSING_ELEMENT = Spec(
    "processing_element",
    "a processing element",
    (
        Key(
            "kind",
            fields.choice(PEKind, "kind of processing element"),
            "What it is.",
            required=True,
            example="kind: cpu",
        ),
        Key("cores", fields.integer(1, MAX_CORES), "Equal cores.", 1, "1"),
        *_SETTINGS,
    ),
    (_PREEMPTION,),
)
#: Elements of a chip have their kind and cores already.
ADJUSTMENT = Spec(
    "adjustment",
    "an adjustment",
    tuple(replace(key, default_text="as the chip has it") for key in _SETTINGS),
    (_PREEMPTION,),
)


def read_processing_element(name: str, node: Node, problems: Problems) -> ProcessingElement | None:
    """The element as written; None where its kind is not known."""
    table = Table(node, PROCESSING_ELEMENT, problems)
    kind: PEKind | None = table.read("kind")
    runs_to_end = kind in (PEKind.GPU, PEKind.DLA)
    base = ProcessingElement(
        name, kind or PEKind.CPU, table.read("cores"), Policy.FIXED_PRIORITY, preemptive=not runs_to_end
    )
    element = _with_settings(base, table)
    return None if kind is None else element


def read_adjustment(base: ProcessingElement, node: Node, problems: Problems) -> ProcessingElement:
    """The chip's element with what the file changes of it."""
    return _with_settings(base, Table(node, ADJUSTMENT, problems))


def _with_settings(base: ProcessingElement, table: Table) -> ProcessingElement:
    policy: Policy = table.read("policy") or base.policy
    preemption = _read_preemption(base, policy, table)
    scheduling, cluster_size = _read_scheduling(base, table)
    slices_node, table_node = table.get("slices"), table.get("table")
    slices = () if slices_node is None else _read_slices(slices_node, table.problems)
    cycle_ns, entries = (0, ()) if table_node is None else _read_table(table_node, base.cores, table.problems)
    _check_policy(base, policy, table)
    points, frequency_hz = _read_frequencies(base, table)
    switch_cost, migration_cost = table.read("switch_cost"), table.read("migration_cost")
    busy, idle = table.read("busy_power"), table.read("idle_power")
    if busy is not None and idle is not None and idle > busy:
        table.problems.add(table.place("idle_power"), "an element that idles draws no more than one that works")
    return replace(
        base,
        policy=policy,
        preemptive=preemption is not Preemption.NONE,
        points_only=preemption is Preemption.AT_POINTS,
        scheduling=scheduling,
        cluster_size=cluster_size,
        switch_cost_ns=base.switch_cost_ns if switch_cost is None else switch_cost,
        migration_cost_ns=base.migration_cost_ns if migration_cost is None else migration_cost,
        slices=slices,
        slack_sharing=bool(table.read("slack_sharing")),
        table=entries,
        table_cycle_ns=cycle_ns,
        frequency_hz=frequency_hz,
        operating_points=points,
        busy_power_mw=base.busy_power_mw if busy is None else busy,
        idle_power_mw=base.idle_power_mw if idle is None else idle,
    )


def _read_preemption(base: ProcessingElement, policy: Policy, table: Table) -> Preemption:
    key = table.chosen("preemptive", "preemption")
    given = table.read(key) if key else None
    if isinstance(given, bool):
        given = Preemption.ANY if given else Preemption.NONE
    runs_to_end = policy is Policy.FIFO or base.kind in (PEKind.GPU, PEKind.DLA)
    if key is not None and given is Preemption.ANY and runs_to_end:
        reason = "the policy fifo" if policy is Policy.FIFO else f"a {base.kind.value}"
        false = "false" if key == "preemptive" else "none"
        table.problems.add(table.place(key), f"{reason} runs each job to its end; leave {key} out or write {false}")
    if isinstance(given, Preemption):
        return given
    return Preemption.NONE if runs_to_end else base.preemption


def _read_scheduling(base: ProcessingElement, table: Table) -> tuple[Scheduling, int | None]:
    scheduling: Scheduling = table.read("scheduling") or base.scheduling
    size: int | None = table.read("cluster_size")
    size_node = table.get("cluster_size")
    if scheduling is not Scheduling.CLUSTERED:
        table.refuse("cluster_size", "a cluster size belongs to scheduling: clustered")
        return scheduling, None
    if size_node is None:
        table.problems.add(table.place("scheduling"), "clustered needs the cores of a cluster, such as cluster_size: 4")
    elif size is not None and base.cores % size:
        table.problems.add(size_node, f"{base.cores} cores do not divide into clusters of {size}")
    return scheduling, size


def _check_policy(base: ProcessingElement, policy: Policy, table: Table) -> None:
    """Report cycles without their policy, the policies without their cycle, and cycles on several cores."""
    for key, owner, example in (
        ("slices", Policy.TIME_SLICED, "slices: [{length: 5ms, tasks: [detect]}]"),
        ("table", Policy.TABLE, "table: {cycle: 100ms, entries: [{at: 0ms, length: 5ms, task: detect}]}"),
    ):
        if policy is not owner:
            table.refuse(key, f"{key!r} belongs to policy: {owner.value}")
        elif table.get(key) is None:
            table.problems.add(table.node, f"policy: {owner.value} needs the key {key!r}, such as {example}")
        if policy is owner is Policy.TIME_SLICED and base.cores > 1:
            table.problems.add(
                table.place("policy"),
                f"policy: {owner.value} schedules one core, this element has {base.cores}; write one element per core",
            )
    if policy is not Policy.TIME_SLICED:
        table.refuse("slack_sharing", f"'slack_sharing' belongs to policy: {Policy.TIME_SLICED.value}")


def _read_slices(node: Node, problems: Problems) -> tuple[TimeSlice, ...]:
    slices = []
    for item in _items(node, "slices", problems):
        table = Table(item, _SLICE, problems)
        length, cost = table.read("length"), table.read("switch_cost")
        cost_node = table.get("switch_cost")
        if cost_node is not None and length is not None and cost >= length:
            problems.add(
                cost_node, f"the switch cost {cost_node.shown} leaves nothing of a slice of {format_ns(length)}"
            )
        slices.append(TimeSlice(length or 1, table.read("tasks"), cost))
    return tuple(slices)


def _read_table(node: Node, cores: int, problems: Problems) -> tuple[int, tuple[TableEntry, ...]]:
    """An entry is for the core of its task, so those of several cores may overlap."""
    table = Table(node, _TABLE, problems)
    cycle: int | None = table.read("cycle")
    entries_node = table.get("entries")
    entries: list[TableEntry] = []
    end_ns = 0
    for item in () if entries_node is None else _items(entries_node, "entries", problems):
        row = Table(item, _ENTRY, problems)
        length: int | None = row.read("length")
        entry = TableEntry(row.read("at"), length or 1, row.read("task"))
        if row.get("at") is not None and length is not None:
            if cores == 1 and entry.start_ns < end_ns:
                problems.add(
                    item, f"begins at {format_ns(entry.start_ns)}, before the entry above ends at {format_ns(end_ns)}"
                )
            end_ns = max(end_ns, entry.start_ns + entry.length_ns)
            if cycle is not None and entry.start_ns + entry.length_ns > cycle:
                end = format_ns(entry.start_ns + entry.length_ns)
                problems.add(item, f"ends at {end}, after the cycle of {format_ns(cycle)}")
        entries.append(entry)
    return cycle or 1, tuple(entries)


def _read_frequencies(base: ProcessingElement, table: Table) -> tuple[tuple[OperatingPoint, ...], int | None]:
    points_node, frequency_node = table.get("operating_points"), table.get("frequency")
    points: list[OperatingPoint] = []
    for item in () if points_node is None else _items(points_node, "operating_points", table.problems):
        row = Table(item, _OPERATING_POINT, table.problems)
        hertz: int | None = row.read("frequency")
        if hertz is None:
            continue
        if points and hertz <= points[-1].frequency_hz:
            table.problems.add(item, "operating points stand in order of frequency, slowest first, each once")
        points.append(OperatingPoint(hertz, row.read("voltage")))
    fastest = points[-1].frequency_hz if points else base.frequency_hz
    start: int | None = table.read("frequency") or fastest
    if frequency_node is not None and points and start not in {point.frequency_hz for point in points}:
        table.problems.add(frequency_node, f"{frequency_node.shown} is none of the operating points")
    return tuple(points), start


def _items(node: Node, what: str, problems: Problems) -> tuple[Node, ...]:
    """The elements of a list that holds at least one and not absurdly many."""
    items = fields.elements(node, what, problems)
    if items is not None and not 1 <= len(items) <= MAX_ENTRIES:
        problems.add(node, f"{what} is a list of 1 to {MAX_ENTRIES} values, not of {len(items)}")
        return ()
    return items or ()
