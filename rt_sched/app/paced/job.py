"""Paced replay: the log through real processes on this host's own scheduler, wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.paced.prepared import prepare
from rt_sched.app.paced.request import PacedFaults, PacedRequest
from rt_sched.app.paced.written import write_up
from rt_sched.app.progress import Progress
from rt_sched.app.runs.folder import RunFolder
from rt_sched.app.runs.result import ReplayResult
from rt_sched.runtime.paced.executor import PacedRun

#: What looks at a run while it goes on, given the run time each time.
Looker = Callable[[int], None]


def run_paced(
    request: PacedRequest,
    progress: Progress,
    live: Callable[[PacedRun], AbstractContextManager[Looker]] | None = None,
    faults: PacedFaults | None = None,
) -> ReplayResult:
    """The whole job; with `live` somebody looks on, with `faults` a script is carried out. Raises RtSchedError for
    anything the user can mend; then no run folder is left.
    """
    began = time.monotonic()
    log = resolve(request.log)
    run = RunFolder(request.output or Path("runs") / log.stem, numbered=request.output is None)
    with ExitStack() as stack:
        folder = stack.enter_context(run).path
        prepared = prepare(request, progress, stack, faults)
        paced = PacedRun(prepared.order)
        progress.step("starting the processes")
        horizon_ns = prepared.order.horizon_ns
        looks = nullcontext(_advancing(progress, horizon_ns)) if live is None else live(paced)
        with looks as look:
            outcome = paced.run(look)
        progress.step("writing the run folder")
        written = write_up(request, prepared, outcome, folder, faults)
    return ReplayResult(run.target, written.summary, written.manifest, time.monotonic() - began, written.decisions)


def _advancing(progress: Progress, horizon_ns: int) -> Looker:
    """Tells that the run has begun, once it has, and then how far it is."""
    told = False

    def look(now_ns: int) -> None:
        nonlocal told
        if not told:
            progress.step("running")
            told = True
        progress.advance(now_ns, horizon_ns)

    return look
