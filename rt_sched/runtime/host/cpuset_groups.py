"""The groups behind exclusive cpusets: how they are laid out, made and removed, in both versions of control groups.

Every group of ours lies right below the root. `rt-sched-PID-START-N` owns cores; its name tells which process made it,
so what a killed one left behind can be removed by whoever comes next. `rt-sched-rest` is there while any of these is:
in version 1 it keeps the cores that are left balanced, which the root group then does no more. It is named
`rt-sched-rest-undo` where the root group had to be changed, so that the last one to leave changes it back.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rt_sched.runtime.host.cgroups import Hierarchy, hierarchy_of
from rt_sched.runtime.host.observed import start_ticks
from rt_sched.runtime.host.refusal import Refused

WHAT = "an exclusive cpuset"
_NAME = re.compile(r"rt-sched-(\d+)-(\d+)-\d+")
_REST, _REST_UNDO = "rt-sched-rest", "rt-sched-rest-undo"


@dataclass(frozen=True, slots=True)
class OwnedGroup:
    """A group of ours with its cores. `is_alive`: the process that made it still runs."""

    path: Path
    cores: frozenset[int]
    owner: int
    is_alive: bool


def cpuset_tree() -> Hierarchy:
    """The tree of cpusets. Raises Refused where exclusive ones cannot be made in it."""
    tree = hierarchy_of("cpuset")
    if tree is None:
        raise Refused(WHAT, "no mounted control groups have the controller cpuset")
    if not tree.is_whole:
        raise Refused(WHAT, "only a part of the control groups is seen from inside this container", "run outside of it")
    if not tree.writable:
        raise Refused(WHAT, f"{tree.mount} cannot be written", "run as root, outside of containers")
    return tree


@contextmanager
def locked(tree: Hierarchy) -> Iterator[None]:
    """Only one process of this program changes groups at a time; the lock goes with the process that dies."""
    descriptor = os.open(tree.mount, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def owned_groups(tree: Hierarchy) -> tuple[OwnedGroup, ...]:
    """Every group with cores that this program has made, by whichever process."""
    found = []
    for path in sorted(tree.mount.iterdir()):
        if match := _NAME.fullmatch(path.name):
            owner, start = int(match[1]), int(match[2])
            found.append(OwnedGroup(path, cores_of(path), owner, _is_running(owner, start)))
    return tuple(found)


def make(tree: Hierarchy, cores: frozenset[int]) -> Path:
    """A new group that has `cores` to itself; to be called with the tree locked. Raises Refused, with all undone."""
    made_before = owned_groups(tree)
    # In version 2 the root has only what partitions have left to it, in version 1 it has all.
    free = cores_of(tree.mount).difference(*(group.cores for group in made_before))
    told = f"cores {_text(cores) or 'none'} of {_text(free)} that are free"
    if not cores or not cores <= free:
        raise Refused(WHAT, f"{told}: it takes at least one, and only such")
    if cores == free and not may_take_all(tree):
        lacking = "in version 2 of control groups processes of the root group cannot run on the cores of a partition"
        raise Refused(WHAT, f"{told}: {lacking}, so one core has to be left to them", "deploy to fewer cores")
    own = f"rt-sched-{os.getpid()}-{start_ticks(os.getpid())}"
    used = {group.path.name for group in made_before}
    path = tree.mount / next(name for number in count() if (name := f"{own}-{number}") not in used)
    try:
        _share_out(tree, free - cores)
        path.mkdir()
        if tree.version == 2:
            _fill_2(path, cores)
        else:
            _fill_1(tree, path, cores)
    except BaseException:
        remove(tree, path)
        raise
    return path


def may_take_all(tree: Hierarchy) -> bool:
    """Whether every core may have a domain of its own, with everything else on these as well.

    In version 1 a process in the root group may run on all cores, whatever groups below it own; but while no group
    balances these, it stays on the core on which it is until it asks for another.
    """
    return tree.version == 1


def remove(tree: Hierarchy, path: Path) -> None:
    """Removes a group; whatever runs in it goes to the root. To be called with the tree locked."""
    if path.exists():
        for pid in processes(path):
            move(pid, tree.mount)
        path.rmdir()
    _settle(tree)


def _settle(tree: Hierarchy) -> None:
    """Shares out what is left of the cores, or changes everything back where no group of ours has any."""
    left = owned_groups(tree)
    if left:
        _share_out(tree, cores_of(tree.mount).difference(*(group.cores for group in left)))
        return
    for name in (_REST, _REST_UNDO):
        rest = tree.mount / name
        if rest.exists():
            rest.rmdir()
            if name == _REST_UNDO:
                _change_root_back(tree)


def remove_dead(tree: Hierarchy) -> tuple[Path, ...]:
    """Removes the groups of processes that have died, and says which; to be called with the tree locked."""
    dead = tuple(group.path for group in owned_groups(tree) if not group.is_alive)
    for path in dead:
        remove(tree, path)
    _settle(tree)
    return dead


def processes(group: Path) -> list[int]:
    """The processes in a group."""
    return [int(line) for line in (group / "cgroup.procs").read_text(encoding="utf-8").split()]


def move(pid: int, group: Path) -> None:
    """Moves a process, unless it has ended meanwhile."""
    with suppress(ProcessLookupError):
        _write(group / "cgroup.procs", str(pid))


def cores_of(group: Path) -> frozenset[int]:
    """The cores a group has: those given to it, or all that its parent has."""
    for name in ("cpuset.cpus", "cpuset.cpus.effective"):
        path = group / name
        text = path.read_text(encoding="utf-8").strip() if path.exists() else ""
        if text:
            return parse_cores(text)
    return frozenset()


def parse_cores(text: str) -> frozenset[int]:
    """Cores in the kernel's way to write them, such as 0-3,8."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _fill_1(tree: Hierarchy, path: Path, cores: frozenset[int]) -> None:
    _copy_memory_nodes(tree, path)
    try:
        _write(path / "cpuset.cpus", _text(cores))
        _write(path / "cpuset.cpu_exclusive", "1")
    except OSError as error:
        others = [group.name for group in tree.mount.iterdir() if group.is_dir() and group != path]
        rivals = ", ".join(name for name in sorted(others) if cores_of(tree.mount / name) & cores)
        raise Refused(
            WHAT, f"{error.strerror}: other cpusets have some of the cores ({rivals or 'none found'})"
        ) from error


def _fill_2(path: Path, cores: frozenset[int]) -> None:
    _write(path / "cpuset.cpus", _text(cores))
    _write(path / "cpuset.cpus.partition", "root")
    state = (path / "cpuset.cpus.partition").read_text(encoding="utf-8").strip()
    if state != "root":
        raise Refused(WHAT, f"the kernel says of cores {_text(cores)}: {state}")


def _share_out(tree: Hierarchy, left: frozenset[int]) -> None:
    """Changes the root group where that is still to be done, and keeps the cores that are `left` balanced."""
    rest = next((tree.mount / name for name in (_REST, _REST_UNDO) if (tree.mount / name).exists()), None)
    if rest is None:
        rest = tree.mount / (_REST_UNDO if _needs_change(tree) else _REST)
        rest.mkdir()
    if tree.version == 1:
        _copy_memory_nodes(tree, rest)
        _write(rest / "cpuset.cpus", _text(left) or "\n")  # nothing at all would not be written
    if rest.name == _REST_UNDO:
        _change_root(tree)


def _needs_change(tree: Hierarchy) -> bool:
    if tree.version == 2:
        return "cpuset" not in (tree.mount / "cgroup.subtree_control").read_text(encoding="utf-8").split()
    return (tree.mount / "cpuset.sched_load_balance").read_text(encoding="utf-8").strip() == "1"


def _change_root(tree: Hierarchy) -> None:
    if tree.version == 2:
        _write(tree.mount / "cgroup.subtree_control", "+cpuset")
    else:
        _write(tree.mount / "cpuset.sched_load_balance", "0")


def _change_root_back(tree: Hierarchy) -> None:
    if tree.version == 1:
        _write(tree.mount / "cpuset.sched_load_balance", "1")
        return
    try:
        _write(tree.mount / "cgroup.subtree_control", "-cpuset")
    except OSError as error:
        if error.errno != errno.EBUSY:  # somebody else has come to use the controller
            raise


def _copy_memory_nodes(tree: Hierarchy, path: Path) -> None:
    _write(path / "cpuset.mems", (tree.mount / "cpuset.mems").read_text(encoding="utf-8"))


def _is_running(pid: int, start: int) -> bool:
    try:
        return start_ticks(pid) == start
    except ProcessLookupError:
        return False


def _text(cores: Iterable[int]) -> str:
    return ",".join(str(core) for core in sorted(cores))


def _write(path: Path, text: str) -> None:
    """Control files take one write, and answer it at once."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
