"""The verdict on one task, from its bound, tests of its processor, its misses and a run in which it misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.methods.load_tests import TestResult
from rt_sched.analysis.result import Misses, TaskResult, Verdict, Witness
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.misses import in_time
from rt_sched.analysis.system.ties import counted_of_equals
from rt_sched.units import format_ns


def proof_of(tests: Sequence[TestResult]) -> str | None:
    """The test that proves all deadlines of a processor at once, in words."""
    return next((f"{name}: {text}" for name, verdict, text in tests if verdict is Verdict.SCHEDULABLE), None)


def settled(one: TaskBound, misses: Misses | None) -> bool:
    """Whether bounds alone say that a task keeps what it promises."""
    return in_time(one) if misses is None else misses.verdict is Verdict.SCHEDULABLE


def task_result(
    mode: str,
    load: ProcessorLoad,
    one: TaskBound,
    witness: Witness | None,
    proof: str | None,
    misses: Misses | None = None,
) -> TaskResult:
    """The verdict on one task, from its bound, a run in which it misses, a test of its processor that proves it, and
    its misses where it may have some."""
    task = one.task
    if misses is None:
        verdict, reason = _hard(load, one, witness, proof)
    else:
        verdict, reason = weakly_hard_verdict(misses, witness)
        misses = replace(misses, verdict=verdict)
    return TaskResult(
        task.name,
        mode,
        load.processor.name,
        task.deadline_ns,
        one.bound,
        verdict,
        reason,
        one.refusals,
        witness,
        misses=misses,
    )


def _hard(load: ProcessorLoad, one: TaskBound, witness: Witness | None, proof: str | None) -> tuple[Verdict, str]:
    """Of a task that must not be late."""
    task, bound = one.task, one.bound
    if in_time(one):
        return Verdict.SCHEDULABLE, "the bound is within the deadline"
    if proof is not None:
        return Verdict.SCHEDULABLE, proof
    if witness is not None:
        return Verdict.UNSCHEDULABLE, f"a legal run misses: {witness.how}"
    if bound is None:
        return Verdict.INCONCLUSIVE, one.reason
    over = format_ns(bound.value_ns - task.deadline_ns)
    reason = f"the bound exceeds the deadline by {over}, and no run that misses was found"
    return Verdict.INCONCLUSIVE, reason + counted_of_equals(load, task, bound.value_ns - task.deadline_ns)


def weakly_hard_verdict(misses: Misses, witness: Witness | None) -> tuple[Verdict, str]:
    """Of a task that may miss some deadlines."""
    limit = f"{misses.allowed} of any {misses.k} may miss"
    if misses.verdict is Verdict.SCHEDULABLE:
        return Verdict.SCHEDULABLE, f"at most {misses.at_most} of any {misses.k} jobs miss: {misses.reason}"
    if witness is not None:
        return Verdict.UNSCHEDULABLE, f"{limit}, and in a legal run more do: {witness.how}"
    known = "" if misses.at_most is None else f"at most {misses.at_most} do: "
    return Verdict.INCONCLUSIVE, f"{limit}; {known}{misses.reason}, and no run in which more miss was found"
