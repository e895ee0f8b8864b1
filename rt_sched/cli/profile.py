"""The command that measures execution times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import Json, Log, Salvage, app, command_line, compiler_told, console, print_json


@app.command("profile", short_help="Measure the execution times of all stages here.")
def profile(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    log: Log,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.yaml", help="Where the profile file goes.")
    ] = None,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How much of the log is used.")] = "3s",
    jobs: Annotated[int, typer.Option(min=1, max=1_000_000, help="Jobs of each task, at most.")] = 200,
    margin: Annotated[str, typer.Option(help="By what the highest time is multiplied for the budget.")] = "1.2",
    contention: Annotated[bool, typer.Option("--contention/--alone", help="Also with every other core busy.")] = True,
    salvage: Salvage = False,
    as_json: Json = False,
) -> None:
    """Measure the execution times of all stages on this host, as a profile file that system files can name."""
    from rt_sched.app.profile.call import profile_request
    from rt_sched.app.profile.job import profile as job
    from rt_sched.app.profile.text import print_profile, write_profile
    from rt_sched.app.terminal import Terminal

    request = profile_request(
        system, log, duration=duration, jobs=jobs, margin=margin, contention=contention, salvage=salvage,
        command=command_line(),
    )  # fmt: skip
    terminal = Terminal(quiet=as_json)
    with compiler_told(terminal.note):
        document = job(request, terminal)
    terminal.close()
    if output is not None:
        write_profile(document, output)
    if as_json:
        print_json(document)
    else:
        print_profile(document, console())
