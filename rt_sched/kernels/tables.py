"""Record layouts of the scheduling state machine; `codes` says what their numbers mean.

Every field is an integer; times are nanoseconds. A message is named by one integer: the output of job j is j (>= 0),
sample i of the merged sensor input is -2 - i, and -1 is no message. Static fields come first in each record; fields
below the line "state" are written by the machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Points of a demand profile: quantiles 0/32, 1/32 ... 32/32.
QUANTILES = 33


def _record(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


#: `..._timers`: where the sections of `Machine.timers` begin, NONE for one that is not needed; that of progress begins
#: at 0, `rest_timers` is the first behind those of arrivals, and at `last_timer` end those that may be due at a later
#: instant. Of tasks there is one timer each in a section. `first_top`: where in `soonest` that begins which is looked
#: at first, each the least of 2 to the power of `top_bits` timers. `first_locker`, `last_locker`: range in `links` of
#: the tasks that lock resources. `burst`: most jobs of a task that arrive together. `log_room`: most rows of the log
#: that one instant needs beside those of its new jobs. `..._min_ns`: earliest timer of a section at this instant.
#: `checks`, `spins_ended`, `deliveries`, `pending`: how many tasks have budgets to look at, spinning jobs have got
#: their lock, messages may activate jobs, and processors are to be dispatched. `late_checks`: how many tasks have
#: budgets to look at one nanosecond later. `extras`: how many tasks have an additional arrival at this instant.
CLOCK = np.dtype(
    [
        ("horizon_ns", np.int64),
        ("seed", np.uint64),
        ("record_events", np.int64),
        ("deadline_timers", np.int64),
        ("arrival_timers", np.int64),
        ("rest_timers", np.int64),
        ("last_timer", np.int64),
        ("message_timers", np.int64),
        ("check_timers", np.int64),
        ("wake_timers", np.int64),
        ("let_timers", np.int64),
        ("lane_timers", np.int64),
        ("span_timers", np.int64),
        ("first_top", np.int64),
        ("top_bits", np.int64),
        ("first_locker", np.int64),
        ("last_locker", np.int64),
        ("burst", np.int64),
        ("log_room", np.int64),
        # state
        ("now_ns", np.int64),
        ("ended", np.int64),
        ("progress_min_ns", np.int64),
        ("deadline_min_ns", np.int64),
        ("arrival_min_ns", np.int64),
        ("rest_min_ns", np.int64),
        ("next_sample", np.int64),
        ("next_change", np.int64),
        ("active_jobs", np.int64),
        ("checks", np.int64),
        ("late_checks", np.int64),
        ("spins_ended", np.int64),
        ("deliveries", np.int64),
        ("extras", np.int64),
        ("pending", np.int64),
        ("requests", np.int64),
        ("jobs", np.int64),
        ("slices", np.int64),
        ("drops", np.int64),
        ("transfers", np.int64),
        ("log", np.int64),
        ("events", np.int64),
        ("jobs_needed", np.int64),
        ("slices_needed", np.int64),
        ("drops_needed", np.int64),
        ("transfers_needed", np.int64),
        ("log_needed", np.int64),
        ("events_needed", np.int64),
    ]
)

#: `first_task`, `last_task`: half-open range in `links` of the tasks that are here now, ascending, with room behind it
#: for all that ever are; `first_core`, `last_core`: range in `cores`; `first_span`, `last_span`: slices or table
#: entries in `spans`; `span_timer`: their timer.
#: `special`: whether slices, a table or ceilings under EDF decide, beside keys, who may run.
#: `span`: present or next one; `span_open`: whether it has begun; `cycle_start_ns`: of the cycle it belongs to;
#: `usable`: whether the switch cost of the slice is paid; `entry_job`: whose table entry this is.
#: `khz`, `rescaled`: present frequency, and whether it ever changed.
#: `ceiling_ns`: least relative deadline of the users of locked ceiling resources under EDF. `high`: in HI mode.
#: `first_waiting`, `waiting`: where in `links` those of its tasks begin that wait for a core, and how many do; each
#: knows its `waiting_place` there. `ordered`: whether they stand there as a heap.
#: `queued`: whether it stands in the list of processors to dispatch, whose i-th member is `pending` of row i.
PROCESSOR = _record(
    "policy",
    "preemptive",
    "first_task",
    "last_task",
    "first_core",
    "last_core",
    "switch_ns",
    "migration_ns",
    "declared_khz",
    "slack_sharing",
    "cycle_ns",
    "first_span",
    "last_span",
    "span_timer",
    "special",
    "first_waiting",
    "ordered",
    # state
    "waiting",
    "khz",
    "rescaled",
    "ceiling_ns",
    "lost",
    "high",
    "queued",
    "pending",
    "span",
    "span_open",
    "cycle_start_ns",
    "usable",
    "entry_job",
)

#: `since_ns`: begin of what it does now; `doing`: a slice kind.
CORE = _record("processor", "running", "doing", "since_ns")

#: Arrival k of a timed task is offset + k * period + floor(k * period_rest / rate_numerator): the period of a rational
#: rate, split so that only a remainder below the numerator is carried from one arrival to the next.
#: `first_input` ... `last_output`: half-open ranges in `links` of the edges that end and start here, ascending.
#: `first_demand`, `explicit_demands` and the like: ranges in `explicit` of what is given job by job.
#: `first_step`, `last_step`: the program in `steps`. `enforced_ns`: budget rounded up to its granularity, NEVER_NS when
#: an overrun has no consequence. `first_limit_ns`: least executed time at which a budget matters, NEVER_NS for none.
#: State of the oldest unfinished job, `head_job`: `hold`: HOLD_ bits, 0 when it waits for a core; `key_ns`: effective
#: key, smaller is better; `base_key_ns`: its own; `core`: present or last one; `executing_from_ns`: instant at which
#: its `executed_ns` was right, while it executes; `limit_ns`: next executed time at which a budget matters;
#: `enforce_ns`: executed time at which the overrun action is due; `point_ns`: that of the last preemption point;
#: `held`: locks it holds; `fixed`: msrp locks it holds or spins for; `waits_for`, `request`: resource and order of the
#: request; `doomed`: to be aborted when it holds no lock; `enforced`: whether
#: its overrun action has happened; `in_slice`: whether the present time slice is its own;
#: `check`: whether phase 4 looks at its budgets, CHECK_LATE when it does so from the next nanosecond on.
#: `special`: whether arrivals need `jobs._arrive_specially`. `every`: only each of so many arrivals, counted from job
#: `first_number` on, makes a job. `extra`: whether an additional job is to arrive now. What a change of the task
#: replaces stands in a row of `Machine.declarations`.
#: State of the task: `server_ns`, `credit_ns`: deadline and budget of the server that throttles it under EDF, else
#: number of the arrival that pays, and what is left of it.
TASK = _record(
    "head_job",
    "hold",
    "key_ns",
    "core",
    "executing_from_ns",
    "limit_ns",
    "first_step",
    "last_step",
    "next_step",
    "processor",
    "level",
    "deadline_ns",
    "first_limit_ns",
    "next_number",
    "tail_job",
    "deadline_job",
    "base_key_ns",
    "enforce_ns",
    "point_ns",
    "held",
    "fixed",
    "waits_for",
    "request",
    "doomed",
    "enforced",
    "in_slice",
    "check",
    "waiting_place",
    "active",
    "suppress_next",
    "degrade_next",
    "server_ns",
    "credit_ns",
    "last_arrival_ns",
    "next_explicit",
    "carry",
    "let_job",
    "first_number",
    "extra",
    # static
    "every",
    "rate_numerator",
    "period_ns",
    "period_rest",
    "extra_ns",
    "separation_ns",
    "jitter_ns",
    "activation",
    "budget_ns",
    "enforced_ns",
    "overrun_action",
    "degraded_ns",
    "deadline_action",
    "tolerance_ns",
    "memory_ns",
    "limited",
    "special",
    "let",
    "high",
    "low_budget_ns",
    "first_input",
    "last_input",
    "first_output",
    "last_output",
    "first_demand",
    "explicit_demands",
    "first_jitter",
    "explicit_jitters",
    "first_arrival",
    "explicit_arrivals",
)

#: One step of a task's program: `argument` is a resource; a suspension lasts `min_ns` ... `max_ns` and is the
#: `argument`-th of its task; those of the first `lengths` jobs stand in `explicit`, from `first_length` on.
#: `declared_ns`: executed time at which it happens; `at_ns`: the same for the present job.
STEP = _record("kind", "argument", "declared_ns", "min_ns", "max_ns", "at_ns", "first_length", "lengths")

#: Slice or table entry: [start_ns, end_ns) within the cycle. `first_task`, `last_task`: range in `links`.
SPAN = _record("start_ns", "end_ns", "switch_ns", "first_task", "last_task")

#: `level`, `deadline_ns`: ceiling, the best level and least relative deadline of its users.
RESOURCE = _record("protocol", "level", "deadline_ns", "owner", "owner_dead", "waiters")

#: `first_place`: where the edge's ring of `depth` message ids begins in `rings`. `lane`: present link, or NONE.
EDGE = _record(
    "target",
    "slot",
    "kind",
    "depth",
    "drop_policy",
    "required",
    "role",
    "first_place",
    "lane",
    "transfer_ns",
    # state
    "register",
    "owed",
    "head",
    "count",
)

#: A link: `next`, `newest`: transfer to deliver next and last one, NONE for none.
LANE = _record("latency_ns", "lost", "busy_until_ns", "next", "newest")
TRANSFER = _record("edge", "message", "queued_ns", "start_ns", "end_ns", "visible_ns", "delivered_ns", "next")

SENSOR = _record("first_output", "last_output", "lost")
SAMPLE = _record("arrival_ns", "sensor", "capture_ns", "status")
#: `value`: the new frequency, the row of `Machine.declarations` that a task gets, or the lane that an edge gets;
#: `transfer_ns`: time of its messages on that.
CHANGE = _record("time_ns", "kind", "target", "value", "transfer_ns")

#: `activated_by`: input slot whose message activated the job, NONE for timed and paired jobs. `declared_ns`: demand at
#: the first frequency of its processor. `next_job`: the next one of its task to arrive. `memory_ns`: what of its demand
#: no frequency changes. `given_up`: whether a loss has left nothing of it to publish under LET.
JOB = _record(
    "task",
    "number",
    "arrival_ns",
    "release_ns",
    "start_ns",
    "finish_ns",
    "deadline_ns",
    "demand_ns",
    "executed_ns",
    "capture_ns",
    "status",
    "missed",
    "overrun",
    "activated_by",
    "next_job",
    "declared_ns",
    "memory_ns",
    "given_up",
)
SLICE = _record("processor", "job", "start_ns", "end_ns", "kind")
DROP = _record("time_ns", "edge", "message", "reason")
EVENT = _record("time_ns", "kind", "processor", "task", "job", "edge", "message", "value")


class Machine(NamedTuple):
    """All tables of one machine, static and state, in the order in which `machine.advance` takes them.

    Shapes: clock[1]; processors, cores, tasks, edges, sensors, steps, spans, resources, lanes, samples, changes: one
    record each (samples by arrival, sensor, number; changes by time, kind, target); timers int64[*]: the instants at
    which something is due, in the sections that CLOCK names; soonest int64[*]: the least timer of every block, then of
    every group of blocks where there are any; links int64[*]: index lists; declarations: records of TASK whose static
    fields a task gets when it changes; quantiles int64[n_tasks + n_declarations, 33]: demand profiles, ascending, of
    the tasks as they are now, then those of the declarations; explicit int64[*]; rings int64[sum of depths]; jobs,
    slices, drops, transfers, log, events: growing tables with spare rows; inputs int64[len(jobs), max slots]: message
    ids read by each job.
    """

    clock: npt.NDArray[np.void]
    timers: npt.NDArray[np.int64]
    soonest: npt.NDArray[np.int64]
    processors: npt.NDArray[np.void]
    cores: npt.NDArray[np.void]
    tasks: npt.NDArray[np.void]
    declarations: npt.NDArray[np.void]
    edges: npt.NDArray[np.void]
    sensors: npt.NDArray[np.void]
    steps: npt.NDArray[np.void]
    spans: npt.NDArray[np.void]
    resources: npt.NDArray[np.void]
    lanes: npt.NDArray[np.void]
    links: npt.NDArray[np.int64]
    quantiles: npt.NDArray[np.int64]
    explicit: npt.NDArray[np.int64]
    samples: npt.NDArray[np.void]
    changes: npt.NDArray[np.void]
    rings: npt.NDArray[np.int64]
    jobs: npt.NDArray[np.void]
    inputs: npt.NDArray[np.int64]
    slices: npt.NDArray[np.void]
    drops: npt.NDArray[np.void]
    transfers: npt.NDArray[np.void]
    log: npt.NDArray[np.void]
    events: npt.NDArray[np.void]


def empty_machine() -> Machine:
    """A machine without tasks that ends at once; its arrays have the types that the compiled code expects."""

    def no_records(layout: np.dtype[np.void]) -> npt.NDArray[np.void]:
        return np.zeros(0, layout)

    no_integers = np.zeros(0, np.int64)
    return Machine(
        clock=np.zeros(1, CLOCK),
        timers=no_integers,
        soonest=no_integers,
        processors=no_records(PROCESSOR),
        cores=no_records(CORE),
        tasks=no_records(TASK),
        declarations=no_records(TASK),
        edges=no_records(EDGE),
        sensors=no_records(SENSOR),
        steps=no_records(STEP),
        spans=no_records(SPAN),
        resources=no_records(RESOURCE),
        lanes=no_records(LANE),
        links=no_integers,
        quantiles=np.zeros((0, QUANTILES), np.int64),
        explicit=no_integers,
        samples=no_records(SAMPLE),
        changes=no_records(CHANGE),
        rings=no_integers,
        jobs=no_records(JOB),
        inputs=np.zeros((0, 1), np.int64),
        slices=no_records(SLICE),
        drops=no_records(DROP),
        transfers=no_records(TRANSFER),
        log=no_records(EVENT),
        events=no_records(EVENT),
    )
