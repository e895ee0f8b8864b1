"""Where control groups are mounted, and which group a process is in: version 1, version 2, or both at once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted tree of groups. `top`: the group, as the kernel names it, that is seen at `mount`."""

    version: int
    mount: Path
    top: str
    writable: bool

    @property
    def is_whole(self) -> bool:
        """Whether the tree is seen from its root, which in a container it is not."""
        return self.top == "/"


def hierarchies(mountinfo: str | None = None) -> tuple[tuple[Hierarchy, frozenset[str]], ...]:
    """Every mounted tree with its controllers. `mountinfo`: text in the form of /proc/self/mountinfo."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if kinds[0] not in ("cgroup", "cgroup2"):
            continue
        mount = Path(_unescaped(fields[4]))
        options = {*fields[5].split(","), *kinds[2].split(",")}
        is_writable = "ro" not in options and os.access(mount, os.W_OK)
        if kinds[0] == "cgroup":
            found.append((Hierarchy(1, mount, _unescaped(fields[3]), is_writable), frozenset(options)))
        else:
            found.append((Hierarchy(2, mount, _unescaped(fields[3]), is_writable), _controllers(mount)))
    return tuple(found)


def hierarchy_of(controller: str) -> Hierarchy | None:
    """The tree that has `controller`, such as cpuset; None where no mounted one has it."""
    return next((tree for tree, controllers in hierarchies() if controller in controllers), None)


def group_of(tree: Hierarchy, controller: str, pid: int | None = None) -> Path | None:
    """The folder of the group that a process is in; None where it is not below `tree`'s mount."""
    place = Path("/proc") / ("self" if pid is None else str(pid)) / "cgroup"
    for line in place.read_text(encoding="utf-8").splitlines():
        _, names, group = line.split(":", 2)
        if controller in names.split(",") if tree.version == 1 else not names:
            return tree.mount / PurePosixPath(group).relative_to(tree.top) if _is_below(group, tree.top) else None
    return None


def rt_runtime_us() -> tuple[Path, int] | None:
    """The group whose real-time share this process runs on (RT_GROUP_SCHED), with that share; None without one."""
    tree = hierarchy_of("cpu")
    group = None if tree is None else group_of(tree, "cpu")
    if group is None or not (group / "cpu.rt_runtime_us").exists():
        return None
    return group, int((group / "cpu.rt_runtime_us").read_text(encoding="utf-8"))


def _controllers(mount: Path) -> frozenset[str]:
    try:
        return frozenset((mount / "cgroup.controllers").read_text(encoding="utf-8").split())
    except OSError:
        return frozenset()


def _is_below(group: str, top: str) -> bool:
    return top == "/" or group == top or group.startswith(top.rstrip("/") + "/")


def _unescaped(field: str) -> str:
    """Blanks and backslashes in mountinfo are written as octal numbers."""
    return field.encode("latin-1", "replace").decode("unicode_escape") if "\\" in field else field
