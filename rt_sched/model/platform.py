"""Devices, their processing elements and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class PEKind(str, Enum):
    """What a processing element is. GPU and DLA are non-preemptive at job granularity."""

    CPU = "cpu"
    GPU = "gpu"
    DLA = "dla"
    MCU = "mcu"


class Policy(str, Enum):
    """How a processing element orders its ready jobs."""

    FIXED_PRIORITY = "fixed_priority"
    EDF = "edf"
    FIFO = "fifo"
    TIME_SLICED = "time_sliced"
    TABLE = "table"


class Scheduling(str, Enum):
    """How the cores of a processing element share its jobs.

    `partitioned`: one ready queue per core. `global`: one for all cores. `clustered`: one per cluster of cores.
    """

    PARTITIONED = "partitioned"
    GLOBAL = "global"
    CLUSTERED = "clustered"


class Preemption(str, Enum):
    """Where a better job may take the core: at any instant, at declared points of a job, or never."""

    ANY = "any"
    AT_POINTS = "at_points"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """One slice of a `time_sliced` element's cycle: after its switch cost the named tasks may run."""

    length_ns: int
    tasks: tuple[str, ...]
    switch_cost_ns: int = 0


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One entry of a `table` element: a task may run in [start, start + length) of every cycle."""

    start_ns: int
    length_ns: int
    task: str


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A frequency at which an element can run, and the voltage it needs (None: not given)."""

    frequency_hz: int
    voltage_uv: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessingElement:
    """A CPU cluster, GPU or DLA of a device with `cores` equal cores.

    `preemptive`: whether a better job may take a core from a running one; with `points_only`, only at the points that
    the running task declares.
    `cluster_size`: cores per ready queue when `clustered`. `switch_cost_ns`: before every start and resume of a job;
    `migration_cost_ns`: added when a job resumes on another core. `slices` and `slack_sharing`: cycle of a
    `time_sliced` element. `table`, `table_cycle_ns`: cycle of a `table` element. `frequency_hz`: at the start of a run,
    None when frequencies are not modelled; `operating_points`: slowest first. `busy_power_mw`: what all cores together
    draw when each works at that frequency, `idle_power_mw`: when none does; None: not known.
    """

    name: str
    kind: PEKind
    cores: int
    policy: Policy
    preemptive: bool
    scheduling: Scheduling = Scheduling.PARTITIONED
    cluster_size: int | None = None
    points_only: bool = False
    switch_cost_ns: int = 0
    migration_cost_ns: int = 0
    slices: tuple[TimeSlice, ...] = ()
    slack_sharing: bool = False
    table: tuple[TableEntry, ...] = ()
    table_cycle_ns: int = 0
    frequency_hz: int | None = None
    operating_points: tuple[OperatingPoint, ...] = ()
    busy_power_mw: int | None = None
    idle_power_mw: int | None = None

    @property
    def preemption(self) -> Preemption:
        """Where a better job may take a core."""
        if not self.preemptive:
            return Preemption.NONE
        return Preemption.AT_POINTS if self.points_only else Preemption.ANY

    @property
    def queue_cores(self) -> int:
        """How many cores serve one ready queue."""
        if self.scheduling is Scheduling.GLOBAL:
            return self.cores
        return self.cluster_size or 1 if self.scheduling is Scheduling.CLUSTERED else 1


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """A device's clock against true time: it shows 0 at true time `offset_ns` and runs fast by `drift_ppm`.

    `sync_error_ns`: the offset is known only up to this, either way; it does not change during a run.
    """

    drift_ppm: Fraction = Fraction(0)
    offset_ns: int = 0
    sync_error_ns: int = 0


@dataclass(frozen=True, slots=True)
class Contention:
    """While element `by` of a device works, element `pe` takes `factor` times as long; factors of several multiply."""

    pe: str
    by: str
    factor: Fraction


@dataclass(frozen=True, slots=True)
class Device:
    """A computer of the rig. `soc` names the catalogue entry and `power_mode` its mode, or both are None.

    `memory_bytes`: what its tasks may occupy together, None: not limited. `contention`: how its elements slow each
    other down, by what they share; declared execution times hold while no other element works.
    """

    name: str
    processing_elements: tuple[ProcessingElement, ...]
    soc: str | None = None
    power_mode: str | None = None
    clock: DeviceClock = DeviceClock()
    memory_bytes: int | None = None
    contention: tuple[Contention, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A network or bus that sends one message after the other: size / bandwidth, then the latency.

    `between`: devices it connects, empty when it connects all.
    """

    name: str
    bandwidth_bytes_per_s: Fraction
    latency_ns: int = 0
    between: tuple[str, ...] = ()
