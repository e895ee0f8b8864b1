"""What goes with a sensor, task, device or link that is taken out of a system file.

A task stays as long as its jobs can still arrive and run: an input that it needs must have a source. What only named
something that is gone (a chain, a fault, a mode, an entry of a table, a parameter) is taken out as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from rt_sched.app.what_if.tree import drop, entries, get, keys, listing, mappings_below, put, text, word, words
from rt_sched.config.yaml_events import Raw

#: Keys of an activation by which messages of several inputs make jobs arrive.
_ANY, _ALL = "any", "all"


def remove_sensor(root: Raw, name: str) -> list[str]:
    """Takes out a sensor with all that needs it; says what went."""
    return _without(root, {name}, f"sensor {name} is gone")


def remove_task(root: Raw, name: str) -> list[str]:
    """Takes out a task with all that needs it; says what went."""
    return _without(root, {name}, f"task {name} is gone")


def remove_chain(root: Raw, name: str) -> list[str]:
    """Takes out a chain."""
    drop(get(root, "chains"), name)
    _drop_if_empty(root, "chains")
    return [f"chain {name} is gone", *_drop_limits(root)]


def remove_link(root: Raw, name: str) -> list[str]:
    """Takes out a link; inputs that it carried lose their messages, unless their source runs on the same device."""
    did = [f"link {name} is gone"]
    drop(get(root, "links"), name)
    _drop_if_empty(root, "links")
    did += _drop_faults(root, {name})
    return did + _settle(root, _cut_by(root, {name}, did))


def remove_device(root: Raw, name: str) -> list[str]:
    """Takes out a device: tasks go to their first candidate elsewhere, or are gone with all that needs them."""
    did = [f"device {name} is gone"]
    drop(get(root, "devices"), name)
    homeless = _move_tasks(root, name, did)
    blind = _detach_sensors(root, name, did)
    links = _cut_links(root, name, did)
    did += _drop_faults(root, {name, *links})
    for mode in entries(get(root, "modes")).values():
        drop(get(mode, "power_modes"), name)
        frequencies = get(mode, "frequencies")
        drop(frequencies, *(key for key in keys(frequencies) if key.partition(".")[0] == name))
    lost = _cut_by(root, links, did)
    return did + _settle(root, lost | {(gone, None) for gone in homeless | blind})


def needs(task: Raw) -> tuple[frozenset[str], bool]:
    """The inputs without which the jobs of a task do not run, and whether one of them is enough (`join: any`)."""
    inputs = entries(get(task, "inputs"))
    required = frozenset(name for name, given in inputs.items() if text(get(given, "required")) != "false")
    on, join = text(get(task, "activation", "on")), text(get(task, "activation", "join"))
    if join == _ANY:
        return frozenset(inputs), True
    if on is not None:
        return required | {on}, False
    timed = any(get(task, "activation", key) is not None for key in ("rate", "period", "min_separation"))
    return (required if required or timed or join == _ALL else frozenset(inputs)), False


def source(given: Raw) -> str:
    """The sensor or task behind an input."""
    return (text(given) or text(get(given, "from")) or "").partition(".")[0]


#: An input that has lost its messages: (task, input); or a sensor or task that is gone: (name, None).
_Lost = set[tuple[str, str | None]]


def _without(root: Raw, names: set[str], first: str) -> list[str]:
    return [first, *_settle(root, {(name, None) for name in names})]


def _settle(root: Raw, lost: _Lost) -> list[str]:
    """Takes out what is lost, and on and on what cannot do without that."""
    did: list[str] = []
    tasks, sensors = get(root, "tasks"), get(root, "sensors")
    known_sensors = set(keys(sensors))
    gone = {name for name, given in lost if given is None}
    cut = {(name, given) for name, given in lost if given is not None}
    while True:
        drop(tasks, *gone)
        drop(sensors, *gone)
        more: set[str] = set()
        for name, task in entries(tasks).items():
            mine = [
                given
                for given, value in entries(get(task, "inputs")).items()
                if source(value) in gone or (name, given) in cut
            ]
            if not mine:
                continue
            wanted, one_is_enough = needs(task)
            left = wanted - set(mine)
            if (not left if one_is_enough else wanted & set(mine)) and wanted:
                more.add(name)
                needed = next(given for given in mine if given in wanted)
                did.append(f"task {name} is gone: its input {needed} has no source any more")
            else:
                drop(get(task, "inputs"), *mine)
                did += [f"input {given} of {name} is gone" for given in mine]
        if not more:
            break
        gone |= more
    _drop_if_empty(root, "sensors")
    return did + _drop_names(root, gone, gone & known_sensors) + _drop_limits(root)


def _drop_names(root: Raw, gone: set[str], gone_sensors: set[str]) -> list[str]:
    """Takes out what names sensors or tasks that are gone; parameters of stages name sensors only."""
    did = []
    for name, chain in entries(get(root, "chains")).items():
        through = [step for step in words(get(chain, "path")) if step in gone]
        if through:
            drop(get(root, "chains"), name)
            did.append(f"chain {name} is gone with {through[0]}")
    _drop_if_empty(root, "chains")
    did += _drop_faults(root, gone)
    for mode in entries(get(root, "modes")).values():
        _keep_words(mode, "tasks", gone)
        _keep_words(mode, "without", gone)
        if get(mode, "without") is not None and not words(get(mode, "without")):
            drop(mode, "without")
    did += _drop_from_cycles(root, gone)
    did += _drop_from_safety(root, gone)
    for name, task in entries(get(root, "tasks")).items():
        for below in list(mappings_below(get(task, "parameters"))):
            for key, value in entries(below).items():
                if key in gone_sensors or text(value) in gone_sensors:
                    drop(below, key)
                    did.append(f"parameter {key} of {name} is gone")
                elif value.kind == "sequence":
                    _keep_words(below, key, gone_sensors)
    return did


def _drop_faults(root: Raw, gone: set[str]) -> list[str]:
    faults = get(root, "faults")
    dropped = [
        name
        for name, fault in entries(faults).items()
        if any(text(get(fault, kind)) in gone for kind in ("lose", "freeze", "corrupt", "overrun"))
    ]
    drop(faults, *dropped)
    _drop_if_empty(root, "faults")
    return [f"fault {name} is gone with its target" for name in dropped]


def _drop_limits(root: Raw) -> list[str]:
    """Takes limits of what is gone out of requirements, and requirements that have none left."""
    did = []
    requirements = get(root, "requirements")
    for name, requirement in entries(requirements).items():
        limits = words(get(requirement, "limits"))
        lost = {limit for limit in limits if get(root, *_owner_of(limit)) is None}
        if lost and lost == set(limits):
            drop(requirements, name)
            did.append(f"requirement {name} is gone with its limits")
        elif lost:
            _keep_words(requirement, "limits", lost)
            did.append(f"requirement {name} sets {len(lost)} limits less")
    _drop_if_empty(root, "requirements")
    return did


def _owner_of(limit: str) -> list[str]:
    """Where in the file the chain, task, fault or safety concept stands that a limit belongs to."""
    return limit.split(".")[: 1 if limit.startswith("safety.") else 2]


def _drop_from_safety(root: Raw, gone: set[str]) -> list[str]:
    safety = get(root, "safety")
    named = {key: text(get(safety, key)) for key in ("arbiter", "primary", "backup")}
    if named["arbiter"] in gone or named["primary"] in gone:
        drop(root, "safety")
        which = "arbiter" if named["arbiter"] in gone else "primary"
        return [f"the safety concept is gone with its {which}"]
    if named["backup"] in gone:
        drop(safety, "backup")
        return [f"the safety concept has no backup without {named['backup']}"]
    return []


def _drop_from_cycles(root: Raw, gone: set[str]) -> list[str]:
    """Entries of tables, and slices, of tasks that are gone."""
    did = []
    for device_name, device in entries(get(root, "devices")).items():
        for form in ("processing_elements", "adjust"):
            for pe_name, element in entries(get(device, form)).items():
                slices, table = get(element, "slices"), get(element, "table")
                for piece in [] if slices is None or slices.kind != "sequence" else slices.value:
                    _keep_words(piece, "tasks", gone)
                found = get(table, "entries")
                if found is not None and found.kind == "sequence":
                    kept = [entry for entry in found.value if text(get(entry, "task")) not in gone]
                    if len(kept) < len(found.value):
                        did.append(f"{len(found.value) - len(kept)} entries of {device_name}.{pe_name} are gone")
                    found.value[:] = kept
                    if not kept:
                        drop(element, "policy", "table")
    return did


def _keep_words(owner: Raw, key: str, gone: Iterable[str]) -> None:
    given = get(owner, key)
    found = words(given)
    kept = [one for one in found if one not in gone]
    if given is not None and len(kept) < len(found):
        put(owner, key, listing([word(one, given) for one in kept], given))


def _drop_if_empty(root: Raw, section: str) -> None:
    found = get(root, section)
    if found is not None and found.kind == "mapping" and not found.value:
        drop(root, section)


def _move_tasks(root: Raw, device: str, did: list[str]) -> set[str]:
    """Tasks of a device go to their first candidate elsewhere; those that have none."""
    homeless = set()
    for name, task in entries(get(root, "tasks")).items():
        given = get(task, "candidates")
        elsewhere = [one for one in words(given) if one.partition(".")[0] != device]
        here = get(task, "runs_on")
        if here is not None and (text(here) or "").partition(".")[0] == device:
            if not elsewhere:
                homeless.add(name)
                did.append(f"task {name} is gone: it has no candidate on another device")
                continue
            put(task, "runs_on", word(elsewhere[0], here))
            drop(task, "core")
            did.append(f"task {name} moves from {text(here)} to {elsewhere[0]}")
            elsewhere = elsewhere[1:]
        if given is not None and elsewhere:
            put(task, "candidates", listing([word(one, given) for one in elsewhere], given))
        else:
            drop(task, "candidates")
    return homeless


def _detach_sensors(root: Raw, device: str, did: list[str]) -> set[str]:
    """Sensors lose a device; those that are attached to no other."""
    blind = set()
    for name, sensor in entries(get(root, "sensors")).items():
        attached = words(get(sensor, "attached_to"))
        if attached == [device]:
            blind.add(name)
            did.append(f"sensor {name} is gone: it is attached to no other device")
        elif device in attached:
            _keep_words(sensor, "attached_to", {device})
            did.append(f"sensor {name} is attached to {', '.join(one for one in attached if one != device)} only")
    return blind


def _cut_links(root: Raw, device: str, did: list[str]) -> set[str]:
    """Links lose a device; those that connect fewer than two are gone."""
    links = get(root, "links")
    gone = set()
    for name, link in entries(links).items():
        between = words(get(link, "between"))
        if device in between:
            _keep_words(link, "between", {device})
            if len(between) <= 2:
                gone.add(name)
                did.append(f"link {name} is gone: it connects fewer than two devices")
    drop(links, *gone)
    _drop_if_empty(root, "links")
    return gone


def _cut_by(root: Raw, links: set[str], did: list[str]) -> _Lost:
    """Inputs whose messages came over a link that is gone; where both ends share a device they need none."""
    lost: _Lost = set()
    tasks = entries(get(root, "tasks"))
    place = {name: (text(get(task, "runs_on")) or "").partition(".")[0] for name, task in tasks.items()}
    for name, task in tasks.items():
        for given, value in entries(get(task, "inputs")).items():
            over = text(get(value, "link"))
            if over not in links:
                continue
            behind = source(value)
            attached = words(get(root, "sensors", behind, "attached_to"))
            if place.get(behind) == place[name] or place[name] in attached:
                drop(value, "link", "size")
                did.append(f"input {given} of {name} needs no link any more")
            else:
                lost.add((name, given))
    return lost
