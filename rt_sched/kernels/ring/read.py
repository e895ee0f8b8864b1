"""A reader's side of a ring: see whether there is something to take, take it, let go of it."""

from __future__ import annotations

from rt_sched.kernels.ring.atomics import fence, load, load_half, store
from rt_sched.kernels.ring.bell import CHANGED, sleep
from rt_sched.kernels.ring.compiled import operation, part, sources_digest, waiting
from rt_sched.kernels.ring.words import (
    DEPTH,
    HEADER,
    HEADERS,
    KEEPS,
    LIST,
    NO_PIN_LEFT,
    NOTHING,
    PINNED,
    PINS,
    POSITION,
    PUBLISHED,
    PUSHED,
    SEQUENCE,
    SIZE,
    SLOT_BITS,
    SLOT_MASK,
    STAMP,
    TAG,
    TAKEN,
    WORD,
    WRITER_EPOCH,
)


@part
def _unread(reader):
    position = load(reader + POSITION + (load(reader + TAKEN) & 1) * WORD)
    return min(load(reader + PUSHED) - position, load(reader + DEPTH))


@part
def _none(why):
    return why, 0, 0, 0, 0, 0, 0, 0, 0


def _operations(sources):
    """`claim`, `unread`, `wait`, `take` and `release`, compiled for these sources."""

    @operation
    def claim(reader):
        """Makes the caller the reader: pins of a dead one end. Returns how many messages it had in hand."""
        _ = sources
        position = load(reader + POSITION + (load(reader + TAKEN) & 1) * WORD)
        abandoned = 0
        for pin in range(load(reader + PINS)):
            pinned = load(reader + PINNED + pin * WORD)
            if pinned and pinned >> SLOT_BITS < position:
                abandoned += 1
            store(reader + PINNED + pin * WORD, 0)
        return abandoned

    @operation
    def unread(reader):
        """How many messages wait: those of the list behind which the reader is not yet."""
        _ = sources
        return _unread(reader)

    @waiting
    def wait(reader, bell, until_ns, time):
        """Sleeps until a message waits: `CHANGED`; or as long as `bell.wait` with these arguments does."""
        _ = sources
        result = CHANGED
        while result == CHANGED:
            seen = load_half(bell)
            if _unread(reader) > 0:
                return CHANGED
            result = sleep(bell, seen, until_ns, time)
        return result

    @operation
    def take(ring, reader):
        """Takes the oldest message of the list and pins its slot.

        Returns slot, pin, sequence, stamp_ns, published_ns, size, epoch, tag, and how many of the messages before it
        this reader never got. Slot `NOTHING`: the list is empty; `NO_PIN_LEFT`: as many messages are held as may be.
        """
        _ = sources
        pins = load(reader + PINS)
        pin = 0
        while pin < pins and load(reader + PINNED + pin * WORD):
            pin += 1
        if pin == pins:
            return _none(NO_PIN_LEFT)
        pinned = reader + PINNED + pin * WORD
        taken, depth, keeps = load(reader + TAKEN), load(reader + DEPTH), load(reader + KEEPS)
        position = load(reader + POSITION + (taken & 1) * WORD)
        while True:
            pushed = load(reader + PUSHED)
            if pushed == 0 or (pushed == position and not keeps):
                return _none(NOTHING)
            index = pushed - 1 if keeps else max(position, pushed - depth)
            slot = load(reader + load(reader + LIST) + index % (depth + 1) * WORD) & SLOT_MASK
            store(pinned, index << SLOT_BITS | (slot + 1))
            fence()
            if load(reader + PUSHED) - index <= depth:
                break
            store(pinned, 0)
        if index >= position:
            taken += 1
            store(reader + POSITION + (taken & 1) * WORD, index + 1)
            store(reader + TAKEN, taken)
        header = ring + load(ring + HEADERS) + slot * HEADER
        sequence = load(header + SEQUENCE)
        return (
            slot,
            pin,
            sequence,
            load(header + STAMP),
            load(header + PUBLISHED),
            load(header + SIZE),
            load(header + WRITER_EPOCH),
            load(header + TAG),
            sequence - taken,
        )

    @operation
    def release(reader, pin):
        """Lets go of what `take` pinned: everything that was read of it was read before."""
        _ = sources
        store(reader + PINNED + pin * WORD, 0)

    return claim, unread, wait, take, release


claim, unread, wait, take, release = _operations(sources_digest())
