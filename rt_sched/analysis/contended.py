"""Verdicts where elements of a device slow each other down: bounds count it everywhere, proofs of a miss nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rt_sched.analysis.result import ModeResult, ProcessorResult, TaskResult, Verdict

_REASON = "with execution stretched by contention a run misses; without any, none was found"


def softened(stretched: Sequence[ModeResult], exact: Sequence[ModeResult]) -> tuple[ModeResult, ...]:
    """The modes of `stretched` in which UNSCHEDULABLE is only what is so in `exact`, without contention, too.

    A run in which every job is slowed down for all of its time is none that the system surely has.
    """
    return tuple(_softened(one, other) for one, other in zip(stretched, exact, strict=True))


def _softened(stretched: ModeResult, exact: ModeResult) -> ModeResult:
    proven = {one.task for one in exact.tasks if one.verdict is Verdict.UNSCHEDULABLE}
    tests = {
        (one.processor, name)
        for one in exact.processors
        for name, verdict, _ in one.tests
        if verdict is Verdict.UNSCHEDULABLE
    }
    tasks = tuple(one if one.task in proven else _task(one) for one in stretched.tasks)
    processors = tuple(_processor(one, tests) for one in stretched.processors)
    verdict = stretched.verdict
    if verdict is Verdict.UNSCHEDULABLE and exact.verdict is not Verdict.UNSCHEDULABLE:
        verdict = Verdict.INCONCLUSIVE
    return replace(stretched, tasks=tasks, processors=processors, verdict=verdict)


def _task(one: TaskResult) -> TaskResult:
    if one.verdict is not Verdict.UNSCHEDULABLE:
        return one
    return replace(one, verdict=Verdict.INCONCLUSIVE, reason=_REASON, witness=None)


def _processor(one: ProcessorResult, proven: set[tuple[str, str]]) -> ProcessorResult:
    return replace(
        one,
        tests=tuple(
            (name, Verdict.INCONCLUSIVE, f"{text}, when execution is stretched by contention")
            if verdict is Verdict.UNSCHEDULABLE and (one.processor, name) not in proven
            else (name, verdict, text)
            for name, verdict, text in one.tests
        ),
    )
