"""Jobs as lines of text, a part of a run at a time: a plain CSV, and the form of schedule-abstraction-graph tools.

The plain form has one line a job, in the order in which windows of the run finish them: task, number, times in ns (-1:
never came), outcome. The other form is that of `record.job_set`: what was drawn for each job as its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rt_sched.errors import DeploymentError
from rt_sched.record.job_set import HEADER

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


class LineFile:
    """A text file that is written in parts, and appears when its block has ended well.

    Raises DeploymentError when it cannot be written.
    """

    def __init__(self, path: Path, header: str) -> None:
        self._path, self._part = path, path.with_name(path.name + ".part")
        self._header = header

    def __enter__(self) -> Self:
        try:
            self._file = self._part.open("w", encoding="utf-8")
        except OSError as error:
            raise self._refused(error) from error
        self.add([self._header])
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
            if kind is None:
                self._part.replace(self._path)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            self._part.unlink(missing_ok=True)

    def _refused(self, error: OSError) -> DeploymentError:
        return DeploymentError(f"cannot write {self._path}: {error.strerror}")

    def add(self, lines: Sequence[str]) -> None:
        """Write these lines."""
        try:
            self._file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise self._refused(error) from error
