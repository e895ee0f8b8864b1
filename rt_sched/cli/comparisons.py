"""Commands that compare: a run's waits with its bounds, and two states of a system with each other."""

from __future__ import annotations

from pathlib import Path

import typer

from rt_sched.cli.shared import print_json


def is_run(argument: str | None) -> bool:
    """Whether an argument stands for a run: a folder, or a trace file."""
    return argument is not None and (Path(argument).is_dir() or Path(argument).suffix == ".npz")


def explain_run(target: str, run: str, chain: str | None, *, as_json: bool) -> None:
    """Tells what a job or frame of a run waited for, step by step."""
    from rt_sched.app.explain_run import explained_run

    document = explained_run(target, Path(run), chain)
    if as_json:
        print_json(document)
        return
    from rt_sched.app.explain_run_text import run_explanation_text

    typer.echo(run_explanation_text(document))
