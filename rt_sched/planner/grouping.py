"""Which device processes which cameras.

Compared are, in this order: the highest load of an element, which decides how long frames wait for each other; the
same when the worst single device is lost and every camera of it goes to its second device; how much of their fields of
view the cameras of one device share, since what they both see is then matched without crossing devices; and how many
cameras are not with the device that they are attached to first. A camera goes only to devices that it is attached to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import PEKind, System, Task
from rt_sched.planner.cameras import shared_view_mrad, tasks_of_cameras
from rt_sched.planner.placing.problem import WHOLE_CORE

#: Groupings that are all compared; of more, the best that changes of one camera or two lead to.
_MOST_GROUPINGS = 20_000
#: Changes that are looked at on that way.
_MOST_LOOKS = 4_000

Score = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class GroupingScore:
    """Loads in millionths of a core; `shared_mrad`: sum over pairs on one device; `not_first`: count of cameras."""

    peak: int
    peak_after_loss: int
    shared_mrad: int
    not_first: int

    @property
    def key(self) -> Score:
        """Smaller is better."""
        return self.peak, self.peak_after_loss, -self.shared_mrad, self.not_first


@dataclass(frozen=True, slots=True)
class Grouping:
    """`device_of`: camera -> device; `second_of`: where it goes when that is lost, None for nowhere.

    `tasks_of`: the tasks that see nothing but this camera and go with it. `score`, `as_in_file`: of this grouping and
    of that of the file.
    """

    device_of: Mapping[str, str]
    second_of: Mapping[str, str | None]
    tasks_of: Mapping[str, tuple[str, ...]]
    score: GroupingScore
    as_in_file: GroupingScore


def group_cameras(system: System) -> Grouping | None:
    """The best grouping; None where every task of every camera stays on one device anyway."""
    rig = _Rig(system)
    options = [rig.options[camera] for camera in rig.cameras]
    if not rig.has_choice:
        return None
    if math.prod(map(len, options)) <= _MOST_GROUPINGS:
        best = min(product(*options), key=lambda one: rig.score(one).key)
    else:
        best = rig.improved(tuple(one[0] for one in options))
    return Grouping(
        dict(zip(rig.cameras, best, strict=True)),
        rig.seconds(best),
        {camera: rig.tasks_of[camera] for camera in rig.cameras},
        rig.score(best),
        rig.score(tuple(rig.home[camera] for camera in rig.cameras)),
    )


class _Rig:
    """Cameras with the tasks of their own, and what they ask of each device."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.tasks_of = tasks_of_cameras(system)
        self.cameras = tuple(self.tasks_of)
        self._sensors = {sensor.name: sensor for sensor in system.sensors}
        self._tasks = {task.name: task for task in system.tasks}
        self.home = {camera: self._tasks[tasks[0]].pe[0] for camera, tasks in self.tasks_of.items()}
        self.options = {camera: self._options(camera) for camera in self.cameras}
        with_cameras = {task for tasks in self.tasks_of.values() for task in tasks}
        self._base: dict[tuple[str, PEKind], int] = {}
        for task in system.tasks:
            if task.name not in with_cameras:
                self._add(self._base, task.name, task.pe[0])

    @property
    def has_choice(self) -> bool:
        """Whether any task of a camera may leave its device."""
        return any(
            device != self.home[camera]
            for camera in self.cameras
            for t in self._of(camera)
            for device, _ in t.candidates
        )

    def _options(self, camera: str) -> tuple[str, ...]:
        """The devices that a camera is attached to and where all its tasks may run, the first attached one first."""
        allowed = [{task.pe[0], *(d for d, _ in task.candidates)} for task in self._of(camera)]
        found = [d for d in self._sensors[camera].attached_to if all(d in places for places in allowed)]
        return tuple(found) or (self.home[camera],)

    def _of(self, camera: str) -> list[Task]:
        return [self._tasks[name] for name in self.tasks_of[camera]]

    def score(self, devices: Sequence[str]) -> GroupingScore:
        """How good it is to have each camera on its device of `devices`."""
        load = dict(self._base)
        for camera, device in zip(self.cameras, devices, strict=True):
            self._take(load, camera, device)
        after = max((self._peak(self._after(load, devices, lost)) for lost in set(devices)), default=0)
        shared = sum(
            self._shared_mrad[a, b]
            for (a, on), (b, at) in combinations(zip(self.cameras, devices, strict=True), 2)
            if on == at
        )
        firsts = [self._sensors[camera].attached_to[0] for camera in self.cameras]
        not_first = sum(1 for device, first in zip(devices, firsts, strict=True) if device != first)
        return GroupingScore(self._peak(load), after, shared, not_first)

    def seconds(self, devices: Sequence[str]) -> dict[str, str | None]:
        """For each camera the device that takes it over."""
        found: dict[str, str | None] = dict.fromkeys(self.cameras)
        load = dict(self._base)
        for camera, device in zip(self.cameras, devices, strict=True):
            self._take(load, camera, device)
        for lost in dict.fromkeys(devices):
            now = dict(load)
            for camera, device in zip(self.cameras, devices, strict=True):
                if device == lost:
                    found[camera] = self._second(now, camera, lost)
        return found

    def improved(self, devices: tuple[str, ...]) -> tuple[str, ...]:
        """A grouping that no change of one camera, and no exchange of two, makes better, as far as they are tried."""
        # The highest load alone would not tell which of two changes leads on while several devices have it.
        spread = self._climbed(devices, lambda one: (self._squares(one),))
        return self._climbed(spread, lambda one: self.score(one).key)

    def _climbed(self, best: tuple[str, ...], key: Callable[[tuple[str, ...]], tuple[int, ...]]) -> tuple[str, ...]:
        lowest, looks, improved = key(best), 0, True
        while improved:
            improved = False
            for following in self._neighbours(best):
                looks += 1
                if looks > _MOST_LOOKS:
                    return best
                found = key(following)
                if found < lowest:
                    best, lowest, improved = following, found, True
                    break
        return best

    def _squares(self, devices: Sequence[str]) -> int:
        load = dict(self._base)
        for camera, device in zip(self.cameras, devices, strict=True):
            self._take(load, camera, device)
        return sum(value * value for value in load.values())

    def _neighbours(self, devices: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for place, camera in enumerate(self.cameras):
            for device in self.options[camera]:
                if device != devices[place]:
                    yield (*devices[:place], device, *devices[place + 1 :])
        for a, b in combinations(range(len(devices)), 2):
            exchange = devices[a] != devices[b] and devices[b] in self.options[self.cameras[a]]
            if exchange and devices[a] in self.options[self.cameras[b]]:
                swapped = list(devices)
                swapped[a], swapped[b] = devices[b], devices[a]
                yield tuple(swapped)

    def _after(
        self, load: Mapping[tuple[str, PEKind], int], devices: Sequence[str], lost: str
    ) -> dict[tuple[str, PEKind], int]:
        """Loads once `lost` is gone and its cameras are with their second devices."""
        now = {place: value for place, value in load.items() if place[0] != lost}
        for camera, device in zip(self.cameras, devices, strict=True):
            if device == lost:
                self._second(now, camera, lost)
        return now

    def _second(self, load: dict[tuple[str, PEKind], int], camera: str, lost: str) -> str | None:
        """Puts a camera on its attached device with the lowest load then, of those that could run its tasks; counts it
        in `load`.
        """
        others = [one for one in self._sensors[camera].attached_to if one != lost and self._could_run(camera, one)]
        if not others:
            return None

        def then(device: str) -> int:
            tried = dict(load)
            self._take(tried, camera, device)
            return max((value for place, value in tried.items() if place[0] == device), default=0)

        chosen = min(others, key=then)
        self._take(load, camera, chosen)
        return chosen

    def _could_run(self, camera: str, device: str) -> bool:
        """Whether a device has an element of the kind of every task of a camera."""
        return all((name, device) in self._need for name in self.tasks_of[camera])

    def _take(self, load: dict[tuple[str, PEKind], int], camera: str, device: str) -> None:
        for name in self.tasks_of[camera]:
            self._add(load, name, device)

    def _add(self, load: dict[tuple[str, PEKind], int], name: str, device: str) -> None:
        need = self._need.get((name, device))
        if need is not None:
            kind, share = need
            load[device, kind] = load.get((device, kind), 0) + share

    @cached_property
    def _need(self) -> dict[tuple[str, str], tuple[PEKind, int]]:
        """Task and device -> the kind of element it needs there, and its share of one, all cores together."""
        elements = {(d.name, pe.name): pe for d in self._system.devices for pe in d.processing_elements}
        found = {}
        for task in self._system.tasks:
            kind = elements[task.pe].kind
            for device in self._system.devices:
                cores = sum(pe.cores for pe in device.processing_elements if pe.kind is kind)
                element = next((pe for pe in device.processing_elements if pe.kind is kind), None)
                if element is not None:
                    work = longest_demand_ns(task, element) * WHOLE_CORE
                    found[task.name, device.name] = kind, -(-work // (task.separation_ns * cores))
        return found

    def _peak(self, load: Mapping[tuple[str, PEKind], int]) -> int:
        return max(load.values(), default=0)

    @cached_property
    def _shared_mrad(self) -> dict[tuple[str, str], int]:
        return {(a, b): shared_view_mrad(self._sensors[a], self._sensors[b]) for a, b in combinations(self.cameras, 2)}
