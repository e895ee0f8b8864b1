"""The status of a paced run: that of every run, and what only wall-clock runs can lack."""

from __future__ import annotations

from rt_sched.runtime.host.tiers import Tier


def paced_status(
    status: str,
    reason: str,
    *,
    tier: Tier,
    lost: int,
    late: str | None,
    pauses: int = 0,
    missing: int = 0,
    unwatched: str | None = None,
) -> tuple[str, str]:
    """Status and reason. `lost`: workers that ended before the run did. `late`: about samples published late, if any.
    `pauses`: how often run time stood still while jobs went on, which makes them look shorter. `missing`: samples that
    were due and not published. `unwatched`: that the watch over sensors was away for longer than declared, if it was.

    A missed deadline is one whatever else happened. Bounds assume that every worker lives and every sample comes, so
    with losses none is violated. The user tier has no bounds at all: a run in it that met everything is evidence, not
    a verdict.
    """
    losses = _losses(lost) if lost else f"{missing} samples were due and not published" if missing else None
    if status == "bound_violated" and losses:
        return "assumption_violated", f"{losses}, which no bound covers: {reason}"
    if status in ("ok", "incomplete") and losses:
        return "incomplete", losses
    if status != "ok":
        return status, reason
    if late is not None or unwatched is not None:
        return "incomplete", late or unwatched or ""
    if pauses:
        return "incomplete", f"{reason}; but the run was paused, and jobs that went on meanwhile look shorter"
    if tier is Tier.USER:
        return "incomplete", f"{reason}; inconclusive all the same: the user tier has no bounds"
    return status, reason


def _losses(lost: int) -> str:
    return f"{lost} worker was lost on the way" if lost == 1 else f"{lost} workers were lost on the way"
