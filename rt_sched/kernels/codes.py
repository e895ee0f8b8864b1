"""Integer codes of the scheduling state machine: what the numbers in its tables mean."""

from __future__ import annotations

import numpy as np


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

#: Planned changes, in the order in which they happen at one instant.
(
    PROCESSOR_LOSS,
    SENSOR_LOSS,
    LINK_LOSS,
    PROCESSOR_RETURN,
    SENSOR_RETURN,
    LINK_RETURN,
    FREQUENCY_CHANGE,
    MOVE,
    VARIATION,
    ROUTE_CHANGE,
    REMOVAL,
    ADDITION,
    EXTRA_ARRIVAL,
) = _codes(13)

#: What a core does between two instants of a slice.
SLICE_EXECUTE, SLICE_SWITCH, SLICE_SPIN = _codes(3)

#: Steps of a job's program, in the order in which they happen at one executed time.
STEP_UNLOCK, STEP_SUSPEND, STEP_LOCK, STEP_POINT = _codes(4)

#: Why the oldest job of a task does not wait for a core; bits of `TASK.hold`, none when it does.
READY = np.int64(0)
HOLD_RELEASE, HOLD_SUSPENDED, HOLD_LOCK, HOLD_BUDGET, HOLD_ON_CORE, HOLD_NO_JOB = (np.int64(2**bit) for bit in range(6))

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
    EVENT_PROCESSOR_RETURNED,
    EVENT_SENSOR_RETURNED,
    EVENT_LINK_RETURNED,
    EVENT_TASK_MOVED,
    EVENT_TASK_VARIED,
) = _codes(42)

#: What `machine.advance` returns.
ADVANCED, REACHED, ENDED, FULL = _codes(4)

#: Value of `check` in a task.
CHECK_LATE = 2
