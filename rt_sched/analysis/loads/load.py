"""What the methods for one processor are given: its tasks with their costs, arrivals, sections and preemption."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from rt_sched.analysis.theory.fixed_points import Timing, exact_sum
from rt_sched.model import ArrivalCurve, Policy, Processor
from rt_sched.trace.setup import ProcessorRow


@dataclass(frozen=True, slots=True)
class Phase:
    """Where arrivals lie towards others that go back to the same instants.

    `origin`: what makes these instants; streams with equal origins belong together. `offset_ns`: from instant k to the
    earliest arrival k. `rate_hz`: of the instants, exact, where they come as if for ever; None where they are only
    known to be at least a period apart.
    """

    origin: str
    offset_ns: int
    rate_hz: Fraction | None


@dataclass(frozen=True, slots=True)
class Stream:
    """Arrivals that lie up to `jitter_ns` behind the points of a grid whose points are at least `period_ns` apart.

    At most ceil((length + jitter_ns) / period_ns) of them fall into a half-open interval of this length. A `curve`,
    where given, says how many do instead; `period_ns` is then their mean separation, rounded down. `phase`: where
    known, what the points of the grid are, so that all that arrives behind them is known relative to each other.
    """

    period_ns: int
    jitter_ns: int = 0
    curve: ArrivalCurve | None = None
    phase: Phase | None = None

    @property
    def rate(self) -> Fraction:
        """Arrivals a nanosecond in the long run."""
        if self.curve is not None:
            return Fraction(self.curve.steps[-1][1], self.curve.horizon_ns)
        return Fraction(1, self.period_ns)


@dataclass(frozen=True, slots=True)
class Blocking:
    """Longest delay of a job by jobs of lower urgency; `by`: the tasks and sections it is due to, with their parts.

    `interrupted`: whether jobs with later deadlines may execute meanwhile, as under SRP those of tasks with shorter
    relative deadlines, since the ceiling keeps only the others from starting.
    """

    total_ns: int = 0
    by: tuple[tuple[str, int], ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class LoadTask:
    """One task as its processor sees it.

    `index`: in the system. `level`: 0 is the most urgent. `wcet_ns`: what a job may execute, spinning excluded;
    `overhead_ns`: switches and migrations of a job; `spin_ns`: busy waiting for resources of other processors.
    `streams`: its arrivals, all of them activate. `release_jitter_ns`: from an arrival to its release. `offset_ns`: of
    a timed task whose arrivals are known instants, else None. `region_ns`: the longest part of a job that nobody
    preempts, `last_region_ns`: the last such part; 1 when it can be preempted anywhere. `suspension_ns`,
    `suspensions`: the most that a job waits in total, in so many segments. `low_wcet_ns`: C_LO of a HI task.
    `enforced`: whether a budget bounds it; `throttled_beyond`: whether a throttled job may need more than one budget.
    `message_activated`: whether messages, not the clock, make its jobs arrive. `rate_hz`: exact, of a timed task; that
    of its stream is rounded up. `sheds`: whether some of its work may be left out by a budget, at a deadline, or
    because an input is missing. `free`: whether nothing but their separation restricts arrivals.
    `locks`: whether jobs hold resources.
    `blocking`: by sections of less urgent tasks; None where no bound exists, for `unblockable` reason.
    """

    index: int
    name: str
    level: int
    wcet_ns: int
    bcet_ns: int
    deadline_ns: int
    streams: tuple[Stream, ...]
    release_jitter_ns: int = 0
    overhead_ns: int = 0
    spin_ns: int = 0
    offset_ns: int | None = None
    region_ns: int = 1
    last_region_ns: int = 1
    suspension_ns: int = 0
    suspensions: int = 0
    high: bool = False
    low_wcet_ns: int | None = None
    blocking: Blocking | None = field(default_factory=Blocking)
    unblockable: str = ""
    enforced: bool = False
    throttled_beyond: bool = False
    message_activated: bool = False
    rate_hz: Fraction | None = None
    sheds: bool = False
    free: bool = True
    locks: bool = False

    @property
    def cost_ns(self) -> int:
        """What one job takes from the processor."""
        return self.wcet_ns + self.overhead_ns + self.spin_ns

    @property
    def load(self) -> Fraction:
        """Share of one core."""
        return sum((self.cost_ns * stream.rate for stream in self.streams), Fraction(0))

    def timing(self) -> Timing:
        """The task with its one stream, jitter of arrival and release together. Raises ValueError for several."""
        (stream,) = self.streams
        return Timing(
            self.cost_ns,
            stream.period_ns,
            self.deadline_ns,
            stream.jitter_ns + self.release_jitter_ns,
            self.blocking.total_ns if self.blocking is not None else 0,
        )


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Tasks that one source sets off and that have their processors to themselves.

    `places[v]`: processor of task v, a position in `rows`; `edges`: (before, after), positions in `tasks`; a task with
    none before it is set off by the source, of which `streams` are the arrivals. `source`: its name.
    """

    tasks: tuple[LoadTask, ...]
    places: tuple[int, ...]
    rows: tuple[ProcessorRow, ...]
    edges: tuple[tuple[int, int], ...]
    streams: tuple[Stream, ...]
    source: str


@dataclass(frozen=True, slots=True)
class ProcessorLoad:
    """A processor and its tasks by level.

    `graph`: the graph that all its tasks belong to, maybe with those of other processors, or why there is none.
    `one_clock`: whether all clocks of the system show the same time.
    """

    processor: Processor
    row: ProcessorRow
    tasks: tuple[LoadTask, ...]
    graph: TaskGraph | str = "its tasks are not known to be one graph"
    one_clock: bool = False

    @property
    def policy(self) -> Policy:
        """How it orders its jobs."""
        return self.processor.policy

    @property
    def load(self) -> Fraction:
        """Needed share of one core."""
        return exact_sum(task.load for task in self.tasks)

    @property
    def switches_mode(self) -> bool:
        """Whether a HI task may exceed C_LO and so end the LO jobs here."""
        exceeds = any(t.high and t.low_wcet_ns is not None and t.low_wcet_ns < t.wcet_ns for t in self.tasks)
        return exceeds and any(not task.high for task in self.tasks)

    def at(self, index: int) -> int:
        """Position of the system's task `index` in `tasks`."""
        return next(place for place, task in enumerate(self.tasks) if task.index == index)
