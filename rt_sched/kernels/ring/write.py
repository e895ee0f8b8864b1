"""The writer's side of a ring: loan a slot, publish it, go on where a dead writer stopped."""

from __future__ import annotations

from rt_sched.kernels.ring.atomics import fence, load, store
from rt_sched.kernels.ring.bell import toll
from rt_sched.kernels.ring.compiled import operation, part, sources_digest
from rt_sched.kernels.ring.words import (
    BELL,
    COMMIT,
    DEPTH,
    EPOCH,
    FIRST_READER,
    HEADER,
    HEADERS,
    IN_USE,
    KEEPS,
    LIST,
    LOAN_NUMBER,
    LOANED,
    LOANS,
    NEXT_READER,
    NO_LOAN_LEFT,
    NO_SLOT_FREE,
    OFFERED,
    PINNED,
    PINS,
    POSITION,
    PUBLISHED,
    PUSHED,
    REFUSES,
    SEQUENCE,
    SIZE,
    SLOT_BITS,
    SLOT_MASK,
    SLOTS,
    STAMP,
    TAG,
    TAKEN,
    WORD,
    WRITER_EPOCH,
)


@part
def _offer(reader, commit):
    """Puts the message into the reader's list, unless it is full and refuses."""
    pushed = load(reader + PUSHED)
    depth = load(reader + DEPTH)
    if not (load(reader + REFUSES) and pushed - _position(reader) >= depth):
        store(reader + load(reader + LIST) + pushed % (depth + 1) * WORD, commit)
        store(reader + PUSHED, pushed + 1)
    store(reader + OFFERED, commit >> SLOT_BITS)


@part
def _position(reader):
    """How many entries of its list lie behind the reader."""
    taken = load(reader + TAKEN)
    position = load(reader + POSITION + (taken & 1) * WORD)
    now = load(reader + TAKEN)
    while now != taken:
        taken = now
        position = load(reader + POSITION + (taken & 1) * WORD)
        now = load(reader + TAKEN)
    return position


@part
def _mark_used(ring, headers, number):
    """Writes `number` into the header of every slot that a list, a pin or a loan names.

    A reader's position is read before its pins: a message that is no longer in the list is pinned by then.
    """
    for place in range(load(ring + LOANS)):
        slot = load(ring + LOANED + place * WORD) - 1
        if slot >= 0:
            store(headers + slot * HEADER + IN_USE, number)
    at = load(ring + FIRST_READER)
    while at:
        reader = ring + at
        pushed, depth, entries = load(reader + PUSHED), load(reader + DEPTH), reader + load(reader + LIST)
        first = max(pushed - depth, 0 if load(reader + KEEPS) else _position(reader))
        for index in range(max(first, 0), pushed):
            slot = load(entries + index % (depth + 1) * WORD) & SLOT_MASK
            store(headers + slot * HEADER + IN_USE, number)
        for pin in range(load(reader + PINS)):
            slot = (load(reader + PINNED + pin * WORD) & SLOT_MASK) - 1
            if slot >= 0:
                store(headers + slot * HEADER + IN_USE, number)
        at = load(reader + NEXT_READER)


def _operations(sources):
    """`resume`, `loan`, `give_back` and `publish`, compiled for these sources."""

    @operation
    def resume(ring):
        """Makes the caller the writer: no loans, the newest message offered to all. Returns its epoch, from 1."""
        _ = sources
        for place in range(load(ring + LOANS)):
            store(ring + LOANED + place * WORD, 0)
        epoch = load(ring + EPOCH) + 1
        store(ring + EPOCH, epoch)
        commit = load(ring + COMMIT)
        at = load(ring + FIRST_READER)
        while at:
            reader = ring + at
            if load(reader + OFFERED) < commit >> SLOT_BITS:
                pushed = load(reader + PUSHED)
                last = load(reader + load(reader + LIST) + (pushed - 1) % (load(reader + DEPTH) + 1) * WORD)
                if pushed and last == commit:
                    store(reader + OFFERED, commit >> SLOT_BITS)
                else:
                    _offer(reader, commit)
            toll(ring + load(reader + BELL))
            at = load(reader + NEXT_READER)
        return epoch

    @operation
    def loan(ring):
        """The lowest slot that nobody uses; or `NO_LOAN_LEFT`. `NO_SLOT_FREE` only where there are too few slots."""
        _ = sources
        place = 0
        while place < load(ring + LOANS) and load(ring + LOANED + place * WORD):
            place += 1
        if place == load(ring + LOANS):
            return NO_LOAN_LEFT
        fence()
        headers = ring + load(ring + HEADERS)
        # A reader that was slow may pin a slot that its list no longer names, once, and let go of it at once.
        for _ in range(4):
            number = load(ring + LOAN_NUMBER) + 1
            store(ring + LOAN_NUMBER, number)
            _mark_used(ring, headers, number)
            for slot in range(load(ring + SLOTS)):
                if load(headers + slot * HEADER + IN_USE) != number:
                    store(ring + LOANED + place * WORD, slot + 1)
                    return slot
        return NO_SLOT_FREE

    @operation
    def give_back(ring, slot):
        """The loan of `slot` ends without a message."""
        _ = sources
        for place in range(load(ring + LOANS)):
            if load(ring + LOANED + place * WORD) == slot + 1:
                store(ring + LOANED + place * WORD, 0)

    @operation
    def publish(ring, slot, size, stamp_ns, published_ns, tag):
        """The message in the loaned `slot` reaches every reader. Returns its sequence number, from 1 without gaps."""
        _ = sources
        sequence = (load(ring + COMMIT) >> SLOT_BITS) + 1
        header = ring + load(ring + HEADERS) + slot * HEADER
        store(header + SEQUENCE, sequence)
        store(header + STAMP, stamp_ns)
        store(header + PUBLISHED, published_ns)
        store(header + SIZE, size)
        store(header + WRITER_EPOCH, load(ring + EPOCH))
        store(header + TAG, tag)
        commit = sequence << SLOT_BITS | slot
        store(ring + COMMIT, commit)
        at = load(ring + FIRST_READER)
        while at:
            _offer(ring + at, commit)
            at = load(ring + at + NEXT_READER)
        at = load(ring + FIRST_READER)
        while at:
            toll(ring + load(ring + at + BELL))
            at = load(ring + at + NEXT_READER)
        for place in range(load(ring + LOANS)):
            if load(ring + LOANED + place * WORD) == slot + 1:
                store(ring + LOANED + place * WORD, 0)
        return sequence

    return resume, loan, give_back, publish


resume, loan, give_back, publish = _operations(sources_digest())
