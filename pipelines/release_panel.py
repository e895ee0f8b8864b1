"""A person's requests to leave MINIMAL_RISK, at known times of a run: what a bench gives in place of a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pipelines.parameters import checked_number
from rt_sched.messages import ReleaseRequest
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_MS

#: A day of a run.
_LONGEST_MS = 86_400_000.0


class ReleasePanel(StageBase):
    """Timed; no inputs; output `release`: ReleaseRequest, given at each of `at_ms`, ms from the start of the run.

    The first job that arrives at that instant or later publishes the request, the last of several that are due at once.
    Every other job is rejected, as nobody asks. An instance that begins during a run leaves out what was due before.
    Raises ValueError for times that are no ascending numbers.
    """

    inputs: ClassVar[Mapping[str, type]] = {}
    outputs: ClassVar[Mapping[str, type]] = {"release": ReleaseRequest}
    stateful: ClassVar[bool] = True

    def __init__(self, *, at_ms: Sequence[float]) -> None:
        if isinstance(at_ms, str) or not isinstance(at_ms, Sequence):
            raise ValueError(f"at_ms: {at_ms!r} is not a list of times in ms, such as [700]")
        times = [checked_number(f"at_ms: {place}", at, low=0.0, high=_LONGEST_MS) for place, at in enumerate(at_ms)]
        if times != sorted(times):
            raise ValueError("at_ms: the times do not ascend")
        self._given_ns = [int(at * NS_PER_MS) for at in times]
        self._seen_ns: int | None = None

    def start(self, context: StageContext) -> None:
        self._seen_ns = None

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        after_ns = self._seen_ns
        if after_ns is None:
            after_ns = -1 if job.number == 0 else job.arrival_ns - 1
        self._seen_ns = job.arrival_ns
        due = [at_ns for at_ns in self._given_ns if after_ns < at_ns <= job.arrival_ns]
        if not due:
            raise Rejected("nobody asks for a release")
        return {"release": ReleaseRequest(due[-1], "panel")}
