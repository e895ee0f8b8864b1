"""A sensor from which nothing comes: a timer that every message restarts, looked at as often as its keeper likes."""

from __future__ import annotations


class Silence:
    """Runs from `first_ns` on, so that what never begins is noticed too, and not beyond `until_ns`.

    A message at the very instant at which it would run out is in time. `worst_case_ns`: its length, to which the time
    comes until somebody looks.
    """

    name = "silence"

    def __init__(self, timeout_ns: int, first_ns: int, until_ns: int) -> None:
        self.worst_case_ns = timeout_ns
        self._last_ns, self._until_ns = first_ns, until_ns

    def came(self, arrival_ns: int) -> None:
        """A message restarts it."""
        self._last_ns = max(self._last_ns, arrival_ns)

    def look(self, now_ns: int) -> str | None:
        """What is wrong, where everything that had arrived by `now_ns` was told before; None while all is well."""
        due_ns = self._last_ns + self.worst_case_ns
        return "nothing comes from it" if due_ns < min(now_ns, self._until_ns) else None
