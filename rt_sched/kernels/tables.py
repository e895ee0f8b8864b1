"""Record layouts and integer codes of the scheduling state machine.

Every field is an integer; times are nanoseconds. A message is named by one integer: the output of job j is j (>= 0),
sample i of the merged sensor input is -2 - i, and -1 is no message. Static fields come first in each record; fields
below the line "state" are written by the machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


def _codes(count: int) -> tuple[np.int64, ...]:
    """0, 1, 2 ... as int64: numba compiles a function anew for each plain integer constant that it is called with."""
    return tuple(np.int64(code) for code in range(count))


#: No message, no job, never.
NONE = np.int64(-1)
#: Message id of sample 0; sample i is FIRST_SAMPLE - i.
FIRST_SAMPLE = np.int64(-2)
#: Later than every instant a machine can reach.
NEVER_NS = np.int64(2**62)

FIXED_PRIORITY, EDF, FIFO, TIME_SLICED, TABLE = _codes(5)
TIMED, ON_MESSAGE = _codes(2)
LATEST, QUEUE = _codes(2)
DROP_OLDEST, DROP_NEWEST = _codes(2)
CONTINUE, ABORT, SKIP_NEXT = _codes(3)
(
    OVERRUN_LOG,
    OVERRUN_ABORT,
    OVERRUN_THROTTLE,
    OVERRUN_SKIP_NEXT,
    OVERRUN_DEGRADE,
    OVERRUN_FAIL_OVER,
) = _codes(6)
NO_PROTOCOL, PRIORITY_INHERITANCE, PRIORITY_CEILING, MSRP = _codes(4)

#: What a message on an edge does: it is only read, it activates a job by itself, or it waits for its partners.
READ, EACH, PAIRED = _codes(3)

COMPLETED, UNFINISHED, ABORTED, SKIPPED, LOST, SUPPRESSED = _codes(6)

#: Why a message was dropped from an edge.
REASON_FULL_OLDEST, REASON_FULL_NEWEST, REASON_UNMATCHED, REASON_INACTIVE = _codes(4)

SAMPLE_WAITING, SAMPLE_DELIVERED, SAMPLE_LOST = _codes(3)

PROCESSOR_LOSS, SENSOR_LOSS, LINK_LOSS = _codes(3)

#: What a core does between two instants of a slice.
SLICE_EXECUTE, SLICE_SWITCH, SLICE_SPIN = _codes(3)

(
    EVENT_ARRIVAL,
    EVENT_START,
    EVENT_PREEMPT,
    EVENT_RESUME,
    EVENT_COMPLETE,
    EVENT_DEADLINE_MISS,
    EVENT_OVERRUN,
    EVENT_DROP,
    EVENT_SKIP,
    EVENT_ABORT,
    EVENT_JOB_LOST,
    EVENT_SAMPLE,
    EVENT_PROCESSOR_LOST,
    EVENT_SENSOR_LOST,
    EVENT_LINK_LOST,
    EVENT_TASK_REMOVED,
    EVENT_TASK_ADDED,
    EVENT_FREQUENCY,
    EVENT_RESCALE,
    EVENT_RELEASE,
    EVENT_SEPARATION,
    EVENT_SUPPRESS,
    EVENT_SUSPEND,
    EVENT_WAKE,
    EVENT_REQUEST,
    EVENT_LOCK,
    EVENT_UNLOCK,
    EVENT_OWNER_DEAD,
    EVENT_ENFORCE,
    EVENT_THROTTLE,
    EVENT_REPLENISH,
    EVENT_HIGH,
    EVENT_LOW,
    EVENT_LET_PUBLISH,
    EVENT_LET_UNFINISHED,
    EVENT_SLICE,
    EVENT_ENTRY,
) = _codes(37)

#: What `machine.advance` returns.
ADVANCED, REACHED, ENDED, FULL = _codes(4)

#: Points of a demand profile: quantiles 0/32, 1/32 ... 32/32.
QUANTILES = 33


def _record(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


CLOCK = np.dtype(
    [
        ("horizon_ns", np.int64),
        ("seed", np.uint64),
        ("record_events", np.int64),
        # state
        ("now_ns", np.int64),
        ("ended", np.int64),
        ("next_sample", np.int64),
        ("next_fault", np.int64),
        ("active_jobs", np.int64),
        ("deliveries", np.int64),
        ("jobs", np.int64),
        ("slices", np.int64),
        ("drops", np.int64),
        ("events", np.int64),
        ("jobs_needed", np.int64),
        ("slices_needed", np.int64),
        ("drops_needed", np.int64),
        ("events_needed", np.int64),
    ]
)

#: `first_task`, `last_task`: half-open range in `links` of the tasks placed here, ascending.
PROCESSOR = _record(
    "policy",
    "preemptive",
    "first_task",
    "last_task",
    # state
    "running",
    "segment_start_ns",
    "completion_ns",
    "overrun_ns",
    "lost",
    "dispatch",
)

#: Arrival k of a timed task is offset + k * period + floor(k * period_rest / rate_numerator): the period of a rational
#: rate, split so that only a remainder below the numerator is carried from one arrival to the next.
#: `first_input` ... `last_output`: half-open ranges in `links` of the edges that end and start here, ascending.
#: `first_demand`, `explicit_demands`: range in `demands` of the demands given job by job.
TASK = _record(
    "processor",
    "level",
    "deadline_ns",
    "activation",
    "offset_ns",
    "period_ns",
    "period_rest",
    "rate_numerator",
    "budget_ns",
    "deadline_action",
    "tolerance_ns",
    "first_input",
    "last_input",
    "first_output",
    "last_output",
    "first_demand",
    "explicit_demands",
    # state
    "next_arrival_ns",
    "carry",
    "next_number",
    "head_job",
    "tail_job",
    "deadline_job",
    "next_deadline_ns",
    "delivered",
)

#: `first_place`: where the edge's ring of `depth` message ids begins in `rings`.
EDGE = _record(
    "target",
    "slot",
    "kind",
    "depth",
    "drop_policy",
    "required",
    "role",
    "first_place",
    # state
    "register",
    "owed",
    "head",
    "count",
)

SENSOR = _record("first_output", "last_output", "lost")
SAMPLE = _record("arrival_ns", "sensor", "capture_ns", "status")
FAULT = _record("time_ns", "kind", "target")

#: `activated_by`: input slot whose message activated the job, NONE for timed and paired jobs.
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
)
SLICE = _record("processor", "job", "start_ns", "end_ns")
DROP = _record("time_ns", "edge", "message", "reason")
EVENT = _record("time_ns", "kind", "processor", "task", "job", "edge", "message")


class Machine(NamedTuple):
    """All tables of one machine, static and state, in the order in which `machine.advance` takes them.

    Shapes: clock[1]; processors, tasks, edges, sensors, samples, faults: one record each (samples by arrival, sensor,
    number; faults by time); links int64[*]: index lists; quantiles int64[n_tasks, 33]: demand profile, ascending;
    demands int64[*]; rings int64[sum of depths]; jobs, slices, drops, events: growing tables with spare rows;
    inputs int64[len(jobs), max slots]: message ids read by each job.
    """

    clock: npt.NDArray[np.void]
    processors: npt.NDArray[np.void]
    tasks: npt.NDArray[np.void]
    edges: npt.NDArray[np.void]
    sensors: npt.NDArray[np.void]
    links: npt.NDArray[np.int64]
    quantiles: npt.NDArray[np.int64]
    demands: npt.NDArray[np.int64]
    samples: npt.NDArray[np.void]
    faults: npt.NDArray[np.void]
    rings: npt.NDArray[np.int64]
    jobs: npt.NDArray[np.void]
    inputs: npt.NDArray[np.int64]
    slices: npt.NDArray[np.void]
    drops: npt.NDArray[np.void]
    events: npt.NDArray[np.void]


def empty_machine() -> Machine:
    """A machine without tasks that ends at once; its arrays have the types that the compiled code expects."""

    def no_records(layout: np.dtype[np.void]) -> npt.NDArray[np.void]:
        return np.zeros(0, layout)

    no_integers = np.zeros(0, np.int64)
    return Machine(
        clock=np.zeros(1, CLOCK),
        processors=no_records(PROCESSOR),
        tasks=no_records(TASK),
        edges=no_records(EDGE),
        sensors=no_records(SENSOR),
        links=no_integers,
        quantiles=np.zeros((0, QUANTILES), np.int64),
        demands=no_integers,
        samples=no_records(SAMPLE),
        faults=no_records(FAULT),
        rings=no_integers,
        jobs=no_records(JOB),
        inputs=np.zeros((0, 1), np.int64),
        slices=no_records(SLICE),
        drops=no_records(DROP),
        events=no_records(EVENT),
    )
