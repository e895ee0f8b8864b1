"""Bulk simulation: finished rows of the machine's tables become statistics, and the rows make room for new ones.

Between two calls of `machine.advance` come `drain.fold`, which counts what is finished, and `drain.compact`, which
keeps only the rows that a later instant, or a later output of a chain, may still refer to, and renumbers them. Renamed
rows keep their order, so the schedule is the one of tables that grow.
"""

from __future__ import annotations


def warm_up() -> None:
    """Compile these kernels into the cache, or load them from there."""
    import numpy as np

    from rt_sched.kernels.bulk import drain, samples
    from rt_sched.kernels.bulk.tables import empty_bulk
    from rt_sched.kernels.tables import SAMPLE, empty_machine

    machine, bulk = empty_machine(), empty_bulk()
    drain.fold(machine, bulk, False)
    drain.compact(machine, bulk)
    samples.deliver(bulk.streams, np.zeros(0, SAMPLE), 0, np.int64(0), np.uint64(0))
