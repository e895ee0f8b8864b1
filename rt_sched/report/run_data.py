"""What the run report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rt_sched.messages import ArbiterDecision
from rt_sched.model import CauseEffectChain
from rt_sched.trace.chains import ChainMeasurement
from rt_sched.trace.records import Trace


@dataclass(frozen=True, slots=True)
class AnnotatedFrame:
    """A camera frame with its boxes drawn. `time_ns`: capture time on the run's time line."""

    camera: str
    time_ns: int
    jpeg: bytes
    width: int
    height: int
    caption: str


@dataclass(frozen=True, slots=True)
class ChainResult:
    """A chain with its limits, and what the run measured of it."""

    chain: CauseEffectChain
    measurement: ChainMeasurement


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that `report.html` is made from.

    `summary`: what `summary.json` holds: `status`, `clock`, `tier`, `tasks`, `chains`, `topics`, `pes`, `arbiter`,
    `faults`, and, where known, `reason` (of the status), `system`, `policy`, `duration_ns`, `recording`, `notes` and
    `warnings` (lists of sentences). A fault's optional `time_ns` says when it was injected. `manifest`: what
    `manifest.json` holds, with an optional `command` (text or a list of arguments). `arbiter`: (time_ns, decision) in
    order of time. `task_groups`: the kind of work of a task, such as
    "camera" or "fusion", which colours the chart of the schedule; for others the module of the `stage` that the
    summary names is taken, or else the first chain that they belong to.
    """

    summary: Mapping[str, Any]
    manifest: Mapping[str, Any]
    trace: Trace
    chains: Sequence[ChainResult] = ()
    arbiter: Sequence[tuple[int, ArbiterDecision]] = ()
    frames: Sequence[AnnotatedFrame] = ()
    task_groups: Mapping[str, str] = field(default_factory=dict)
