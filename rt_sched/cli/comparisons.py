"""Commands that compare: a run's waits with its bounds, and two states of a system with each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import EXIT_NO, EXIT_OK, Json, app, compiler_told, console, print_json

_SIDE = "A system file, plan file, analyze --json document, report.json, run folder or summary.json."


def is_run(argument: str | None) -> bool:
    """Whether an argument stands for a run: a folder, or a trace file."""
    return argument is not None and (Path(argument).is_dir() or Path(argument).suffix == ".npz")


def explain_run(target: str, run: str, chain: str | None, *, as_json: bool) -> None:
    """Tells what a job or frame of a run waited for, step by step."""
    from rt_sched.app.explain.run import explained_run

    document = explained_run(target, Path(run), chain)
    if as_json:
        print_json(document)
        return
    from rt_sched.app.explain.run_text import run_explanation_text

    typer.echo(run_explanation_text(document))


@app.command(short_help="Two systems, analyses or runs: which verdicts moved.")
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help=_SIDE)],
    after: Annotated[str, typer.Argument(metavar="B", help="The newer state, of the same kind.")],
    system: Annotated[
        str | None, typer.Option("--system", "-s", metavar="FILE", help="Of two plan files: analyse them, too.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also a bound that grew, or a limit that came closer, counts as worse.")
    ] = False,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Also write Markdown for a pull request; - for stdout.")
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a JUnit report with a case for every task, chain and fault."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what two states declare differently and which verdicts that moved: exit 1 where one got worse."""
    if as_json and markdown == "-":
        raise typer.BadParameter("stdout takes one of --json and Markdown; name a file", param_hint="--markdown")
    targets = [Path(target) for target in (markdown, junit) if target is not None and target != "-"]
    for target in targets:
        if target.resolve() in (Path(before).resolve(), Path(after).resolve()):
            raise typer.BadParameter(f"{target} is a file that is compared", param_hint="--markdown and --junit")
    if len({target.resolve() for target in targets}) < len(targets):
        raise typer.BadParameter("name the same file", param_hint="--markdown and --junit")
    from rt_sched.app.diff import job, text
    from rt_sched.app.diff.junit import junit as junit_text

    request = job.DiffRequest(before, after, system, strict)
    with compiler_told():
        document = job.difference(request)
    if markdown is not None and markdown != "-":
        job.write_text(Path(markdown), text.markdown(document))
    if junit is not None:
        job.write_text(junit, junit_text(document))
    if as_json:
        print_json(document)
    elif markdown == "-":
        sys.stdout.write(text.markdown(document))
    else:
        text.print_difference(document, console())
    raise typer.Exit(EXIT_NO if document["worse"] else EXIT_OK)
