"""How messages become jobs of one task: docs/decisions/jobs-and-messages.md, over edges that other processes fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rt_sched.trace.setup import EdgeKind, EdgeRow, Role


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a message without reading it.

    `number`: of the job that published it, or the row of the sample. `capture_ns`, `published_ns`: run time.
    """

    number: int
    capture_ns: int
    published_ns: int


class Letter(Protocol):
    """A message that was taken from an edge; its bytes stay as they are until `release`."""

    @property
    def head(self) -> Head: ...
    def value(self) -> Any: ...
    def release(self) -> None: ...


class Inlet(Protocol):
    """The reading end of one edge.

    `newest` hands out the newest message again and again, also one that was taken; `oldest` looks at the one that waits
    longest, `take` takes it. `due_ns`: from when on the one that waits longest counts, None where none waits.
    """

    def newest(self) -> Letter | None: ...
    def oldest(self) -> Head | None: ...
    def take(self) -> Letter | None: ...
    def due_ns(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job is due: when it arrived, and the messages bound to it, by slot.

    `is_extra`: it comes beside those that the activation of its task asks for.
    """

    arrival_ns: int
    bound: Mapping[int, Letter]
    is_extra: bool = False


class Inbox:
    """The inputs of one task. `edges`, `inlets`: one per slot. `tolerance_ns`: of pairs."""

    def __init__(self, edges: Sequence[EdgeRow], inlets: Sequence[Inlet], tolerance_ns: int) -> None:
        self._edges, self._inlets, self._tolerance_ns = edges, inlets, tolerance_ns
        self._each = [slot for slot, edge in enumerate(edges) if edge.role is Role.EACH]
        self._paired = [slot for slot, edge in enumerate(edges) if edge.role is Role.PAIRED]

    def next_arrival(self) -> Arrival | None:
        """The job whose messages have been there longest, None when there is none."""
        return self._next_pair() if self._paired else self._next_single()

    def due_ns(self) -> int | None:
        """Run time from which on there may be a job of messages that lie here, None where none lies."""
        known = [due_ns for slot in (*self._each, *self._paired) if (due_ns := self._inlets[slot].due_ns()) is not None]
        return min(known, default=None)

    def _next_single(self) -> Arrival | None:
        waiting = [(head.published_ns, slot) for slot in self._each if (head := self._inlets[slot].oldest())]
        if not waiting:
            return None
        slot = min(waiting)[1]
        letter = self._inlets[slot].take()
        return None if letter is None else Arrival(letter.head.published_ns, {slot: letter})

    def _next_pair(self) -> Arrival | None:
        while True:
            heads = {slot: head for slot in self._paired if (head := self._inlets[slot].oldest())}
            if len(heads) < len(self._paired):
                return None
            newest_ns = max(head.capture_ns for head in heads.values())
            early = [slot for slot, head in heads.items() if newest_ns - head.capture_ns > self._tolerance_ns]
            if not early:
                letters = {slot: letter for slot in heads if (letter := self._inlets[slot].take())}
                return Arrival(max(letter.head.published_ns for letter in letters.values()), letters)
            for slot in early:
                letter = self._inlets[slot].take()
                if letter is not None:
                    letter.release()

    def kept(self, last: Mapping[int, Letter], before_ns: int) -> dict[int, Letter]:
        """What the task took in last before an instant, to be processed once more; nothing where nothing came, or where
        it is not known any more since something newer is there. `last`: taken just now, by slot.

        Of inputs each of which activates the task it is the message that was captured last; of paired ones the last of
        each, if they belong together.
        """
        found = {**last}
        for slot in (*self._each, *self._paired):
            letter = None if slot in found else self._inlets[slot].newest()
            if letter is not None and letter.head.published_ns < before_ns:
                found[slot] = letter
            elif letter is not None:
                letter.release()
        stamps = {slot: letter.head.capture_ns for slot, letter in found.items()}
        if self._paired:
            together = stamps and max(stamps.values()) - min(stamps.values()) <= self._tolerance_ns
            keep = set(stamps) if together and len(stamps) == len(self._paired) else set()
        else:
            keep = {max(stamps, key=lambda slot: (stamps[slot], -slot))} if stamps else set()
        for slot in found.keys() - keep:
            found.pop(slot).release()
        return found

    def consumed(self) -> dict[int, Letter]:
        """The oldest message of every queue that does not activate: what a job takes when it arrives."""
        found = {}
        for slot, edge in enumerate(self._edges):
            if edge.role is Role.READ and edge.kind is EdgeKind.QUEUE:
                letter = self._inlets[slot].take()
                if letter is not None:
                    found[slot] = letter
        return found

    def registers(self, bound: Mapping[int, Letter]) -> dict[int, Letter]:
        """The newest message of every other input, as it is now: what a job reads when it starts."""
        found = {}
        for slot, edge in enumerate(self._edges):
            if edge.kind is EdgeKind.LATEST or (edge.role is Role.EACH and slot not in bound):
                letter = self._inlets[slot].newest()
                if letter is not None:
                    found[slot] = letter
        return found

    def capture_ns(self, read: Mapping[int, Letter], bound: Mapping[int, Letter], arrival_ns: int) -> int:
        """The stamp of what a job publishes: of what activated it, the oldest of a pair, or of all that it read."""
        deciding = [slot for slot in bound if self._edges[slot].role is not Role.READ] or list(read)
        return min((read[slot].head.capture_ns for slot in deciding), default=arrival_ns)
