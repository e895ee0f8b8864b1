"""Where the words of a ring lie.

All are int64, offsets are in bytes. What writer and reader write lies on lines of its own, so that neither takes the
other's line away. A reader's list has one place more than the list may be long: what the writer is about to add never
lies on what a reader may be looking at.
"""

from __future__ import annotations

#: Words that different processors write are that far apart: two cache lines, which are fetched in pairs.
APART = 128
WORD = 8

# A ring: what never changes, then the writer's words, then `LOANS` words, each 0 or the slot on loan plus one.
SLOTS = 0
LOANS = 8
#: Offset of the first reader from the ring.
FIRST_READER = 16
#: Offset of the first slot's header from the ring.
HEADERS = 24
#: How many writers there were; the present one counts.
EPOCH = APART
#: The newest message: sequence number and slot (`entry`), 0 before the first.
COMMIT = APART + 8
#: Number of the newest loan.
LOAN_NUMBER = APART + 16
LOANED = 2 * APART

# A reader: what never changes, then what the writer writes, then what the reader writes, then its list.
DEPTH = 0
#: 1: a register, whose message stays when it is taken.
KEEPS = 8
#: 1: a full list refuses the newest message instead of forgetting the oldest.
REFUSES = 16
PINS = 24
#: Offset of the bell from the ring; negative where bells lie before it.
BELL = 32
#: Offset of the next reader from the ring, 0 after the last.
NEXT_READER = 40
#: Offset of the list from the reader.
LIST = 48
#: Messages that were put into the list so far.
PUSHED = APART
#: Messages about which the writer has decided, whether they came into the list or not.
OFFERED = APART + 8
#: Messages taken so far. The position, how many entries of the list lie behind the reader, is in the word of its
#: parity.
TAKEN = 2 * APART
POSITION = 2 * APART + 8
#: `PINS` words, each 0 or `entry(index of the list, slot + 1)`.
PINNED = 3 * APART

# Header of a slot, one cache line.
HEADER = 64
SEQUENCE = 0
STAMP = 8
PUBLISHED = 16
SIZE = 24
WRITER_EPOCH = 32
TAG = 40
#: The newest loan that found the slot in use.
IN_USE = 48

#: An entry holds a slot in its low bits and a sequence number above: at 10 kHz enough for 400 years.
SLOT_BITS = 16
SLOT_MASK = (1 << SLOT_BITS) - 1
MOST_SLOTS = SLOT_MASK - 1

# The answers of `write.loan` and `read.take` that are no slot.
NOTHING = -1
NO_LOAN_LEFT = -2
NO_PIN_LEFT = -3
NO_SLOT_FREE = -4
