"""The safety concept: which task commands, and what stands behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SafetyConcept:
    """`arbiter`: the task that commands the actuators; `primary`, `backup`: those whose commands it chooses from.

    `command_deadline_ns`: from capture stamp to command. `recovery_limit_ns`: within which the loss of a sensor or
    device must be handled.
    """

    arbiter: str
    primary: str
    backup: str | None
    command_deadline_ns: int | None = None
    recovery_limit_ns: int | None = None
