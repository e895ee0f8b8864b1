"""What jobs published, kept for the record of the run: appended by the worker, read when the run is over.

It lies in an anonymous file in memory. A worker that is killed while it writes leaves a torn end, over which its
successor writes; whatever was written whole counts.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rt_sched.runtime.paced.jobs.codec import Encoded, decoded
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.runtime.stage_graph import NoData, Outputs

#: Messages larger than this are not for the record: tensors, images, whole sweeps.
_LARGEST_BYTES = 1 << 18
_LENGTH_BYTES = 8


class Spool:
    """Of one task."""

    def __init__(self) -> None:
        self._file = os.memfd_create("rt-sched-spool", os.MFD_CLOEXEC)
        self._end = shared_array(np.int64, 1)

    def keep(self, number: int, result: Outputs | NoData, parcels: Mapping[str, Encoded]) -> None:
        """Adds what job `number` published, by port as it was packed, without what is too large."""
        small = {}
        if isinstance(result, Outputs):
            small = {port: one.to_bytes() for port, one in parcels.items() if one.size <= _LARGEST_BYTES}
            result = Outputs({}, result.digest, result.checks)
        data = pickle.dumps((number, result, small), protocol=5)
        end = int(self._end[0])
        os.pwrite(self._file, len(data).to_bytes(_LENGTH_BYTES, "little") + data, end)
        self._end[0] = end + _LENGTH_BYTES + len(data)

    def read(self) -> Iterator[tuple[int, Outputs | NoData]]:
        """All that was kept, in order."""
        at, end = 0, int(self._end[0])
        while at < end:
            length = int.from_bytes(os.pread(self._file, _LENGTH_BYTES, at), "little")
            data = os.pread(self._file, length, at + _LENGTH_BYTES)
            number, result, small = pickle.loads(data)  # noqa: S301  # of a process of this run
            if isinstance(result, Outputs):
                ports: dict[str, Any] = {}
                for packed in small.values():
                    ports |= decoded(memoryview(packed), copy=True).ports
                result = Outputs(ports, result.digest, result.checks)
            yield number, result
            at += _LENGTH_BYTES + length

    def close(self) -> None:
        """Gives the memory back, once every process has."""
        os.close(self._file)
