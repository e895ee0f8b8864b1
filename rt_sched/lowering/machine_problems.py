"""What is wrong with a machine's input, collected while it is checked."""

from __future__ import annotations

from rt_sched.errors import Problem


class MachineProblems:
    """Collects what is wrong with a machine's input."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def say(self, path: str, message: str) -> None:
        """Something else than a number out of range."""
        self.found.append(Problem("machine input", 0, 0, path, message))

    def within(self, path: str, value: int, least: int, most: int) -> bool:
        """Whether a number is in its range; if not, it is noted."""
        inside = least <= value <= most
        if not inside:
            self.say(path, f"{value} is outside {least} ... {most}")
        return inside

    def index(self, path: str, value: int, count: int) -> bool:
        """Whether an index leads somewhere; if not, it is noted."""
        inside = 0 <= value < count
        if not inside:
            self.say(path, f"{value} is not one of the {count} that exist (counted from 0)")
        return inside
