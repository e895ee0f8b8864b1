"""The process `rt-actuator`: applies the arbiter's commands in its cycles, and brakes by itself when they stay away.

All that it shares with others while it works is one channel in a segment of its own, which the arbiter's worker writes,
and the clock of the run; it writes down what it applies where nobody reads before the end.
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
from rt_sched.messages.e2e import COUNTER_MODULUS, E2EMemory, E2EState, check, protect
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

#: Below supervisors; above everything that it must not depend on.
ACTUATOR_PRIORITY = 87
#: Of ordinary processes, as nice(1) counts.
_MOST_URGENT = -20
_CHANNEL, _READER = "commands", "actuator"
#: Decisions are small; this is room for long reasons.
_LEAST_BYTES = 1 << 16
#: A slow reader skips commands by design: only a step back is a wrong sequence.
_ANY_STEP_AHEAD = COUNTER_MODULUS // 2 - 1
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
    ]
)


@dataclass(frozen=True, slots=True)
class ActuatorOrder:
    """`task`, `port`: the arbiter's, where its decisions come from."""

    task: str
    port: str
    policy: ActuatorPolicy


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
        edge = Edge(EdgeKind.LATEST, 1, Overflow.DROP_OLDEST)
        size = max(_LEAST_BYTES, 3 * message_bytes)
        self._segment = Segment.create([Channel(_CHANNEL, size, (ChannelReader(_READER, edge, 2),))])
        self._port = cast(Port, self._segment)
        self.task, self.policy = order.task, order.policy
        self._source, self._authenticator = f"{order.task}.{order.port}", authenticator
        self._where, self._clock, self._horizon_ns = order.port, clock, horizon_ns
        self._rows = shared_array(_ROW, horizon_ns // order.policy.cycle_ns + 2)
        self._count = shared_array(np.int64, 3)

    def published_too(self, publish: Publish) -> Publish:
        """In the arbiter's worker: `publish`, and the same decision to the actuators' side at the same instant."""
        writer = self._port.writer(_CHANNEL)

        def to_both(
            parcels: Mapping[str, Encoded], number: int, capture_ns: int, finished_ns: Callable[[], int | None]
        ) -> None:
            parcel = parcels[self._where]
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

    def run(self, core: int | None, *, real_time: bool) -> None:
        """In its process: cycle after cycle until the run ends. A cycle that comes too late takes those before it.

        `core`: that no task runs on. Without one it is an ordinary process, the most urgent of them in a real-time
        tier: so it takes nothing from tasks, and is late where they leave it nothing; a command that came meanwhile is
        no older for it.
        """
        name_process("rt-actuator")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        set_timer_slack_ns(1)
        reader = self._port.reader(_CHANNEL, _READER)
        check(
            protect(_EXAMPLE, source=self._source, counter=0, stamp_ns=0), self._source, E2EMemory(), is_register=True
        )
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
        known, seen, due_ns = E2EMemory(), -1, 0
        memory = ActuatorMemory()
        while due_ns < self._horizon_ns and self._clock.sleep_until(due_ns):
            given, known, seen = self._look(reader, known, seen)
            now_ns = self._clock.now_ns()
            memory, applied = actuate(memory, given, now_ns, self.policy)
            self._note(applied)
            due_ns = max(due_ns, now_ns) // self.policy.cycle_ns * self.policy.cycle_ns + self.policy.cycle_ns
            self._count[1] = time.thread_time_ns() - began_ns

    def _look(self, reader: Reader, known: E2EMemory, seen: int) -> tuple[ActuatorInput, E2EMemory, int]:
        """What lies in the channel, what is known of it from now on, and the number of the message."""
        message = reader.take()
        if message is None:
            return ActuatorInput(None, E2EState.NO_NEW_DATA), known, seen
        with message:
            if message.sequence == seen:
                return ActuatorInput(None, E2EState.NO_NEW_DATA), known, seen
            seen = message.sequence
            result: Outputs | NoData = decoded(message.data, copy=True)
        decision: Any = result.ports.get(self._where) if isinstance(result, Outputs) else None
        if not isinstance(decision, ArbiterDecision):
            return ActuatorInput(None, E2EState.ERROR), known, seen
        state, known = check(
            decision,
            self._source,
            known,
            is_register=True,
            max_step=_ANY_STEP_AHEAD,
            authenticator=self._authenticator,
        )
        sent_ns = 0 if decision.header is None else decision.header.stamp_ns
        return ActuatorInput(decision.command, state, sent_ns), known, seen

    def _note(self, applied: Applied) -> None:
        count = int(self._count[0])
        if count < len(self._rows):
            self._rows[count] = (
                applied.time_ns,
                _STATES.index(applied.state),
                applied.acceleration_m_s2,
                _NEVER if applied.age_ns is None else applied.age_ns,
                applied.accepted,
                (applied.doubt or "").encode("utf-8", "replace")[:_TEXT_BYTES],
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
                doubt=bytes(row["doubt"]).decode("utf-8", "replace") or None,
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
