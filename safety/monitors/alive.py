"""Whether a task goes on: alive supervision and deadline supervision, in the words of AUTOSAR's watchdog manager."""

from __future__ import annotations

from collections.abc import Iterable


def silent_at(times_ns: Iterable[int], timeout_ns: int, end_ns: int) -> list[int]:
    """When a timer of this length ran out before `end_ns`.

    It runs from 0, so that what never begins is noticed too, and each of `times_ns` restarts it; one at the very
    instant at which it would run out is in time.
    """
    found, last_ns = [], 0
    for time_ns in (*sorted(times_ns), end_ns):
        if time_ns - last_ns > timeout_ns and last_ns + timeout_ns < end_ns:
            found.append(last_ns + timeout_ns)
        last_ns = time_ns
    return found
