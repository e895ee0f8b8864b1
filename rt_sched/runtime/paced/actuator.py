"""The process `rt-actuator`: applies the arbiter's commands in its cycles, and brakes by itself when they stay away.

All that it shares with others while it works is the clock of the run and a segment of its own: one channel that the
arbiter's worker writes, and one from whoever sends the arbiter requests for a release, where somebody does. It writes
down what it applies where nobody reads before the end.
"""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rt_sched.messages import ArbiterDecision, ArbiterState, Authenticator, Command
from rt_sched.messages.e2e import E2EMemory, E2EState, check, protect
from rt_sched.model import Edge, EdgeKind, Overflow
from rt_sched.ports import Port, Reader
from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.memory import lock_memory
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.codec import Encoded, decoded
from rt_sched.runtime.paced.jobs.edges import Publish
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.transport import Channel, ChannelReader, Segment
from safety.actuator import ActuatorInput, ActuatorMemory, ActuatorPolicy, ActuatorState, Applied, actuate
from safety.actuator_record import ActuatorRecord, recorded
from safety.release import ANY_STEP_AHEAD

#: Below supervisors; above everything that it must not depend on.
ACTUATOR_PRIORITY = 87
#: Of ordinary processes, as nice(1) counts.
_MOST_URGENT = -20
_READER = "actuator"
#: Decisions are small; this is room for long reasons.
_LEAST_BYTES = 1 << 16
#: What the check is tried on beforehand, as its code is loaded then.
_EXAMPLE = ArbiterDecision(0, 0, ArbiterState.STARTING, "hold", Command(0, "", 0, 0.0, False, None, True), "")
_NEVER = np.iinfo(np.int64).min
_STATES = tuple(ActuatorState)
_TEXT_BYTES = 96
_ROW = np.dtype(
    [
        ("time_ns", np.int64),
        ("state", np.int64),
        ("acceleration_m_s2", np.float64),
        ("age_ns", np.int64),
        ("accepted", np.int64),
        ("doubt", f"S{_TEXT_BYTES}"),
        ("refused", f"S{_TEXT_BYTES}"),
    ]
)


@dataclass(frozen=True, slots=True)
class ActuatorOrder:
    """`task`, `port`: the arbiter's, where its decisions come from. `release`: task and port of requests."""

    task: str
    port: str
    policy: ActuatorPolicy
    release: tuple[str, str] | None = None


class Inlet:
    """What comes from one port of one task. Made before forks; whoever reads calls `open` first."""

    def __init__(self, segment: Segment, task: str, port: str, authenticator: Authenticator | None) -> None:
        self.task, self.port = task, port
        self._ports, self._source, self._authenticator = cast(Port, segment), f"{task}.{port}", authenticator
        self._reader: Reader | None = None
        self._known, self._seen = E2EMemory(), -1

    def open(self) -> None:
        """Claims the channel, and loads the code of the check."""
        self._reader = self._ports.reader(self._source, _READER)
        check(
            protect(_EXAMPLE, source=self._source, counter=0, stamp_ns=0), self._source, E2EMemory(), is_register=True
        )

    def look(self) -> tuple[Any, E2EState]:
        """What lies there, None where nothing is new, and what is known of it."""
        message = None if self._reader is None else self._reader.take()
        if message is None:
            return None, E2EState.NO_NEW_DATA
        with message:
            if message.sequence == self._seen:
                return None, E2EState.NO_NEW_DATA
            self._seen = message.sequence
            result: Outputs | NoData = decoded(message.data, copy=True)
        given = result.ports.get(self.port) if isinstance(result, Outputs) else None
        if given is None:
            return None, E2EState.ERROR
        # A slow reader skips messages by design: only a step back is a wrong sequence.
        state, self._known = check(
            given,
            self._source,
            self._known,
            is_register=True,
            max_step=ANY_STEP_AHEAD,
            authenticator=self._authenticator,
        )
        return given, state

    def published_too(self, publish: Publish) -> Publish:
        """In the worker of the task: `publish`, and the same message to the actuators' side at the same instant.

        A job that has none leaves what lies there: nothing was asked, and a request that nobody has read yet stays.
        """
        writer = self._ports.writer(self._source)

        def to_both(
            parcels: Mapping[str, Encoded], number: int, capture_ns: int, finished_ns: Callable[[], int | None]
        ) -> None:
            parcel = parcels[self.port]
            if parcel.kind is NoData:
                publish(parcels, number, capture_ns, finished_ns)
                return
            loan = writer.loan(parcel.size)
            parcel.write(loan.data)
            sent_ns: list[int | None] = []

            def noted() -> int | None:
                sent_ns.append(finished_ns())
                return sent_ns[0]

            publish(parcels, number, capture_ns, noted)
            counts_ns = sent_ns[0] if sent_ns else noted()
            if counts_ns is None:
                writer.give_back(loan)
            else:
                writer.publish(loan, capture_ns, counts_ns, size=parcel.size, tag=number)

        return to_both


class ActuatorSide:
    """Made before forks. `message_bytes`: of the largest decision so far."""

    def __init__(
        self,
        order: ActuatorOrder,
        message_bytes: int,
        clock: PacedClock,
        horizon_ns: int,
        authenticator: Authenticator | None = None,
    ) -> None:
        self.task, self.policy = order.task, order.policy
        origins = [(order.task, order.port), *([order.release] if order.release is not None else [])]
        edge = Edge(EdgeKind.LATEST, 1, Overflow.DROP_OLDEST)
        size = max(_LEAST_BYTES, 3 * message_bytes)
        self._segment = Segment.create(
            [Channel(f"{task}.{port}", size, (ChannelReader(_READER, edge, 2),)) for task, port in origins]
        )
        self.inlets = tuple(Inlet(self._segment, task, port, authenticator) for task, port in origins)
        self._clock, self._horizon_ns = clock, horizon_ns
        self._rows = shared_array(_ROW, horizon_ns // order.policy.cycle_ns + 2)
        self._count = shared_array(np.int64, 3)

    def published_too(self, publish: Publish, task: str) -> Publish:
        """In the worker of `task`: `publish`, and to the actuators' side what it reads of that task."""
        for inlet in self.inlets:
            if inlet.task == task:
                publish = inlet.published_too(publish)
        return publish

    def run(self, core: int | None, *, real_time: bool) -> None:
        """In its process: cycle after cycle until the run ends. A cycle that comes too late takes those before it.

        `core`: that no task runs on. Without one it is an ordinary process, the most urgent of them in a real-time
        tier: so it takes nothing from tasks, and is late where they leave it nothing; a command that came meanwhile is
        no older for it.
        """
        name_process("rt-actuator")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        set_timer_slack_ns(1)
        for inlet in self.inlets:
            inlet.open()
        gc.collect()
        gc.freeze()
        gc.disable()
        with suppress(Refused):  # the launcher says so once
            lock_memory(as_used=True)
        if real_time and core is not None:
            pin([core])
            set_scheduling(Scheduling.fifo(ACTUATOR_PRIORITY))
        elif real_time:
            set_scheduling(Scheduling.other(_MOST_URGENT))
        self._count[2] = 1
        if not self._clock.wait_until_begun():
            return
        began_ns = time.thread_time_ns()
        due_ns, memory = 0, ActuatorMemory()
        while due_ns < self._horizon_ns and self._clock.sleep_until(due_ns):
            given = self.look()
            now_ns = self._clock.now_ns()
            memory, applied = actuate(memory, given, now_ns, self.policy)
            self._note(applied)
            due_ns = max(due_ns, now_ns) // self.policy.cycle_ns * self.policy.cycle_ns + self.policy.cycle_ns
            self._count[1] = time.thread_time_ns() - began_ns

    def look(self) -> ActuatorInput:
        """What is new in its channels."""
        decision, state = self.inlets[0].look()
        release, release_state = self.inlets[1].look() if len(self.inlets) > 1 else (None, E2EState.NO_NEW_DATA)
        if not isinstance(decision, ArbiterDecision):
            state = state if decision is None else E2EState.ERROR
            return ActuatorInput(None, state, 0, release, release_state)
        sent_ns = 0 if decision.header is None else decision.header.stamp_ns
        return ActuatorInput(decision.command, state, sent_ns, release, release_state)

    def _note(self, applied: Applied) -> None:
        count = int(self._count[0])
        if count < len(self._rows):
            self._rows[count] = (
                applied.time_ns,
                _STATES.index(applied.state),
                applied.acceleration_m_s2,
                _NEVER if applied.age_ns is None else applied.age_ns,
                applied.accepted,
                _text(applied.doubt),
                _text(applied.refused),
            )
            self._count[0] = count + 1

    def applied(self) -> list[Applied]:
        """What was applied, cycle by cycle."""
        return [
            Applied(
                time_ns=int(row["time_ns"]),
                state=_STATES[int(row["state"])],
                acceleration_m_s2=float(row["acceleration_m_s2"]),
                age_ns=None if row["age_ns"] == _NEVER else int(row["age_ns"]),
                accepted=bool(row["accepted"]),
                doubt=_told(row["doubt"]),
                refused=_told(row["refused"]),
            )
            for row in self._rows[: int(self._count[0])]
        ]

    def record(self) -> ActuatorRecord:
        """Of the run."""
        return recorded(self.applied(), self._horizon_ns)

    @property
    def ready(self) -> bool:
        """Whether its process waits for the begin."""
        return bool(self._count[2])

    @property
    def cpu_ns(self) -> int:
        """CPU time of its cycles."""
        return int(self._count[1])


def _text(words: str | None) -> bytes:
    return (words or "").encode("utf-8", "replace")[:_TEXT_BYTES]


def _told(text: bytes) -> str | None:
    return bytes(text).decode("utf-8", "replace") or None
