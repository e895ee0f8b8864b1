"""What happens between two calls of `machine.advance` in bulk simulation: `fold`, then `compact`."""

from __future__ import annotations

from rt_sched.kernels.bulk.chains import drop_shown_reads, rank_samples, show_outputs
from rt_sched.kernels.bulk.compact import mark_rows, move, number_rows, remember_reads, rename
from rt_sched.kernels.bulk.fold import excuse, fold_drops, fold_jobs, fold_slices, number_new_jobs
from rt_sched.kernels.bulk.sources import sources_digest
from rt_sched.kernels.compiled import entry


def _entries(sources):
    """`fold` and `compact`, compiled for these sources."""

    @entry
    def fold(m, b, ended):
        """Count what is finished. `b.reads` has room for as many more reads as there are jobs and samples.

        Rows of `b.rows` with `folded` 2 are those that this call has counted.
        """
        _ = sources
        number_new_jobs(m, b)
        rank_samples(m, b)
        excuse(m, b)
        fold_jobs(m, b, ended)
        show_outputs(m, b, ended)
        fold_slices(m, b)
        fold_drops(m, b)

    @entry
    def compact(m, b):
        """Keep only what may be referred to; every other row of the growing tables is free then."""
        _ = sources
        mark_rows(m, b)
        remember_reads(m, b)
        jobs, samples, transfers = number_rows(m, b)
        rename(m, b)
        move(m, b, jobs, samples, transfers)
        drop_shown_reads(m, b)

    return fold, compact


fold, compact = _entries(sources_digest())
