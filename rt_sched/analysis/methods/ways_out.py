"""What would apply instead of a method that refuses: only what does not refuse the same load itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.methods.method import Method
from rt_sched.analysis.result import Refusal


def with_ways_out(load: ProcessorLoad, refusals: Sequence[Refusal], methods: Sequence[Method]) -> tuple[Refusal, ...]:
    """The refusals of a load, each naming a method of `methods` that applies, a way out in words, or nothing.

    A named method that refuses, too, gives way to the one that it names itself, and so on.
    """
    known = {method.name: method for method in methods}
    return tuple(replace(one, instead=_way_out(load, one.instead, known)) for one in refusals)


def _way_out(load: ProcessorLoad, instead: str | None, known: dict[str, Method]) -> str | None:
    asked: set[str] = set()
    while instead in known:
        method = known[instead]
        if instead in asked or load.policy not in method.policies:
            return None
        asked.add(instead)
        refusal = method.refuse(load)
        if refusal is None:
            return instead
        instead = refusal.instead
    return instead
