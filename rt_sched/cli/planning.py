"""The command that plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import VERDICT_CODES, Json, app, compiler_told, console, print_json, tell


@app.command(short_help="Find the best plan that the analysis accepts.")
def plan(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    objective: Annotated[
        str, typer.Option("--optimise", "--optimize", metavar="WHAT", help="latency, margin, energy or balance.")
    ] = "latency",
    time_limit: Annotated[str, typer.Option(metavar="TIME", help="For the search, such as 10s.")] = "30s",
    policy: Annotated[
        str | None,
        typer.Option(help="rms, dm, opa or edf.", show_default="the file's, the others where that is not accepted"),
    ] = None,
    heuristics: Annotated[
        bool, typer.Option("--heuristics", help="First fit, worst fit and HEFT only: no solver, no moves.")
    ] = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="Tasks stay where the file has them: no other place is looked at.")
    ] = False,
    failover: Annotated[bool, typer.Option(help="Also plan what takes over when something is lost.")] = True,
    pairs: Annotated[
        list[str] | None,
        typer.Option(metavar="A+B", help="Also plan what takes over when these are lost at one time; more than once."),
    ] = None,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="The plan also sets offsets of timed tasks, where bounds get better.")
    ] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="Small tasks of one chain may become one task, where the plan gets better.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also why each task is where it is, critical path, speed-up, offsets.")
    ] = False,
    tables: Annotated[
        str | None,
        typer.Option(metavar="all|PE,PE", help="Also time-triggered tables of these elements, of one hyperperiod."),
    ] = None,
    tables_output: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Write the tables as a system file would have them.")
    ] = None,
    free_offsets: Annotated[
        bool, typer.Option("--free-offsets", help="Tables may move timed tasks to right after what they read.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PLAN.yaml", help="Write the plan file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing plan file.")] = False,
    as_json: Json = False,
) -> None:
    """Find a plan that the analysis accepts, the best for an objective: exit 0 found, 1 impossible, 3 not known."""
    from rt_sched.app.plan import job
    from rt_sched.app.plan.tables import print_plan
    from rt_sched.units import NS_PER_S, parse_time

    try:
        limit_s = float(parse_time(time_limit) / NS_PER_S)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--time-limit") from None
    if tables is None and (tables_output is not None or free_offsets):
        raise typer.BadParameter("name the elements that get a table", param_hint="--tables")
    if tables is not None and merge:
        raise typer.BadParameter("tables name the tasks of the file; leave one out", param_hint="--merge")
    if pairs and not failover:
        raise typer.BadParameter("needs takeovers; leave out --no-failover", param_hint="--pairs")
    if stay and heuristics:
        raise typer.BadParameter("looks for other places; leave one out", param_hint="--heuristics")
    if limit_s < 0:
        raise typer.BadParameter("is negative", param_hint="--time-limit")
    request = job.PlanRequest(
        system=system,
        objective=objective,
        time_limit_s=limit_s,
        policy=policy,
        search=not heuristics,
        stay=stay,
        explain=explain,
        failover=failover,
        pairs=tuple(pairs or ()),
        offsets=offsets,
        merge=merge,
        output=output,
        force=force,
        tables=tables,
        tables_output=tables_output,
        free_offsets=free_offsets,
    )

    with compiler_told():
        document = job.planned_document(request, tell)
    if as_json:
        print_json(document)
    else:
        print_plan(document, console())
    raise typer.Exit(VERDICT_CODES[document["verdict"]])
