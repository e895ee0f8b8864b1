"""Commands about system files and what ships."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import NO_CACHE, Json, app, console, print_json, tell
from rt_sched.errors import DeploymentError


@app.command(short_help="A system with every default filled in.")
def show(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.svg", help="Draw sensors, tasks and chains.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a system with every default filled in: tables, one JSON document, a drawing."""
    from rt_sched.app.show.job import shown_system
    from rt_sched.app.show.tables import print_system

    document = shown_system(system, output)
    if as_json:
        print_json(document)
    else:
        print_system(document, console())
    if output is not None:
        typer.echo(f"drawn to {output}", err=True)


@app.command(short_help="The JSON Schema of system files, for editors.")
def schema(
    report: Annotated[bool, typer.Option("--report", help="That of a report's JSON document instead.")] = False,
    faults: Annotated[bool, typer.Option("--faults", help="That of fault scripts instead.")] = False,
) -> None:
    """Print the JSON Schema of system files, for editors that check and complete while one writes."""
    if report and faults:
        raise typer.BadParameter("give --report or --faults, not both")
    if faults:
        from rt_sched.faults.script_schema import script_schema

        print_json(script_schema())
        return
    if report:
        from rt_sched.report.schedulability.schema import report_schema

        print_json(report_schema())
        return
    from rt_sched.config.schema import system_schema

    print_json(system_schema())


@app.command(short_help="The system files and logs that ship.")
def examples(as_json: Json = False) -> None:
    """List the system files and logs that ship; their short names can stand for the files."""
    from rt_sched.app.inputs.shipped import shipped_files

    found = {name: str(path) for name, path in shipped_files().items()}
    if as_json:
        print_json({"schema": "rt-sched/examples/1", "files": [{"name": n, "path": p} for n, p in found.items()]})
    else:
        for name, path in found.items():
            typer.echo(f"{name:24}  {path}")


@app.command("compile", short_help="Compile all kernels, so that nothing waits later.")
def compile_kernels() -> None:
    """Compile all kernels into the cache, so that no later command waits for it."""
    from rt_sched.kernels.compiling import numba_cache  # isort: split
    from rt_sched.app.warm_up import compile_all

    if not numba_cache.CACHE:
        raise DeploymentError(f"compiled kernels cannot be kept: {NO_CACHE}")
    compile_all(tell)
