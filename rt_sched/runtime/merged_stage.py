"""The stages of tasks that a plan merges, one after the other in one job."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rt_sched.lowering.merging import MERGED_STAGE, PARTS
from rt_sched.ports import Feeder, JobContext, Stage, StageBase, StageContext


class MergedStage(StageBase):
    """Runs its parts in order: each reads what the one before it put out; what the last one puts out is published.

    `parts`: by part its `task`, `stage`, `parameters`, its only `input`, and the `port` of the part before that this
    comes from, as `rt_sched.lowering.merging` writes them. A part that rejects what it gets ends the job.
    """

    inputs: Mapping[str, type] = {}
    outputs: Mapping[str, type] = {}

    def __init__(self, parts: Sequence[Mapping[str, Any]]) -> None:
        self._parts = tuple(parts)
        self._stages: tuple[Stage, ...] = tuple(_made(one["stage"], one["parameters"]) for one in parts)
        first, last = self._stages[0], self._stages[-1]
        self.inputs, self.outputs = first.inputs, last.outputs
        self.stateful = any(stage.stateful for stage in self._stages)  # type: ignore[misc]  # of this instance
        self.checks_e2e = bool(getattr(first, "checks_e2e", False))  # type: ignore[misc]

    def start(self, context: StageContext) -> None:
        """Starts every part, which is told of the parts before it as of tasks of their own."""
        for number, (part, stage) in enumerate(zip(self._parts, self._stages, strict=True)):
            if number:
                before = self._parts[number - 1]
                feeder = Feeder(before["task"], before["stage"], before["parameters"], context.feeders)
                sources = {part["input"]: f"{before['task']}.{part['port']}"}
                context = replace(context, feeders={part["input"]: feeder}, sources=sources)
            stage.start(replace(context, task=part["task"]))

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """One job of every part."""
        outputs: Mapping[str, Any] = {}
        for number, (part, stage) in enumerate(zip(self._parts, self._stages, strict=True)):
            own = replace(job, task=part["task"])
            given = {part["input"]: outputs[part["port"]]} if number else inputs
            outputs = stage.process(own, stage.preprocess(own, given))
            if outputs.keys() != stage.outputs.keys():
                raise TypeError(f"{part['task']} published {sorted(outputs)}, declared {sorted(stage.outputs)}")
            stage.postprocess(own, outputs)
        return outputs

    def stop(self) -> None:
        """Stops every part, the last one first."""
        for stage in reversed(self._stages):
            stage.stop()


def last_part(feeder: Feeder) -> Feeder:
    """Of a merged task the part whose outputs it publishes, as a task of its own behind the others; else the task."""
    if feeder.stage != MERGED_STAGE:
        return feeder
    first, *others = feeder.parameters[PARTS]
    found = Feeder(first["task"], first["stage"], first["parameters"], feeder.feeders)
    for part in others:
        found = Feeder(part["task"], part["stage"], part["parameters"], {part["input"]: found})
    return found


def _made(stage: str, parameters: Mapping[str, Any]) -> Stage:
    module, _, name = stage.partition(":")
    found: Stage = getattr(importlib.import_module(module), name)(**parameters)
    return found
