"""The arbiter's stage, where the reports of the sensors' monitors are one more input of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rt_sched.ports import JobContext, Stage
from safety.vouching import HEALTH_INPUT


class FedStage:
    """`newest`: the report that a job finds, None before the first."""

    def __init__(self, stage: Stage, newest: Callable[[JobContext], object]) -> None:
        self._stage, self._newest = stage, newest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the stage makes of it."""
        return self._stage.process(job, {**inputs, HEALTH_INPUT: self._newest(job)})
