"""What the oracle knows at one tick: jobs, cores, queues, locks, servers; and the draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum

from rt_sched.lowering.machine_input import MachineInput, Policy, Protocol, TaskRow

WORD = 2**64


def mix(word: int) -> int:
    """SplitMix64: add the golden gamma, then the finaliser."""
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % WORD
    return word ^ (word >> 31)


def draw(seed: int, task: int, number: int, purpose: int) -> int:
    word = mix(seed)
    for part in (task, number, purpose):
        word = mix(word ^ part)
    return word


def draw_up_to(most: int, bits: int) -> int:
    """A number in [0, most]."""
    return (most + 1) * (bits >> 34) // 2**30


def interpolate(quantiles: tuple[int, ...], bits: int) -> int:
    segment, fraction = bits >> 59, (bits >> 29) % 2**30
    step = quantiles[segment + 1] - quantiles[segment]
    return max(1, quantiles[segment] + step * fraction // 2**30)


class Do(IntEnum):
    """What a job does at an executed time, in the order of one time."""

    UNLOCK = 0
    SUSPEND = 1
    LOCK = 2


@dataclass
class Step:
    """One step of a job's program: `what` is a resource, or the index of a suspension."""

    offset: int
    do: Do
    what: int


def program_of(task: TaskRow) -> list[Step]:
    """Steps in their order: the outer section locks first, the inner one unlocks first, equal ones by resource."""
    ordered = []
    for section in task.sections:
        start, end, resource = section.start_ns, section.end_ns, section.resource
        ordered.append((start, Do.LOCK, -end, resource, resource))
        ordered.append((end, Do.UNLOCK, -start, -resource, resource))
    for index, wait in enumerate(task.suspensions):
        ordered.append((wait.offset_ns, Do.SUSPEND, 0, 0, index))
    return [Step(offset, do, what) for offset, do, _, _, what in sorted(ordered)]


@dataclass(eq=False)
class Job:
    """One job, as its task was declared at its arrival. `program[:done]` has happened; `held`: the outermost first.

    `publishes`: whether anything happens at its LET instant; not when the task's processor is lost before.
    """

    index: int
    task: int
    row: TaskRow
    number: int
    arrival: int
    release: int
    deadline: int
    demand: int
    declared_demand: int
    memory: int
    capture: int
    inputs: list[int]
    activator: int | None
    program: list[Step]
    points: list[int] | None
    start: int = -1
    finish: int = -1
    executed: int = 0
    status: str = "UNFINISHED"
    missed: bool = False
    overrun: bool = False
    complete_inputs: bool = True
    done: int = 0
    released: bool = False
    wake_at: int | None = None
    waits_for: int | None = None
    throttled: bool = False
    enforced: bool = False
    doomed: bool = False
    held: list[int] = field(default_factory=list)
    core: int | None = None
    last_core: int | None = None
    prefix: int = 0
    publishes: bool = True

    @property
    def unfinished(self) -> bool:
        return self.status == "UNFINISHED"

    @property
    def ready(self) -> bool:
        return self.released and self.wake_at is None and self.waits_for is None and not self.throttled


@dataclass
class Server:
    """What is left of the budget of a throttled task, its deadline under edf, and the last arrival that paid."""

    left: int = 0
    deadline: int | None = None
    paid: int = -1


@dataclass
class Transfer:
    """One message on a link."""

    edge: int
    link: int
    message: int
    queued: int
    start: int
    end: int
    delivered: int = -1
    lost: bool = False


@dataclass
class Result:
    """All tables of a run as rows, sorted where an order inside an instant means nothing, and what the run met."""

    jobs: list[tuple]
    slices: list[tuple]
    drops: list[tuple]
    samples: list[str]
    transfers: list[tuple]
    events: list[tuple]
    met: Counter = field(default_factory=Counter)


class State:
    """Everything that changes from tick to tick; the phases are functions over it."""

    def __init__(self, given: MachineInput) -> None:
        self.g = given
        self.now = 0
        self.met: Counter = Counter()
        self.jobs: list[Job] = []
        tasks = given.tasks
        self.rows = list(tasks)
        self.counted_from = [0 for _ in tasks]
        self.backlog: list[list[Job]] = [[] for _ in tasks]
        self.arrived = [0 for _ in tasks]
        self.last_arrival: list[int | None] = [None for _ in tasks]
        self.active = [task.active for task in tasks]
        self.next_index = [0 for _ in tasks]
        self.first_arrival = [task.offset_ns for task in tasks]
        self.delay = [0 for _ in tasks]
        self.begins_at: list[int | None] = [None for _ in tasks]
        self.suppress_next = [False for _ in tasks]
        self.degrade_next = [False for _ in tasks]
        self.servers = [Server() for _ in tasks]

        self.edges_into: list[list[int]] = [[] for _ in tasks]
        self.slot_of: list[int] = []
        for number, edge in enumerate(given.edges):
            self.slot_of.append(len(self.edges_into[edge.target]))
            self.edges_into[edge.target].append(number)
        self.width = max((len(edges) for edges in self.edges_into), default=0) or 1
        self.newest = [-1 for _ in given.edges]
        self.queue: list[list[int]] = [[] for _ in given.edges]
        self.owed = [0 for _ in given.edges]
        self.transfers: list[Transfer] = []
        self.link_free = [0 for _ in given.links]
        self.link_free_before = [0 for _ in given.links]
        self.link_of = [edge.link for edge in given.edges]

        processors = given.processors
        self.first_core = [sum(p.cores for p in processors[:index]) for index in range(len(processors))]
        self.running: list[Job | None] = [None] * sum(p.cores for p in processors)
        self.ticks: list[list[tuple[Job, str] | None]] = [[] for _ in self.running]
        self.khz = [p.frequency_khz for p in processors]
        self.high = [False for _ in processors]
        self.slice_switch = [0 for _ in processors]
        self.slice_now: list[int | None] = [None for _ in processors]
        self.entry: list[tuple[Job | None, int] | None] = [None for _ in processors]

        self.owner: list[Job | None] = [None for _ in given.resources]
        self.waiters: list[list[Job]] = [[] for _ in given.resources]

        self.lost_processors: set[int] = set()
        self.lost_sensors: set[int] = set()
        self.lost_links: set[int] = set()
        s = given.samples
        order = sorted(range(len(s.sensor)), key=lambda i: (s.arrival_ns[i], s.sensor[i], i))
        self.samples = [(int(s.arrival_ns[i]), int(s.sensor[i]), int(s.capture_ns[i])) for i in order]
        self.sample_status = ["WAITING"] * len(order)
        self.drops: list[tuple] = []
        self.events: list[tuple] = []

    def row(self, job: Job) -> TaskRow:
        return job.row

    def processor(self, job: Job) -> int:
        return job.row.processor

    def cores(self, processor: int) -> range:
        first = self.first_core[processor]
        return range(first, first + self.g.processors[processor].cores)

    def is_msrp(self, resource: int) -> bool:
        return self.g.resources[resource].protocol == Protocol.MSRP

    def locks(self, job: Job) -> bool:
        """Whether enforcement has to wait: the job holds a lock, or spins for one."""
        return bool(job.held) or (job.waits_for is not None and self.is_msrp(job.waits_for))

    def policy(self, job: Job) -> Policy:
        return self.g.processors[self.processor(job)].policy

    def live(self) -> list[Job]:
        """Unfinished jobs by task and number."""
        return [job for jobs in self.backlog for job in jobs]

    def leave_core(self, job: Job) -> None:
        if job.core is not None:
            self.running[job.core] = None
            job.core = None
            job.prefix = 0

    def tell(self, kind: str, job: Job | None = None, value: int = -1, task: int = -1, processor: int = -1) -> None:
        """Record an event; a job's task, and where that task is now, are known."""
        if job is not None:
            task = job.task
        if task >= 0:
            processor = self.rows[task].processor
        self.events.append((self.now, kind, processor, task, -1 if job is None else job.index, value))
        self.met[kind] += 1
