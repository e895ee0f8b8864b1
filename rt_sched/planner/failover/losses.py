"""Which losses a table of takeovers answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rt_sched.model import FaultKind, System, Takeover

#: Everything that a takeover answers at one time, as in `Takeover.losses`: sorted, "kind:name".
Losses = tuple[str, ...]


def single_losses(system: System) -> tuple[Losses, ...]:
    """The loss of each sensor, device and link by itself, in the order of the system."""
    sensors = ((f"{sensor.kind.value}:{sensor.name}",) for sensor in system.sensors)
    devices = ((f"{FaultKind.DEVICE.value}:{device.name}",) for device in system.devices)
    links = ((f"{FaultKind.LINK.value}:{link.name}",) for link in system.links)
    return (*sensors, *devices, *links)


def checked(system: System, losses: Collection[str]) -> Losses:
    """`losses` sorted, without repetition; raises ValueError for what the system does not have."""
    known = {one for (one,) in single_losses(system)}
    unknown = sorted(set(losses) - known)
    if unknown or not losses:
        raise ValueError(
            f"unknown loss {', '.join(unknown) or '(none is named)'}; there are: {', '.join(sorted(known))}"
        )
    return tuple(sorted(set(losses)))


def targets(losses: Losses, kind: FaultKind) -> frozenset[str]:
    """The names of what is lost of one kind."""
    pairs = (one.partition(":") for one in losses)
    return frozenset(name for word, _, name in pairs if word == kind.value)


def places_in(takeovers: Iterable[Takeover], losses: Losses) -> dict[str, int]:
    """Task -> the processor where takeovers for a part of some losses put it: the one it stays on when more is lost."""
    return {move.task: move.processor for one in takeovers if set(one.losses) < set(losses) for move in one.moves}
