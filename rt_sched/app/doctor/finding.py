"""What the examination of a machine finds, and where it looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Severity(str, Enum):
    """OK: as it should be. NOTE: worth knowing. WARNING: costs punctuality. PROBLEM: a tier or a run fails for it."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found. `costs`: what follows from it. `mend`: a command, empty where nothing is to be done."""

    area: str
    name: str
    severity: Severity
    found: str
    costs: str = ""
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The files in which the kernel tells of itself, below `root`."""

    root: Path = Path("/")

    def read(self, path: str) -> str | None:
        """The text of a file without blanks around it; None where it is missing or may not be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """The number in a file; None where it is missing or holds something else."""
        text = self.read(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def glob(self, pattern: str) -> Iterator[Path]:
        """Paths below the root that match, in order; readable or not."""
        return iter(sorted(self.root.glob(pattern)))
