"""Protects safety-relevant messages where a job publishes them and checks them where a job reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rt_sched.messages.authentication import Authenticator
from rt_sched.messages.e2e import (
    COUNTER_MODULUS,
    E2EMemory,
    E2EState,
    check,
    intact_header,
    is_protectable,
    protect,
)
from rt_sched.model import EdgeKind, Task
from rt_sched.ports import JobContext

#: A slow reader skips messages by design, and the schedule counts what is lost: only a step back is a wrong sequence.
_ANY_STEP_AHEAD = COUNTER_MODULUS // 2 - 1


def protected_outputs(
    task: str, context: JobContext, outputs: Mapping[str, Any], authenticator: Authenticator | None = None
) -> dict[str, Any]:
    """`outputs` by port, with headers where their types carry one; the counter is the number of the job."""
    return {
        port: protect(
            message,
            source=f"{task}.{port}",
            counter=context.number,
            stamp_ns=context.finish_ns,
            authenticator=authenticator,
        )
        if is_protectable(message)
        else message
        for port, message in outputs.items()
    }


class InputGuard:
    """The receiving ends of a task's inputs. `keeps_memory`: jobs come in order, so that sequence can be judged too.

    `authenticator`: of what the task reads, and publishes; None where nothing carries a tag.
    """

    def __init__(self, task: Task, *, keeps_memory: bool, authenticator: Authenticator | None = None) -> None:
        self._inputs = task.inputs
        self.authenticator = authenticator
        self._memory = [E2EMemory()] * len(task.inputs) if keeps_memory else None

    def source(self, slot: int) -> str:
        """Where messages of input `slot` must come from."""
        return self._inputs[slot].origin

    def state(self, slot: int, message: object) -> E2EState:
        """The state of `message` at input `slot`; without memory OK or ERROR only."""
        source = self.source(slot)
        if self._memory is None:
            return E2EState.ERROR if intact_header(message, source, self.authenticator) is None else E2EState.OK
        is_register = self._inputs[slot].edge.kind is EdgeKind.LATEST
        state, self._memory[slot] = check(
            message,
            source,
            self._memory[slot],
            is_register=is_register,
            max_step=_ANY_STEP_AHEAD,
            authenticator=self.authenticator,
        )
        return state
