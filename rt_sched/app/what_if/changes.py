"""The changes of a `what-if` call: read, held against the system file, and made in its tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rt_sched.app.what_if.camera import add_camera, twins
from rt_sched.app.what_if.losses import remove_chain, remove_device, remove_link, remove_sensor, remove_task
from rt_sched.app.what_if.paths import WrongPath, parsed_value, set_at, steps_of
from rt_sched.app.what_if.tree import entries, expanded, get, keys, moved, text
from rt_sched.config.fields import is_name
from rt_sched.config.loader import SYSTEM
from rt_sched.config.problems import quoted, unknown
from rt_sched.config.yaml_events import Raw
from rt_sched.config.yaml_nodes import Node
from rt_sched.errors import ConfigError, Problem
from rt_sched.model import SensorKind

_SENSORS = tuple(kind.value for kind in SensorKind)
#: What `--remove` takes: where its names stand, and how it is taken out.
_REMOVALS: Mapping[str, tuple[str, Callable[[Raw, str], list[str]]]] = {
    "device": ("devices", remove_device),
    **dict.fromkeys(_SENSORS, ("sensors", remove_sensor)),
    "task": ("tasks", remove_task),
    "chain": ("chains", remove_chain),
    "link": ("links", remove_link),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change as it was asked for, such as --set tasks.detect.wcet=9ms."""

    option: str
    argument: str

    def __str__(self) -> str:
        return f"{self.option} {self.argument}"


@dataclass(frozen=True, slots=True)
class Told:
    """What a change did."""

    change: Change
    did: tuple[str, ...]


class _Wrong(ValueError):
    """The change cannot be made; the message says why."""


def changed_tree(root: Node, changes: Sequence[Change], kinds: Mapping[str, str]) -> tuple[Node, tuple[Told, ...]]:
    """The tree with all changes: cameras first, then what is removed, then values; and what each did.

    Values that were set stand in the line that `option_of` gives back as the change. `kinds`: as `set_at` takes them.
    Raises ConfigError with everything that is wrong with the calls.
    """
    problems: list[Problem] = []
    told: dict[int, tuple[str, ...]] = {}

    def attempt(number: int, make: Callable[..., list[str]], *arguments: object) -> None:
        change = changes[number]
        try:
            told[number] = tuple(make(*arguments))
        except (_Wrong, WrongPath) as error:
            problems.append(Problem(change.option, 0, 0, change.argument, str(error)))

    def asked(option: str) -> list[tuple[int, str]]:
        return [(number, one.argument) for number, one in enumerate(changes) if one.option == option]

    for number, argument in asked("--set"):
        if argument.startswith(SYSTEM.other):
            attempt(number, _set, root.raw, argument, number, kinds)
    tree, before = expanded(Node(root.raw, "")), expanded(Node(root.raw, ""))
    for number, argument in asked("--add-camera"):
        attempt(number, _add, tree, argument)
    unmade = {argument.partition(":")[0] for number, argument in asked("--add-camera") if number not in told}
    for number, argument in asked("--remove"):
        attempt(number, _remove, tree, argument, before)
    for number, argument in asked("--set"):
        path = argument.partition("=")[0]
        if not path.startswith(SYSTEM.other) and not _is_of(path, unmade):
            attempt(number, _set, tree, argument, number, kinds)
    if problems:
        raise ConfigError(problems)
    return Node(tree, ""), tuple(Told(change, told[number]) for number, change in enumerate(changes))


def option_of(line: int, changes: Sequence[Change]) -> Change | None:
    """The change that a value in this line comes from; None for a line of the file."""
    return changes[-line - 1] if line < 0 else None


def _is_of(path: str, cameras: Iterable[str]) -> bool:
    """Whether a path names one of the cameras, or what is made for it."""
    return any(step == name or step.endswith(f"_{name}") for step in path.split(".") for name in cameras)


def _set(root: Raw, argument: str, number: int, kinds: Mapping[str, str]) -> list[str]:
    path, _, value = (part.strip() for part in argument.partition("="))
    if not path or not value:
        raise _Wrong("write PATH=VALUE, such as tasks.detect.wcet=9ms")
    steps = steps_of(path)
    full = set_at(root, steps, moved(parsed_value(value), -number - 1), kinds)
    shared = ", and so is what refers to it" if path.startswith(SYSTEM.other) else ""
    return [f"{full} is {value}{shared}"]


def _add(root: Raw, argument: str) -> list[str]:
    name, _, rest = argument.partition(":")
    given: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, _, value = part.partition("=")
        if key not in ("like", "device") or not value:
            raise _Wrong(
                f"{quoted(part)} is not understood; write NAME:like=CAMERA,device=DEVICE, either may be left out"
            )
        given[key] = value
    if not is_name(name):
        raise _Wrong(f"the name {quoted(name)} is not valid; use letters, digits, _ and -")
    cameras = _of_kind(root, SensorKind.CAMERA.value)
    if not cameras:
        raise _Wrong("the system has no camera that the new one could be like")
    like = given.get("like", cameras[0])
    if like not in cameras:
        raise _Wrong(unknown("camera", like, cameras))
    devices = keys(get(root, "devices"))
    if "device" in given and given["device"] not in devices:
        raise _Wrong(unknown("device", given["device"], devices))
    taken = [new for new in twins(root, name, like).values() if new in (*_all_names(root), like)]
    if taken:
        raise _Wrong(f"there is a sensor or task {taken[0]} already; choose another name")
    return add_camera(root, name, like, given.get("device"))


def _remove(root: Raw, argument: str, before: Raw) -> list[str]:
    """`before`: the tree without any change, which says what there is to be removed."""
    kind, colon, name = argument.partition(":")
    if not colon or not name:
        raise _Wrong("write KIND:NAME, such as device:orin-2, camera:rear or task:detect")
    if kind not in _REMOVALS:
        raise _Wrong(unknown("kind", kind, _REMOVALS))
    section, remove = _REMOVALS[kind]

    def there(tree: Raw) -> list[str]:
        return _of_kind(tree, kind) if section == "sensors" else keys(get(tree, section))

    if name not in there(before) and name not in there(root):
        raise _Wrong(unknown(kind, name, there(before)))
    return remove(root, name) if name in there(root) else [f"{kind} {name} was gone already"]


def _of_kind(root: Raw, kind: str) -> list[str]:
    return [name for name, sensor in entries(get(root, "sensors")).items() if text(get(sensor, "kind")) == kind]


def _all_names(root: Raw) -> list[str]:
    return [*keys(get(root, "sensors")), *keys(get(root, "tasks"))]
