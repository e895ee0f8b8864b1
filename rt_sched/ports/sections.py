"""Critical sections as stages enter them: the same call in lockstep, where they are modelled, and in paced runs."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from rt_sched.errors import DeploymentError


class Sections(Protocol):
    """Those of one task."""

    def hold(self, resource: str) -> AbstractContextManager[bool]:
        """The job holds `resource` meanwhile; given is whether its last owner died in a section of it.

        Then what it guards may be half-written. Raises DeploymentError where the task declares no such section.
        """


@dataclass(frozen=True, slots=True)
class ModelledSections:
    """Where the schedule models who holds what, and jobs never meet: entering takes nothing."""

    task: str
    declared: Collection[str]

    def hold(self, resource: str) -> AbstractContextManager[bool]:
        """Nothing is locked."""
        check_declared(self.task, resource, self.declared)
        return nullcontext(False)


def check_declared(task: str, resource: str, declared: Collection[str]) -> None:
    """Raises DeploymentError, with the valid choices, where a task may not hold the resource."""
    if resource not in declared:
        has = ", ".join(sorted(declared)) or "none"
        raise DeploymentError(
            f"the stage of task {task} enters a section of {resource!r}, which the task does not declare; it has: {has}"
        )
