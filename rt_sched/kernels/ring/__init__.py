"""Rings in shared memory: what one writer and several readers of different processes do with plain words of memory.

`words` says where each word lies, `write` and `read` are the two sides, `bell` is how a reader sleeps. Every access
goes through `atomics`. Addresses are bare integers; the caller keeps the memory mapped.

A ring has slots for messages and, for every reader, a short list of the slots that it has not taken yet. Only the
writer writes into lists, only a reader into its own position and pins, so nobody ever waits for anybody, and a process
may die between any two instructions:

- A slot is in use while a list, a pin or a loan names it. Its message is never written over before.
- To take a message, the reader pins its slot, and then looks whether the list still named it; before the writer uses a
  slot again, it looks at the pins. Between the two steps each has a full fence, so that one of them sees the other.
- A message is published by one store into `COMMIT`. What a writer that dies has not told every reader by then, its
  successor tells them; one that dies earlier has published nothing.
- A reader takes a message by one store into `TAKEN`. The position that belongs to each count lies in one of two words
  in turn, so that no death leaves half of a change.
"""

from __future__ import annotations


def warm_up() -> None:
    """Compile these kernels into the cache, or load them from there."""
    import numpy as np

    from rt_sched.kernels.ring import bell, read, write
    from rt_sched.kernels.ring.layout import ReaderWords, fill_in, lay_out

    layout = lay_out(3, 1, [(1, 1)])
    memory = np.zeros(layout.size // 8 + 4, np.int64)
    ring, toller = memory.ctypes.data, layout.size
    reader = ring + layout.readers[0]
    fill_in(memory, 3, 1, [ReaderWords(depth=1, keeps=False, refuses=False, pins=1, bell=toller)])
    write.resume(ring)
    write.give_back(ring, write.loan(ring))
    write.publish(ring, write.loan(ring), 0, 0, 0, 0)
    read.claim(reader)
    read.unread(reader)
    read.wait(reader, ring + toller, 0, ring + toller + 16)
    read.release(reader, read.take(ring, reader)[1])
    bell.ring_bell(ring + toller)
    bell.wait(ring + toller, bell.count(ring + toller), 0, ring + toller + 16)
