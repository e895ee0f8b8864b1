"""What a replay hands back, in lockstep or paced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rt_sched.messages import ArbiterDecision


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """`folder`: the finished run folder. `summary`, `manifest`: the documents in it. `wall_s`: seconds on this host.

    `decisions`: those of the arbiter, with their times in ns.
    """

    folder: Path
    summary: dict[str, Any]
    manifest: dict[str, Any]
    wall_s: float
    decisions: Sequence[tuple[int, ArbiterDecision]] = ()
