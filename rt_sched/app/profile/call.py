"""The words of a call of `profile`, checked."""

from __future__ import annotations

from fractions import Fraction

from rt_sched.app.profile.job import ProfileRequest
from rt_sched.errors import ConfigError, Problem
from rt_sched.units import ceil_int, parse_time

_LARGEST_MARGIN = 10


def profile_request(
    system: str,
    log: str,
    *,
    duration: str,
    jobs: int,
    margin: str,
    contention: bool,
    salvage: bool,
    command: str,
) -> ProfileRequest:
    """The request. Raises ConfigError with everything that is wrong with the words."""
    problems: list[Problem] = []
    duration_ns, factor = 0, Fraction(1)
    try:
        duration_ns = ceil_int(parse_time(duration))
    except ValueError as error:
        problems.append(Problem("--duration", 0, 0, duration, str(error)))
    else:
        if duration_ns <= 0:
            problems.append(Problem("--duration", 0, 0, duration, "some of the log has to be used, such as 3s"))
    try:
        factor = Fraction(margin)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if not 1 <= factor <= _LARGEST_MARGIN:
        problems.append(Problem("--margin", 0, 0, margin, f"a number from 1 to {_LARGEST_MARGIN}, such as 1.2"))
    if problems:
        raise ConfigError(problems)
    return ProfileRequest(system, log, duration_ns, jobs, factor, contention, salvage, command)
