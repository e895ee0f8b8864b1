"""Under which rules a run was made: processors, tasks, edges, resources, links and planned changes, all by index.

The scheduling machine takes these rows as its input, and every trace carries them, so that whoever checks a trace needs
neither the plan nor the kernel. Times are integer nanoseconds. Offsets into a job are in *executed time*: the time for
which the job itself has executed, without switch costs, spinning, waiting and suspension.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from rt_sched.kernels import codes


class Policy(IntEnum):
    """Order of a ready queue (semantics 4 to 6)."""

    FIXED_PRIORITY = codes.FIXED_PRIORITY
    EDF = codes.EDF
    FIFO = codes.FIFO
    TIME_SLICED = codes.TIME_SLICED
    TABLE = codes.TABLE


class EdgeKind(IntEnum):
    """Register or queue."""

    LATEST = codes.LATEST
    QUEUE = codes.QUEUE


class Overflow(IntEnum):
    """What a full queue loses."""

    DROP_OLDEST = codes.DROP_OLDEST
    DROP_NEWEST = codes.DROP_NEWEST


class Role(IntEnum):
    """What a message on an edge does: it is only read, activates a job by itself, or waits for its partners."""

    READ = codes.READ
    EACH = codes.EACH
    PAIRED = codes.PAIRED


class DeadlineAction(IntEnum):
    """What happens to a job at its absolute deadline.

    SKIP_NEXT: the job goes on and the next job of the task that arrives is suppressed.
    """

    CONTINUE = codes.CONTINUE
    ABORT = codes.ABORT
    SKIP_NEXT = codes.SKIP_NEXT


class OverrunAction(IntEnum):
    """What happens to a job with work left when its budget is used up.

    LOG: nothing. ABORT: it ends. THROTTLE: under `edf` the server deadline is postponed by `separation_ns`, under the
    other policies it waits for the next arrival. SKIP_NEXT: it goes on, the next job that arrives is suppressed.
    DEGRADE: it goes on, the next job that arrives needs at most `degraded_demand_ns`. FAIL_OVER: an event, then ABORT.
    """

    LOG = codes.OVERRUN_LOG
    ABORT = codes.OVERRUN_ABORT
    THROTTLE = codes.OVERRUN_THROTTLE
    SKIP_NEXT = codes.OVERRUN_SKIP_NEXT
    DEGRADE = codes.OVERRUN_DEGRADE
    FAIL_OVER = codes.OVERRUN_FAIL_OVER


class Protocol(IntEnum):
    """How a shared resource is locked (semantics 14)."""

    NONE = codes.NO_PROTOCOL
    PRIORITY_INHERITANCE = codes.PRIORITY_INHERITANCE
    PRIORITY_CEILING = codes.PRIORITY_CEILING
    MSRP = codes.MSRP


class FaultTarget(IntEnum):
    """What a fault takes away."""

    PROCESSOR = codes.PROCESSOR_LOSS
    SENSOR = codes.SENSOR_LOSS
    LINK = codes.LINK_LOSS


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """One slice of the cycle of a `time_sliced` processor: `tasks` may run in it, after its switch cost."""

    length_ns: int
    tasks: tuple[int, ...]
    switch_ns: int = 0


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One entry of a `table` processor's cycle, [start_ns, start_ns + length_ns) after the cycle's begin."""

    start_ns: int
    length_ns: int
    task: int


@dataclass(frozen=True, slots=True)
class ProcessorRow:
    """A ready queue with the `cores` that serve it: one for a partitioned processing element, m for a global one.

    All rules that speak of a PE (mode switch, ceiling, inheritance, frequency) speak of one row. Cores are numbered
    through over all rows: the first core of a row is the sum of the `cores` of the rows before it.
    `preemptive`: a strictly better job takes the core of a running one; `fifo` is non-preemptive whatever it says.
    `switch_ns`, `migration_ns`: non-preemptive prefix of every start and resume; the latter is added when a job resumes
    on another core than its last. `frequency_khz`: at the start, and the one for which demands are declared.
    `slices`: the cycle of a `time_sliced` processor, from time 0 on; `slack_sharing`: when no task of the slice is
    ready, any other may run, until one is. `table`, `cycle_ns`: entries of a `table` processor, ascending, without
    overlap, repeated every `cycle_ns` from time 0 on. Both kinds have one core.
    """

    name: str
    policy: Policy
    preemptive: bool
    cores: int = 1
    switch_ns: int = 0
    migration_ns: int = 0
    frequency_khz: int = 1
    slices: tuple[TimeSlice, ...] = ()
    slack_sharing: bool = False
    table: tuple[TableEntry, ...] = ()
    cycle_ns: int = 0


@dataclass(frozen=True, slots=True)
class SectionRow:
    """Critical section on a resource: locked at `start_ns` of executed time, unlocked at `end_ns` or at completion."""

    resource: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class SuspensionRow:
    """After `offset_ns` >= 1 of executed time the job waits for a drawn time in [min_ns, max_ns].

    A job whose demand is at most `offset_ns` completes instead. `explicit_ns`: times of the first jobs, which take
    precedence.
    """

    offset_ns: int
    min_ns: int
    max_ns: int
    explicit_ns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task on one processor.

    `deadline_ns`: relative to arrival. `level`: lower is more urgent.

    Arrival. `rate_hz`: exact rate of a timed task, None when messages activate it or `explicit_arrivals_ns` (ascending,
    equal ones allowed) lists all its arrivals. `extra_separation_ns`: arrival k >= 1 of a rate, and with it all later
    ones, is delayed by a drawn time in [0, extra]. `separation_ns`: declared least distance of two arrivals; shorter
    ones are flagged. `jitter_ns`: the release follows the arrival by a drawn time in [0, jitter];
    `explicit_jitters_ns`: those of the first jobs, which take precedence.

    Demand. `demand_ns`: execution time at the first frequency of the processor, either one value or 33 ascending
    quantiles at steps of 1/32. `explicit_demands_ns`: demands of the first jobs, which take precedence.
    `memory_ns`: the part of every demand, at most all of it, that no frequency changes; a job executes it last.

    Budget. `budget_ns`: a job with work left when it has executed this long has overrun. `overrun_action` then happens
    once it has executed this budget rounded up to a multiple of `budget_granularity_ns` and holds no lock.
    `degraded_demand_ns`: largest demand of the job after one that was degraded.

    Inside a job. `sections` nest properly; `suspensions` lie outside of them, ascending. `preemption_points_ns`:
    executed times at which alone the job may be preempted, None when any instant will do, () when none will.

    Communication. `tolerance_ns`: largest difference of capture stamps between paired inputs. `let`: inputs are read
    at arrival, the output is published at arrival + deadline; otherwise at first dispatch and at completion.

    Modes. `high_criticality`, `low_budget_ns`: C_LO of a HI task; reaching it unfinished switches the processor.
    `active`: whether the task exists from the start; `start_latency_ns`: from the mode change that adds it to its
    first arrival. `weakly_hard`: (m, k), at least m of any k consecutive jobs must meet their deadlines.

    `every`: only one of so many arrivals makes a job, the first and then each `every`-th from when this row came into
    force; the others are suppressed.
    """

    name: str
    processor: int
    deadline_ns: int
    demand_ns: int | tuple[int, ...]
    level: int = 0
    rate_hz: Fraction | None = None
    offset_ns: int = 0
    budget_ns: int | None = None
    deadline_action: DeadlineAction = DeadlineAction.CONTINUE
    tolerance_ns: int = 0
    explicit_demands_ns: tuple[int, ...] = ()
    overrun_action: OverrunAction = OverrunAction.LOG
    budget_granularity_ns: int = 1
    degraded_demand_ns: int | None = None
    explicit_arrivals_ns: tuple[int, ...] | None = None
    separation_ns: int | None = None
    extra_separation_ns: int = 0
    jitter_ns: int = 0
    explicit_jitters_ns: tuple[int, ...] = ()
    memory_ns: int = 0
    sections: tuple[SectionRow, ...] = ()
    suspensions: tuple[SuspensionRow, ...] = ()
    preemption_points_ns: tuple[int, ...] | None = None
    let: bool = False
    high_criticality: bool = False
    low_budget_ns: int | None = None
    active: bool = True
    start_latency_ns: int = 0
    weakly_hard: tuple[int, int] | None = None
    every: int = 1

    @property
    def timed(self) -> bool:
        """Whether the clock, not messages, makes its jobs arrive."""
        return self.rate_hz is not None or self.explicit_arrivals_ns is not None


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge into its own input slot of a task; slots of a task are numbered in the order of its edges.

    Exactly one of `sensor` and `task` is the index of its source. With a `link`, each message is `size_bytes` to send
    before it becomes visible.
    """

    target: int
    input: str
    kind: EdgeKind
    role: Role
    sensor: int | None = None
    task: int | None = None
    depth: int = 1
    overflow: Overflow = Overflow.DROP_OLDEST
    required: bool = True
    link: int | None = None
    size_bytes: int = 1


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A shared resource. Its users are the tasks with a section on it."""

    name: str
    protocol: Protocol


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A non-preemptive server in order of publication: size / bandwidth, rounded up, then the latency."""

    name: str
    bytes_per_s: Fraction
    latency_ns: int = 0


@dataclass(frozen=True, slots=True)
class FaultRow:
    """Loss of a processor (with all its cores), sensor or link over [time_ns, until_ns); None: for good."""

    time_ns: int
    kind: FaultTarget
    target: int
    until_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ModeChangeRow:
    """At `time_ns` the jobs of `removed` tasks abort; `added` tasks start after their start latency.

    A task in both starts anew.
    """

    time_ns: int
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FrequencyChangeRow:
    """From `time_ns` on, all cores of the processor run at `frequency_khz`."""

    time_ns: int
    processor: int
    frequency_khz: int


@dataclass(frozen=True, slots=True)
class TaskChangeRow:
    """From `time_ns` on the task is declared by `row`, which says anew where it runs, its level, demand and program.

    `moved`: its unfinished jobs abort, and it begins on the processor of `row` without a past. Otherwise they go on,
    and only the demands of later jobs and `every` differ. Everything else of a row stays what it was.
    """

    time_ns: int
    task: int
    row: TaskRow
    moved: bool


@dataclass(frozen=True, slots=True)
class ExtraArrivalRow:
    """One more arrival of a task at `time_ns`, beside those that its activation asks for.

    Of a task that messages activate it is a job with the message that came last: see docs/decisions/takeovers.md.
    """

    time_ns: int
    task: int


@dataclass(frozen=True, slots=True)
class RouteChangeRow:
    """Messages that are published from `time_ns` on take another link to the end of an edge, or none.

    What is on its way arrives as it would have.
    """

    time_ns: int
    edge: int
    link: int | None


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything about a run that is declared before it begins, except its sensor samples."""

    processors: tuple[ProcessorRow, ...]
    sensors: tuple[str, ...]
    tasks: tuple[TaskRow, ...]
    edges: tuple[EdgeRow, ...]
    resources: tuple[ResourceRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    faults: tuple[FaultRow, ...] = ()
    mode_changes: tuple[ModeChangeRow, ...] = ()
    frequency_changes: tuple[FrequencyChangeRow, ...] = ()
    task_changes: tuple[TaskChangeRow, ...] = ()
    extra_arrivals: tuple[ExtraArrivalRow, ...] = ()
    route_changes: tuple[RouteChangeRow, ...] = ()

    def core_names(self) -> tuple[str, ...]:
        """Name of every core: that of its processor, with a number when the processor has several."""
        names: list[str] = []
        for processor in self.processors:
            several = processor.cores > 1
            names += [f"{processor.name}.{core}" if several else processor.name for core in range(processor.cores)]
        return tuple(names)
