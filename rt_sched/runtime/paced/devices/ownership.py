"""Who serves each task, and which takeovers have come into force: written by the watch alone, read by every worker."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rt_sched.runtime.paced.devices.answers import NOMINAL, Answer
from rt_sched.runtime.paced.shared import shared_array

#: Stands for no answer in shared memory.
_NO_ANSWER = -1


@dataclass(frozen=True, slots=True)
class Epoch:
    """What became of a loss or a return: `answer`, by its number, is in force from `switch_ns` on; None: nothing
    answers it.
    """

    answer: int | None
    noticed_ns: int
    switch_ns: int


_EPOCH = np.dtype([("answer", np.int64), ("noticed_ns", np.int64), ("switch_ns", np.int64)])


class Ownership:
    """Of all tasks. An epoch is written before it counts, and an owner is named before its epoch counts."""

    def __init__(self, tasks: int, answers: tuple[Answer, ...] = (), most_epochs: int = 0) -> None:
        self.answers = answers
        self._owners = shared_array(np.int64, tasks)
        self._owners[:] = NOMINAL
        self._epochs = shared_array(_EPOCH, most_epochs)
        self._count = shared_array(np.int64, 1)

    def owner(self, task: int) -> int:
        """Who serves the task: `NOMINAL`, the number of a standby, or `NOBODY`."""
        return int(self._owners[task])

    def hand_over(self, task: int, owner: int) -> None:
        """Whoever served it before may not publish from now on."""
        self._owners[task] = owner

    def open_epoch(self, epoch: Epoch) -> None:
        """From its switch on it is in force."""
        answer = _NO_ANSWER if epoch.answer is None else epoch.answer
        self._epochs[int(self._count[0])] = (answer, epoch.noticed_ns, epoch.switch_ns)
        self._count[0] += 1

    @property
    def count(self) -> int:
        """Epochs so far."""
        return int(self._count[0])

    def epochs(self) -> list[Epoch]:
        """All of them, in order."""
        rows = self._epochs[: self.count].tolist()
        return [Epoch(None if answer == _NO_ANSWER else answer, *times) for answer, *times in rows]

    def in_force(self, time_ns: int) -> Answer | None:
        """The answer in force at an instant; None for the nominal placement. What nothing answers changes nothing."""
        known = [one.answer for one in self.epochs() if one.answer is not None and one.switch_ns <= time_ns]
        return self.answers[known[-1]] if known else None

    def switch_to(self, task: int, owner: int) -> Epoch | None:
        """The latest epoch, with which the owner goes on with its task; None as long as it need not."""
        for epoch in reversed(self.epochs()):
            if epoch.answer is not None:
                return epoch if self.answers[epoch.answer].owner(task) == owner else None
        return None


@dataclass(frozen=True, slots=True)
class Tenure:
    """One process as the owner of a task. `readers`: the tasks that read what it publishes."""

    ownership: Ownership
    task: int
    owner: int
    readers: Collection[int] = ()

    @property
    def holds(self) -> bool:
        """Whether the process may begin and publish jobs of its task."""
        return self.ownership.owner(self.task) == self.owner

    @property
    def switch(self) -> Epoch | None:
        """With which epoch the process, which has waited, goes on with its task; None as long as it need not."""
        return self.ownership.switch_to(self.task, self.owner) if self.holds else None

    def weights(self, arrival_ns: int) -> tuple[tuple[str, Fraction], ...]:
        """By sensor the factor of its weight for a job that arrives then."""
        answer = self.ownership.in_force(arrival_ns) if self.ownership.count else None
        return () if answer is None else answer.takeover.weights

    def new_readers(self, until_ns: int) -> int:
        """How often a reader of the outputs has begun without a past, by a takeover until then."""
        if not self.ownership.count:
            return 0
        before: Mapping[int, int] = {}
        found = 0
        for epoch in self.ownership.epochs():
            if epoch.answer is not None and epoch.switch_ns <= until_ns:
                moves = self.ownership.answers[epoch.answer].moves
                found += any(moves.get(reader) != before.get(reader) for reader in self.readers)
                before = moves
        return found

    def extra_arrivals(self) -> list[int]:
        """Additional arrivals of the task so far, ascending: what a later switch came before does not come."""
        epochs = [one for one in self.ownership.epochs() if one.answer is not None] if self.ownership.count else []
        found = []
        for number, epoch in enumerate(epochs):
            delay_ns = self.ownership.answers[epoch.answer or 0].at_once.get(self.task)
            until_ns = epochs[number + 1].switch_ns if number + 1 < len(epochs) else None
            if delay_ns is not None and (until_ns is None or epoch.switch_ns + delay_ns < until_ns):
                found.append(epoch.switch_ns + delay_ns)
        return found


def alone() -> Tenure:
    """Of a process whose task nobody else ever takes over."""
    return Tenure(Ownership(1), 0, NOMINAL)
