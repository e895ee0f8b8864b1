"""The words of a call for a paced run, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rt_sched.app.paced.request import PacedRequest
from rt_sched.errors import ConfigError, Problem
from rt_sched.runtime.host.tiers import Tier
from rt_sched.units import ceil_int, parse_time

#: Rates beyond these are slips of the pen.
_LEAST_RATE, _LARGEST_RATE = Fraction(1, 1000), Fraction(1000)


@dataclass(frozen=True, slots=True)
class PacedWords:
    """Options as they were typed; `lockstep`: those of replays in lockstep, by name, None where they are not given."""

    log: str
    system: str | None
    policy: str | None
    plan: Path | None
    tier: str | None
    rate: str
    duration: str | None
    output: Path | None
    salvage: bool
    command: str
    lockstep: Mapping[str, Any]
    faults: tuple[str, ...] = ()


def paced_request(words: PacedWords) -> PacedRequest:
    """The request. Raises ConfigError with everything that is wrong with the words."""
    problems: list[Problem] = []
    for name, value in words.lockstep.items():
        if value:
            problems.append(Problem(name, 0, 0, "", "belongs to replays in lockstep; leave it out, or --paced"))
    tier = _tier(words.tier, problems)
    rate = _rate(words.rate, problems)
    duration_ns = _duration_ns(words.duration, problems)
    if problems:
        raise ConfigError(problems)
    return PacedRequest(
        log=words.log,
        system=words.system,
        policy=words.policy,
        plan=words.plan,
        tier=tier,
        rate=rate,
        duration_ns=duration_ns,
        output=words.output,
        salvage=words.salvage,
        command=words.command,
        faults=words.faults,
    )


def refuse_words(options: Mapping[str, Any]) -> None:
    """Raises ConfigError where a replay in lockstep is given `options` of paced runs, by name."""
    given = [name for name, value in options.items() if value]
    if given:
        raise ConfigError(
            [Problem(name, 0, 0, "", "belongs to paced runs; leave it out, or add --paced") for name in given]
        )


def _tier(word: str | None, problems: list[Problem]) -> Tier | None:
    if word is None:
        return None
    try:
        return Tier(word)
    except ValueError:
        problems.append(Problem("--tier", 0, 0, word, f"valid: {', '.join(tier.value for tier in Tier)}"))
        return None


def _rate(word: str, problems: list[Problem]) -> Fraction:
    try:
        rate = Fraction(word)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if _LEAST_RATE <= rate <= _LARGEST_RATE:
        return rate
    problems.append(
        Problem("--rate", 0, 0, word, f"a number from {float(_LEAST_RATE):g} to {_LARGEST_RATE}, such as 0.5")
    )
    return Fraction(1)


def _duration_ns(word: str | None, problems: list[Problem]) -> int | None:
    if word is None:
        return None
    try:
        duration_ns = ceil_int(parse_time(word))
    except ValueError as error:
        problems.append(Problem("--duration", 0, 0, word, str(error)))
        return None
    if duration_ns <= 0:
        problems.append(Problem("--duration", 0, 0, word, "the run has to last, such as 5s"))
    return duration_ns
