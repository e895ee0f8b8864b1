"""One more camera in a system file: with a pipeline like that of a camera that is there, on a device of choice.

The pipeline of a camera are the tasks whose data come from no other sensor. Where their messages go on (the fusion),
the new camera gets an input of its own; chains, faults, modes and parameters that name the old one get a twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rt_sched.app.what_if.losses import source
from rt_sched.app.what_if.tree import (
    at,
    copied,
    drop,
    entries,
    get,
    keys,
    listing,
    mappings_below,
    put,
    text,
    word,
    words,
)
from rt_sched.app.what_if.tree import replaced as with_names
from rt_sched.config.yaml_events import Raw

#: Keys of faults whose words are no tasks.
_OF_SENSORS = ("lose", "freeze", "corrupt")


def add_camera(root: Raw, name: str, like: str, device: str | None) -> list[str]:
    """Adds camera `name` like camera `like`; its tasks run on `device`, None for where those of `like` run.

    Says what was done. The names that `twins` gives must be free.
    """
    names = twins(root, name, like)
    tasks, sensors = at(root, "tasks"), at(root, "sensors")
    mine = pipeline(root, like)
    put(sensors, name, _sensor(root, name, like, device))
    attached = ", ".join(words(get(sensors, name, "attached_to")))
    did = [f"camera {name} is like {like}, attached to {attached}"]
    for old in mine:
        task = _task(entries(tasks)[old], names, device)
        put(tasks, names[old], task)
        did.append(f"task {names[old]} is like {old}, on {text(get(task, 'runs_on'))}")
    for reader, task in entries(tasks).items():
        if reader in names.values() or reader in mine:
            continue
        for given, value in entries(get(task, "inputs")).items():
            if source(value) in (like, *mine):
                new = twin(given, name, like)
                put(at(task, "inputs"), new, with_names(value, names))
                did.append(f"input {new} of {reader} is like {given}")
    _add_to_parameters(root, names, mine, name, like)
    did += _add_twins(root, "chains", names, name, like)
    did += _add_twins(root, "faults", names, name, like)
    for mode in entries(get(root, "modes")).values():
        for key in ("tasks", "without"):
            given_words = get(mode, key)
            added = [names[one] for one in words(given_words) if one in mine]
            if given_words is not None and added:
                put(mode, key, listing([word(one, given_words) for one in (*words(given_words), *added)], given_words))
    return did


def pipeline(root: Raw, camera: str) -> list[str]:
    """The tasks whose data come from the camera and no other sensor, in file order."""
    tasks = entries(get(root, "tasks"))
    behind: dict[str, set[str]] = {name: {name} for name in keys(get(root, "sensors"))}
    behind |= {name: set() for name in tasks}
    changed = True
    while changed:
        changed = False
        for name, task in tasks.items():
            found = set().union(*(behind.get(source(given), set()) for given in entries(get(task, "inputs")).values()))
            changed = changed or not found <= behind[name]
            behind[name] |= found
    return [name for name in tasks if behind[name] == {camera}]


def twins(root: Raw, name: str, like: str) -> dict[str, str]:
    """Old name -> new name, of the camera and the tasks of its pipeline."""
    return {like: name} | {old: twin(old, name, like) for old in pipeline(root, like)}


def twin(old: str, name: str, like: str) -> str:
    """The name of what is to the camera `name` what `old` is to `like`."""
    return old.replace(like, name) if like in old else f"{old}_{name}"


def _sensor(root: Raw, name: str, like: str, device: str | None) -> Raw:
    sensor = copied(at(root, "sensors", like))
    for key in ("topic", "topics"):
        given = get(sensor, key)
        if given is not None:
            topics = [one.replace(like, name) if like in one else f"/camera/{name}" for one in words(given)]
            put(sensor, key, listing([word(one, given) for one in dict.fromkeys(topics)], given))
    attached = get(sensor, "attached_to")
    if device is not None and attached is not None:
        others = [one for one in words(attached) if one != device]
        kept = [device, *others][: len(words(attached))]
        put(sensor, "attached_to", listing([word(one, attached) for one in kept], attached))
    return sensor


def _task(old: Raw, names: Mapping[str, str], device: str | None) -> Raw:
    task = copied(old)
    for key in ("inputs", "parameters"):
        value = get(task, key)
        if value is not None:
            put(task, key, with_names(value, names))
    place = get(task, "runs_on")
    if device is None or place is None:
        return task
    old_device, _, element = (text(place) or "").partition(".")
    new_place = f"{device}.{element}"
    put(task, "runs_on", word(new_place, place))
    if old_device != device:
        drop(task, "core")
    given = get(task, "candidates")
    kept = [one for one in words(given) if one != new_place]
    if given is not None and kept:
        put(task, "candidates", listing([word(one, given) for one in kept], given))
    elif given is not None:
        drop(task, "candidates")
    return task


def _add_to_parameters(root: Raw, names: Mapping[str, str], mine: Iterable[str], name: str, like: str) -> None:
    """Where parameters of other tasks have an entry for the old camera, the new one gets the same."""
    for other, task in entries(get(root, "tasks")).items():
        if other in names.values() or other in mine:
            continue
        for below in list(mappings_below(get(task, "parameters"))):
            value = get(below, like)
            if value is not None:
                put(below, name, copied(value))
            for key, item in entries(below).items():
                if item.kind == "sequence" and like in words(item):
                    put(below, key, listing([*item.value, word(name, item)], item))


def _add_twins(root: Raw, section: str, names: Mapping[str, str], name: str, like: str) -> list[str]:
    """Chains and faults that name what has a twin get one, too."""
    found = get(root, section)
    did = []
    for old, value in entries(found).items():
        # What is lost is a sensor, device or link, which a task may share its name with.
        meant = {like: name} if any(get(value, key) is not None for key in _OF_SENSORS) else names
        touched = any(step in meant for key in ("path", *_OF_SENSORS, "overrun") for step in words(get(value, key)))
        if found is not None and touched:
            new = twin(old, name, like)
            put(found, new, with_names(value, meant))
            did.append(f"{section[:-1]} {new} is like {old}")
    return did
