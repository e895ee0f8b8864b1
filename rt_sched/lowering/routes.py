"""Which link carries each message once a plan has placed its sender and its reader.

A file says for every input how its messages come while both tasks run where the file puts them. A plan may put them
elsewhere:

- on one device, messages take no link; unless the file names one although it puts both on one device, too;
- on two devices, where the file puts both on one and names no link, they take the link between those devices that
  needs the least time; where a system has no links at all, its messages are visible at once everywhere;
- otherwise they come as the file says, over a link of the same two devices or, where there is none, over the fastest.

A sensor is on every device that it is attached to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.units import NS_PER_S, ceil_int


def routed(system: model.System, plan: model.Plan) -> model.System:
    """`system` with the link of every input as `plan` needs it; `plan` has passed `check_plan`."""
    device_of = devices_under(plan)
    if all(device_of[task.name] == task.pe[0] for task in system.tasks):
        return system
    routes = Routes(system)
    tasks = tuple(
        replace(
            task,
            inputs=tuple(replace(given, link=routes.link_or_declared(task, given, device_of)) for given in task.inputs),
        )
        for task in system.tasks
    )
    return replace(system, tasks=tasks)


def crossings_without_link(system: model.System, plan: model.Plan) -> list[tuple[str, str]]:
    """Tasks with what they read from another device over no link, as (task, source): such messages come at once."""
    device_of = devices_under(plan)
    devices_of = {sensor.name: set(sensor.attached_to) for sensor in system.sensors}
    devices_of |= {name: {device} for name, device in device_of.items()}
    return [
        (task.name, given.source)
        for task in routed(system, plan).tasks
        for given in task.inputs
        if given.link is None and device_of[task.name] not in devices_of[given.source]
    ]


def check_routes(system: model.System, plan: model.Plan, lost: Collection[str] = ()) -> list[str]:
    """Every message that no link carries to its reader under `plan`, or whose size on a link is not known.

    Nothing has to reach or leave the devices that are `lost`.
    """
    routes, device_of = Routes(system), devices_under(plan)
    problems = []
    for task in system.tasks:
        for given in task.inputs:
            ends = (device_of[task.name], device_of.get(given.source))
            if routes.at_home(task, given, device_of) or any(device in lost for device in ends):
                continue
            try:
                link = routes.link(task, given, device_of)
            except NoRouteError as error:
                problems.append(f"task {task.name}: input {given.name} {error}")
                continue
            if link is not None and given.size_bytes is None:
                problems.append(
                    f"task {task.name}: input {given.name} comes over {link} here, but the size of its messages is not "
                    f"known; write output_size or frame_size at {given.source}"
                )
    return problems


def devices_under(plan: model.Plan) -> dict[str, str]:
    """Task -> device."""
    return {one.task: plan.processors[one.processor].device for one in plan.placements}


def as_placed(system: model.System, plan: model.Plan) -> model.System:
    """The system with every task on the element where a plan puts it, to ask where things are and what a loss takes.

    What is lowered or analysed is the system itself, whose tasks the plan places.
    """
    place_of = {one.task: plan.processors[one.processor] for one in plan.placements}
    placed = [(task, place_of[task.name]) for task in system.tasks]
    return replace(system, tasks=tuple(replace(task, pe=(place.device, place.pe)) for task, place in placed))


class NoRouteError(Exception):
    """No link carries a message to its reader."""


class Routes:
    """The links of a system, and where its file puts everything."""

    def __init__(self, system: model.System) -> None:
        self._links = {link.name: link for link in system.links}
        self._home: dict[str, tuple[str, ...]] = {task.name: (task.pe[0],) for task in system.tasks}
        self._home |= {sensor.name: sensor.attached_to for sensor in system.sensors}

    def homes(self, given: model.Input) -> tuple[str, ...]:
        """The devices where the file puts the source of an input."""
        return self._home.get(given.source, ())

    def link(self, reader: model.Task, given: model.Input, device_of: Mapping[str, str]) -> str | None:
        """The link of an input while tasks are on `device_of`; raises NoRouteError."""
        return self.link_between(reader, given, self._at(given, device_of), device_of[reader.name])

    def link_or_declared(self, reader: model.Task, given: model.Input, device_of: Mapping[str, str]) -> str | None:
        """The link of an input; where none leads to its reader, as may be with what is lost, that of the file."""
        try:
            return self.link(reader, given, device_of)
        except NoRouteError:
            return given.link

    def at_home(self, reader: model.Task, given: model.Input, device_of: Mapping[str, str]) -> bool:
        """Whether an input's source and reader are where the file puts them."""
        return device_of[reader.name] == reader.pe[0] and self._at(given, device_of) == self.homes(given)

    def _at(self, given: model.Input, device_of: Mapping[str, str]) -> tuple[str, ...]:
        return (device_of[given.source],) if given.source in device_of else self.homes(given)

    def link_between(self, reader: model.Task, given: model.Input, at: tuple[str, ...], here: str) -> str | None:
        """The link of an input whose source is on the devices `at` and whose reader is on `here`."""
        declared = given.link
        if here == reader.pe[0] and at == self.homes(given):
            return declared
        together_at_home = not self.homes(given) or reader.pe[0] in self.homes(given)
        if here in at:
            return declared if together_at_home and declared is not None and self._reaches(declared, at, here) else None
        if declared is None and (not together_at_home or not self._links):
            return None
        if declared is not None and self._reaches(declared, at, here):
            return declared
        ways = [link for link in self._links.values() if self._reaches(link.name, at, here)]
        if not ways:
            raise NoRouteError(
                f"comes from {given.source} on {' and '.join(at)}, and no link leads from there to {here}"
            )
        return min(ways, key=lambda link: (transfer_ns(link, given.size_bytes), link.name)).name

    def cost_ns(self, reader: model.Task, given: model.Input, at: tuple[str, ...], here: str) -> int | None:
        """Time of one message on an idle link, None where no link leads there."""
        try:
            name = self.link_between(reader, given, at, here)
        except NoRouteError:
            return None
        return 0 if name is None else transfer_ns(self._links[name], given.size_bytes)

    def _reaches(self, name: str, at: Iterable[str], here: str) -> bool:
        link = self._links.get(name)
        return link is not None and (not link.between or (here in link.between and bool(set(at) & set(link.between))))


def transfer_ns(link: model.Link, size_bytes: int | None) -> int:
    """Time of one message on an idle link, rounded up."""
    return ceil_int(Fraction((size_bytes or 1) * NS_PER_S) / link.bandwidth_bytes_per_s) + link.latency_ns
