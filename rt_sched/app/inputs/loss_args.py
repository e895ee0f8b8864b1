"""The `--pairs` option: losses that happen at one time, A+B, checked against the system."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rt_sched.errors import ConfigError, Problem
from rt_sched.model import System
from rt_sched.planner.failover.losses import Losses, single_losses


def parse_losses(arguments: Sequence[str], system: System) -> tuple[Losses, ...]:
    """Each set of losses once: `kind:name` or `name`, two or more with + between, several sets with commas between.

    Raises ConfigError with every mistake at once.
    """
    known = [one for (one,) in single_losses(system)]
    found: list[Losses] = []
    problems: list[Problem] = []
    for argument in (part for whole in arguments for part in whole.split(",")):
        losses, reasons = [], []
        for word in argument.split("+"):
            fits = [one for one in known if word.strip() in (one, one.partition(":")[2])]
            if len(fits) == 1:
                losses += fits
            else:
                reasons.append(_refusal(word.strip(), fits, known))
        if not reasons and len(set(losses)) < 2:
            reasons.append("name two things, such as device:a+camera:b; single losses are planned for anyway")
        problems += [Problem("--pairs", 0, 0, argument, reason) for reason in reasons]
        found.append(tuple(sorted(set(losses))))
    if problems:
        raise ConfigError(problems)
    return tuple(dict.fromkeys(found))


def _refusal(word: str, fits: Sequence[str], known: Sequence[str]) -> str:
    if fits:
        return f"{word!r} may be {' or '.join(fits)}"
    names = [one.partition(":")[2] for one in known]
    close = difflib.get_close_matches(word, [*known, *names], n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"there is no {word!r} to lose; valid: {', '.join(known) or 'nothing'}{hint}"
