"""Campaigns: many runs, each with one fault that is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rt_sched.app.faults.document import campaign_document
from rt_sched.app.faults.job import FaultsRequest, Unfaulted, opened, run_script
from rt_sched.app.faults.pages import write_campaign
from rt_sched.app.faults.prepared import Drive
from rt_sched.app.progress import Progress
from rt_sched.config.problems import unknown
from rt_sched.errors import ConfigError, Problem
from rt_sched.faults.draw import LATEST, drawn_scripts
from rt_sched.faults.kinds import BY_NAME
from rt_sched.faults.script import Injection


def run_campaign(
    request: FaultsRequest,
    runs: int,
    seed: int,
    kinds: Sequence[str],
    progress: Progress,
    report: Path | None = None,
) -> dict[str, Any]:
    """The document of `runs` runs with one drawn fault each; `kinds`: those to draw from, empty for all.

    `report`: where the page about it is written. Raises RtSchedError for anything that the user can mend. Run folders
    are not kept.
    """
    if report is not None and (report.suffix != ".html" or not report.parent.is_dir()):
        reason = "give a name that ends in .html, in a folder that is there"
        raise ConfigError([Problem("--report", 0, 0, str(report), reason)])
    wrong = [name for name in kinds if name not in BY_NAME]
    if wrong:
        raise ConfigError([Problem("--kind", 0, 0, name, unknown("kind of fault", name, BY_NAME)) for name in wrong])
    with opened(request) as drive, TemporaryDirectory(prefix="rt-sched-") as folder:
        try:
            scripts = drawn_scripts(drive.system, drive.active, drive.job_counts, _span_ns(drive), runs, seed, kinds)
        except ValueError as error:
            raise ConfigError([Problem("--kind", 0, 0, ", ".join(kinds), str(error))]) from None
        unfaulted = Unfaulted(request, progress)
        rows: list[dict[str, Any]] = []
        one = replace(request, output=Path(folder) / "run")
        for number, script in enumerate(scripts):
            progress.step(f"run {number + 1} of {runs}: {script.faults[0].kind_name} of {script.faults[0].target}")
            document = run_script(one, drive, script, progress, unfaulted)
            rows += [{**row, "drawn": _drawn(script.faults[0])} for row in document["faults"]]
        document = campaign_document(drive, request.log, seed, rows)
    if report is not None:
        write_campaign(document, report)
    return document


def _span_ns(drive: Drive) -> int:
    """The run, or the recording where jobs may go on for so long that faults would only strike when it is over."""
    last_ns = drive.timeline.last_arrival_ns
    return drive.horizon_ns if drive.horizon_ns * LATEST[0] // LATEST[1] < last_ns else last_ns


def _drawn(fault: Injection) -> dict[str, Any]:
    """What was drawn of a fault, with fractions and enumerations as a script writes them."""
    plain = (Fraction, Enum)
    return {
        one.name: str(value.value if isinstance(value, Enum) else value) if isinstance(value, plain) else value
        for one in fields(fault)
        if one.name not in ("name", "kind_name", "target", "trigger")
        and (value := getattr(fault, one.name)) != one.default
    }
