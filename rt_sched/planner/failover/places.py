"""Where tasks of lost devices may go: on what kind of element, within reach of what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rt_sched.analysis.faults.losses import loss_of_faults
from rt_sched.analysis.faults.takeover_loads import faults_of
from rt_sched.lowering.losses import lost_sensors
from rt_sched.lowering.routes import NoRouteError, Routes
from rt_sched.model import Fault, FaultKind, Input, Link, Policy, Protocol, Task
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses, targets

_WITH_CYCLE = (Policy.TABLE, Policy.TIME_SLICED)


class Places:
    """The places that some losses leave. `placed`, where asked for: the device of every moved task so far."""

    def __init__(self, ground: Ground, losses: Losses) -> None:
        self._ground = ground
        self._gone = targets(losses, FaultKind.DEVICE)
        self._cut = targets(losses, FaultKind.LINK)
        self._links: Mapping[str, Link] = {link.name: link for link in ground.system.links}
        self._routes = Routes(ground.system)
        self._attached = {sensor.name: sensor.attached_to for sensor in ground.system.sensors}
        self.starved = self._starved(losses)
        self._local = {one.name for one in ground.system.resources if one.protocol is not Protocol.MSRP}

    def _starved(self, losses: Losses) -> frozenset[str]:
        """Tasks that nothing activates any more wherever they are: their sensors, or the links to them, are lost."""
        faults = faults_of(losses)
        silent = lost_sensors(self._ground.system, faults)
        kinds = {sensor.name: FaultKind(sensor.kind.value) for sensor in self._ground.system.sensors}
        found = [Fault(kinds[name], name, 0) for name in silent] + [f for f in faults if f.kind is FaultKind.LINK]
        dead = [loss_of_faults(mode, found).dead for mode in self._ground.modes.values()]
        names = list(self._ground.tasks)
        return frozenset(names[index] for index in set.intersection(*(set(one) for one in dead)))

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that go on."""
        return tuple(device.name for device in self._ground.system.devices if device.name not in self._gone)

    def is_lost(self, task: str) -> bool:
        """Whether a task is at home on a lost device."""
        return self._ground.device_of(self._ground.home[task]) in self._gone

    def processors(self, task: str, device: str) -> Iterator[int]:
        """The processors of a device on which a task may stand by.

        Where candidates are declared, these and the element of the file; else elements of the kind of its own, at the
        same frequency unless the times say at which they hold. What belongs to a cycle, or holds a resource with a
        ceiling, stays where it is.
        """
        one = self._ground.tasks[task]
        home = self._ground.plan.processors[self._ground.home[task]]
        ceilings = {r.name for r in self._ground.system.resources if r.protocol is Protocol.PRIORITY_CEILING}
        if home.policy in _WITH_CYCLE or any(section.resource in ceilings for section in one.sections):
            return
        for number, processor in enumerate(self._ground.plan.processors):
            here = processor.device == device and processor.policy not in _WITH_CYCLE
            if here and self._fits_kind(one, (processor.device, processor.pe)):
                yield number

    def _fits_kind(self, task: Task, place: tuple[str, str]) -> bool:
        own, there = self._ground.elements[task.pe], self._ground.elements[place]
        if task.candidates:
            return place in (task.pe, *task.candidates) and self._ground.has_time(task, task, there)
        same_clock = own.frequency_hz == there.frequency_hz
        return own.kind is there.kind and (same_clock or self._ground.times_on(task, there).frequency_hz is not None)

    def why_out_of_reach(self, task: str, device: str, placed: Mapping[str, str]) -> str | None:
        """Why a task on this device would lack an input, or its readers it; None when nothing is missing."""
        one = self._ground.tasks[task]
        for port in one.inputs:
            if port.source in self._attached:
                reason = self._frames_reach(one, port, device)
            else:
                reason = self._messages_reach(one, port, self._device(port.source, placed), device)
            if reason is not None:
                return reason
        for reader in self._ground.readers.get(task, ()):
            there, other = self._device(reader, placed), self._ground.tasks[reader]
            for port in other.inputs:
                if port.source == task and reader != task and there is not None:
                    reason = self._messages_reach(other, port, device, there)
                    if reason is not None:
                        return reason
        return None

    def _device(self, task: str, placed: Mapping[str, str]) -> str | None:
        """Where a task is; None while that is open, or when it is lost."""
        if task in placed:
            return placed[task]
        device = self._ground.device_of(self._ground.home[task])
        return None if device in self._gone else device

    def _frames_reach(self, reader: Task, port: Input, device: str) -> str | None:
        """Raw frames come by attachment, or over a link from a device that the sensor is still attached to."""
        every = self._attached[port.source]
        attached = [name for name in every if name not in self._gone]
        if not attached or (not every and port.link is None):
            return None
        link = self._link(reader, port, every, device)
        if link is None:
            # Where the file has it read without a link on a device that it is not attached to, it may be read anywhere.
            everywhere = reader.pe[0] not in every and port.link is None
            return None if device in attached or everywhere else f"{port.source} is not attached to {device}"
        if isinstance(link, str):
            return link
        if link.between and not set(attached) & set(link.between):
            return f"link {link.name} of input {port.name} leads from a lost device"
        return self._why_not_over(link, port)

    def _messages_reach(self, reader: Task, port: Input, sender: str | None, receiver: str) -> str | None:
        if sender is None:
            return None
        link = self._link(reader, port, (sender,), receiver)
        return link if link is None or isinstance(link, str) else self._why_not_over(link, port)

    def _link(self, reader: Task, port: Input, at: tuple[str, ...], device: str) -> Link | str | None:
        """The link that brings an input, None where it needs none; text where none leads there."""
        try:
            name = self._routes.link_between(reader, port, at, device)
        except NoRouteError as none:
            return f"input {port.name} {none}"
        return None if name is None else self._links[name]

    def _why_not_over(self, link: Link, port: Input) -> str | None:
        if link.name in self._cut:
            return f"link {link.name} of input {port.name} is lost"
        return (
            None if port.size_bytes is not None else f"the size of input {port.name} on link {link.name} is not known"
        )

    def companions(self, task: str) -> tuple[str, ...]:
        """Tasks that must share a core with it: users of a resource whose protocol is for one core."""
        used = {section.resource for section in self._ground.tasks[task].sections} & self._local
        return tuple(
            name
            for name, other in self._ground.tasks.items()
            if name != task and used & {section.resource for section in other.sections}
        )

    def owners(self, sensor: str) -> tuple[str, ...]:
        """The devices that may own a sensor, best first: one that reads it already, then in order of attachment.

        Where frames come over a link, any device may.
        """
        readers = self._ground.readers.get(sensor, ())
        reading = [self._ground.device_of(self._ground.home[name]) for name in readers if not self.is_lost(name)]
        attached = [name for name in self._attached[sensor] if name not in self._gone]
        return tuple(dict.fromkeys([*reading, *attached, *self.devices]))
