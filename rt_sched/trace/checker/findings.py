"""What the trace checker reports: violations of the scheduling semantics, each named, and the rules it looked at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum

#: Violations of one rule beyond this number are counted, not listed.
LISTED_PER_RULE = 20


class Rule(Enum):
    """A rule that is checked: its number in the scheduling semantics (0: the records themselves) and what it says."""

    RECORDS = (0, "records are complete and refer to each other")
    ARRIVALS = (1, "timed arrivals follow their rates, offsets and explicit lists")
    FAULTS = (2, "nothing runs on a lost processor, nothing comes from a lost sensor")
    TIMES = (3, "arrival <= release <= start <= finish; deadlines, misses and separations are accounted for")
    SEQUENCE = (3, "jobs of one task run in order and never in parallel")
    PRIORITY = (4, "no ready job waits while one with a worse key runs that may be preempted")
    DISPATCH = (4, "the job that gets a core is the best of those that wait")
    OVERLAP = (5, "a core does one thing at a time and runs only jobs placed there")
    WORK_CONSERVATION = (5, "no core idles while a job that may run on it is ready")
    CORE_CHOICE = (5, "on several cores a job takes its last core, the lowest free one or that of the worst key")
    PREEMPTION = (5, "jobs lose their core only where they may be preempted, to a strictly better one")
    SLICES = (6, "time slices and table entries run their own jobs only")
    OVERHEADS = (7, "every start and resume pays its switch and migration cost once")
    DEMAND = (8, "a completed job executed exactly its demand")
    BUDGETS = (8, "budgets are enforced when they are used up, by the declared action")
    ENDS = (8, "a job that did not complete ended for a recorded reason")
    CRITICALITY = (9, "a HI job at C_LO switches its processor; LO jobs there are aborted and suppressed")
    SUSPENSION = (10, "jobs suspend where they declare it, for a time in the declared range")
    READING = (11, "inputs are read at first dispatch, under LET at arrival")
    PUBLISHING = (11, "outputs are published at completion, under LET at arrival + deadline")
    LINKS = (11, "links send one message after the other, in order of publication")
    EDGES = (12, "registers hold the newest message, queues drop only when full, required inputs are there")
    ACTIVATION = (13, "messages activate jobs, alone or paired within the tolerance")
    RESOURCES = (14, "sections exclude each other, are entered and left where declared, in the order of the protocol")
    FREQUENCY = (15, "the work left is rescaled once at a change of frequency")
    MODES = (16, "jobs of removed tasks abort at the switch, added tasks start after their latency")
    TAKEOVERS = (16, "the jobs of a task that moves abort at once; it goes on as it is declared from then on")
    RANDOMNESS = (17, "draws are those of the seed")
    HORIZON = (18, "nothing starts or arrives at or after the horizon")

    @property
    def number(self) -> int:
        """Number of the rule in the scheduling semantics; 0 for the form of the records."""
        return int(self.value[0])

    @property
    def text(self) -> str:
        """What the rule says, in one clause."""
        return str(self.value[1])

    @property
    def key(self) -> str:
        """The rule's name in documents, such as `work_conservation`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of a rule at `time_ns`: `where` names the processor, job or edge, `expected` says what should be."""

    rule: Rule
    time_ns: int
    where: str
    expected: str

    def __str__(self) -> str:
        return f"{self.time_ns} ns, {self.where}: {self.expected} (rule {self.rule.number}, {self.rule.key})"


@dataclass(frozen=True, slots=True)
class TraceCheck:
    """Result of a check: the rules looked at, the violations in order of time, and how many there were of each rule.

    At most `LISTED_PER_RULE` violations of a rule are listed.
    """

    checked: tuple[Rule, ...]
    violations: tuple[Violation, ...]
    counts: dict[Rule, int]

    @property
    def ok(self) -> bool:
        """Whether the trace obeys every rule that was checked."""
        return not self.violations


class Findings:
    """Collects violations while the checks run."""

    def __init__(self) -> None:
        self._listed: list[Violation] = []
        self.counts: Counter[Rule] = Counter()

    def add(self, rule: Rule, time_ns: int, where: str, expected: str) -> None:
        """Record one violation."""
        self.counts[rule] += 1
        if self.counts[rule] <= LISTED_PER_RULE:
            self._listed.append(Violation(rule, int(time_ns), where, expected))

    def result(self, checked: tuple[Rule, ...]) -> TraceCheck:
        """Everything found so far."""
        ordered = sorted(self._listed, key=lambda one: (one.time_ns, one.rule.number))
        return TraceCheck(checked, tuple(ordered), dict(self.counts))
