"""Exceptions of the product. Each carries a message that a user can act on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class RtSchedError(Exception):
    """Base class: the input, the call or the machine is at fault, not the tool."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a configuration file, with the place where it stands.

    `line` and `column` count from 1; 0 means that the file as a whole is meant.
    """

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}  {self.path}: {self.message}" if self.path else f"{place}  {self.message}"


class ConfigError(RtSchedError):
    """A configuration file is wrong; `problems` holds every mistake found, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.file, p.line, p.column, p.path)))
        super().__init__("\n".join(str(p) for p in self.problems))


class AnalysisNotApplicable(RtSchedError):
    """An analysis refuses because one of its assumptions does not hold."""


class DeploymentError(RtSchedError):
    """The machine, a model file or an output folder does not allow the run."""


class DataError(RtSchedError):
    """A recording or a single message cannot be read. The message names file and offset where known."""
