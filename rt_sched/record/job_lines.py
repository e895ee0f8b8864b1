"""Jobs as lines of text, a part of a run at a time: a plain CSV, and the form of schedule-abstraction-graph tools.

The plain form has one line a job, in the order in which windows of the run finish them: task, number, times in ns (-1:
never came), outcome. The other form is that of `record.job_set`: what was drawn for each job as its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rt_sched.record.job_set import HEADER
from rt_sched.record.part_file import PartFile

#: Columns of the plain form between the task's name and the outcome.
TIMES = (
    "number",
    "arrival_ns",
    "release_ns",
    "start_ns",
    "finish_ns",
    "deadline_ns",
    "demand_ns",
    "executed_ns",
    "capture_ns",
)
PLAIN_HEADER = ",".join(("task", *TIMES, "status", "missed", "overrun"))
JOB_SET_HEADER = HEADER


class LineFile(PartFile):
    """A text file that is written in parts, and appears when its block has ended well.

    Raises DeploymentError when it cannot be written.
    """

    def __init__(self, path: Path, header: str) -> None:
        super().__init__(path)
        self._header = header

    def __enter__(self) -> Self:
        super().__enter__()
        self.add([self._header])
        return self

    def add(self, lines: Sequence[str]) -> None:
        """Write these lines."""
        with self.told():
            self.stream.write("".join(f"{line}\n" for line in lines).encode())
