"""The ring's own functions, run step by step: each access to what changes is a step, a schedule says whose turn it is.

Processes are threads of which one at a time may go on until its next access. Each may be killed at any of its steps.
Between steps memory is what all agree on: this looks for faults of the algorithm; the order that atomics guarantee to
other processors is the matter of `test_atomics`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from rt_sched.kernels.ring import read, words, write
from rt_sched.kernels.ring.layout import ReaderWords, fill_in, lay_out, slots_needed


class Killed(BaseException):
    """Raised in a process instead of its next step."""


class Memory:
    """A ring whose words are a list, and what lies in its slots: the number of a message, -1 while one is written."""

    def __init__(self, readers: list[ReaderWords], loans: int = 1) -> None:
        self.kinds = readers
        self.slots = slots_needed(loans, readers)
        layout = lay_out(self.slots, loans, [(reader.depth, reader.pins) for reader in readers])
        words_of_ring = np.zeros(layout.size // 8, np.int64)
        fill_in(words_of_ring, self.slots, loans, readers)
        self.words: list[int] = words_of_ring.tolist()
        self.readers = layout.readers
        #: What never changes: it makes no difference when it is read.
        self.fixed = {start + at for start in (0, *layout.readers) for at in range(0, words.APART, words.WORD)}
        self.payload = [-1] * self.slots
        #: (reader, slot, sequence) of every message in the hands of a live reader
        self.in_hand: set[tuple[int, int, int]] = set()
        self.published: list[int] = []
        self.taken: dict[int, list[int]] = {reader: [] for reader in self.readers}

    def word(self, address: int) -> int:
        return self.words[address // 8]

    def counters(self, reader: int) -> tuple[int, int, int]:
        """offered, taken and unread of one reader."""
        taken = self.word(reader + words.TAKEN)
        position = self.word(reader + words.POSITION + taken % 2 * 8)
        unread = min(self.word(reader + words.PUSHED) - position, self.word(reader + words.DEPTH))
        return self.word(reader + words.OFFERED), taken, unread


def ring_functions(memory: Memory, step: Callable[[str, int], None]) -> SimpleNamespace:
    """The operations of `write` and `read`, over `memory`, with `step(what, address)` before every access."""

    def load(address: int) -> int:
        if address not in memory.fixed:
            step("load", address)
        return memory.words[address // 8]

    def store(address: int, value: int) -> None:
        step("store", address)
        memory.words[address // 8] = value

    def fence() -> None:
        step("fence", 0)

    def toll(bell: int) -> None:
        step("toll", bell)

    accesses: dict[str, Any] = {"load": load, "store": store, "fence": fence, "toll": toll}
    functions = SimpleNamespace()
    for module in (write, read):
        rebuilt: dict[str, Any] = {**vars(module), **accesses}
        for name, kernel in vars(module).items():
            if name not in accesses and hasattr(kernel, "py_func"):
                plain = kernel.py_func
                rebuilt[name] = FunctionType(plain.__code__, rebuilt, name, None, plain.__closure__)
                setattr(functions, name, rebuilt[name])
    return functions


class Process:
    """Runs `work(functions)` in steps; `step` lets it do one, and the time until the next."""

    def __init__(self, memory: Memory, work: Callable[[SimpleNamespace], None]) -> None:
        self._mine = threading.Semaphore(0)
        self._theirs = threading.Semaphore(0)
        self._work = work
        self._functions = ring_functions(memory, self._wait)
        self.dies = False
        self.done = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._theirs.acquire()

    def step(self) -> None:
        self._mine.release()
        self._theirs.acquire()
        if self.error is not None:
            raise self.error

    def kill(self) -> None:
        self.dies = True
        if not self.done:
            self.step()

    def _run(self) -> None:
        try:
            self._work(self._functions)
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.done = True
        self._theirs.release()

    def _wait(self, _what: str, _address: int) -> None:
        self._theirs.release()
        self._mine.acquire()
        if self.dies:
            raise Killed


def writing(memory: Memory, messages: int) -> Callable[[SimpleNamespace], None]:
    """A process that takes the writer's end and publishes so many messages."""

    def work(ring: SimpleNamespace) -> None:
        ring.resume(0)
        for _ in range(messages):
            slot = ring.loan(0)
            assert slot >= 0, "a free slot"
            assert not any(held == slot for _, held, _ in memory.in_hand), "nobody reads what is written over"
            memory.payload[slot] = -1
            # What its sequence number will be, as nobody else publishes.
            memory.payload[slot] = (memory.word(words.COMMIT) >> words.SLOT_BITS) + 1
            sequence = ring.publish(0, slot, 8, 0, 0, 0)
            assert sequence == memory.payload[slot]
            memory.published.append(sequence)

    return work


def reading(memory: Memory, reader: int, tries: int) -> Callable[[SimpleNamespace], None]:
    """A process that takes a reader's end and tries to take so often; every message stays in hand for one more try."""

    def work(ring: SimpleNamespace) -> None:
        ring.claim(reader)
        hand: tuple[int, int, int] | None = None
        pin = 0
        for _ in range(tries):
            if hand is not None:
                assert memory.payload[hand[1]] == hand[2], "a message in hand does not change"
                memory.in_hand.remove(hand)
                ring.release(reader, pin)
                hand = None
            slot, pin, sequence, *_, lost = ring.take(0, reader)
            if slot >= 0:
                hand = (reader, slot, sequence)
                memory.in_hand.add(hand)
                assert memory.payload[slot] == sequence, "a message is whole"
                taken = memory.taken[reader]
                keeps = memory.word(reader + words.KEEPS)
                assert not taken or sequence > taken[-1] or (keeps and sequence == taken[-1]), "messages stay in order"
                taken.append(sequence)
                assert lost == sequence - memory.word(reader + words.TAKEN) >= 0

    return work
