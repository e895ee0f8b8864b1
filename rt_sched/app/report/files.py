"""A schedulability report on disk: the page, the document beside it, the table of requirements, a PDF."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rt_sched.app.analyze.job import write_document
from rt_sched.app.report.requirements import requirement_csv
from rt_sched.errors import DeploymentError
from rt_sched.report.schedulability import render_schedulability_report

#: Browsers that print a page without a window, by the names of their programs.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_PRINT_S = 180


def write_report(document: Mapping[str, Any], page: Path) -> Path:
    """The page, and the document beside it under the same name with the ending json, whose path is given back."""
    _write(page, render_schedulability_report(document))
    beside = page.with_suffix(".json")
    write_document(document, beside)
    return beside


def write_requirements(document: Mapping[str, Any], target: Path) -> None:
    """The table of requirements and limits as CSV."""
    _write(target, requirement_csv(document["requirements"]))


def browser() -> str:
    """The program that prints pages; raises DeploymentError where there is none."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise DeploymentError(
            f"a PDF needs a browser that prints without a window; none of {', '.join(BROWSERS)} is installed. Leave "
            "--pdf out and print the page from any browser: it has a layout for paper"
        )
    return found


def write_pdf(page: Path, target: Path, program: str) -> None:
    """`page` printed by `program`, without network; raises DeploymentError when that fails."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--no-pdf-header-footer",
            f"--user-data-dir={profile}",
            f"--print-to-pdf={target.resolve()}",
            page.resolve().as_uri(),
        ]
        try:
            done = subprocess.run(  # noqa: S603  (a program found by its name, a list of arguments, no shell)
                command, capture_output=True, text=True, timeout=_PRINT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeploymentError(f"{target}: {Path(program).name} did not print it ({error})") from error
    if done.returncode or not target.is_file():
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise DeploymentError(f"{target}: {Path(program).name} did not print it ({lines[-1]})")


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{target}: cannot be written ({error.strerror})") from error
