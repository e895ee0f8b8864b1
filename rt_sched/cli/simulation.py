"""The commands that simulate: in bulk, and in search of bad cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rt_sched.cli.shared import (
    EXIT_CODES,
    Json,
    Policy,
    Threads,
    app,
    command_line,
    compiler_told,
    console,
    print_json,
    tell,
)


@app.command(short_help="Simulate any number of runs, and count.")
def simulate(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    duration: Annotated[str, typer.Option(metavar="TIME", help="Virtual time of a run, such as 100s.")] = "100s",
    runs: Annotated[int, typer.Option(min=1, max=10**6, help="Runs, each with a seed of its own.")] = 1,
    execution: Annotated[
        str, typer.Option(help="Execution times: wcet, bcet, uniform, profile or adversarial.")
    ] = "profile",
    policy: Policy = None,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A plan file.", show_default="made from the system")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME@TIME",
            help="Lose a camera, lidar, imu, device or link, such as camera:front_wide@1.5s, or @1s..2s. Repeatable.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the first run; run i has seed + i.")] = 0,
    threads: Threads = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write a run: its jobs as .csv or .sag.csv, for Perfetto as .pftrace, a chart as .svg or .html.",
        ),
    ] = None,
    run: Annotated[int, typer.Option(min=0, help="Which run --trace and --gantt show, from 0 on.")] = 0,
    gantt: Annotated[bool, typer.Option("--gantt", help="Also print a chart of the run's schedule.")] = False,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME..TIME", help="What charts show, such as 10ms..60ms.", show_default="the first hyperperiod"
        ),
    ] = None,
    rows: Annotated[str, typer.Option(help="What has a row in charts: tasks or processors.")] = "tasks",
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Exactly the run that this file tells, such as search finds.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a system in virtual time, without its perception code; statistics of any number of runs."""
    from rt_sched.app.simulate import job
    from rt_sched.app.terminal import Terminal

    request = job.SimulateRequest(
        system=system,
        duration=duration,
        runs=runs,
        execution=execution,
        policy=policy,
        plan=plan,
        faults=tuple(fault or ()),
        seed=seed,
        threads=threads,
        trace=trace,
        run=run,
        gantt=gantt,
        window=window,
        rows=rows,
        scenario=scenario,
    )
    charts: list[Any] = []
    terminal = Terminal(quiet=as_json)
    try:
        with compiler_told(terminal.note):
            document = job.simulate(request, terminal, charts.append)
    finally:
        terminal.close()
    for chart in charts:
        from rt_sched.app.simulate.gantt import print_chart

        title = f"Run {run} from {chart.start_ns / 1e6:g} to {chart.end_ns / 1e6:g} ms"
        print_chart(chart, title, console(to_stderr=as_json))
    if as_json:
        print_json(document)
    else:
        from rt_sched.app.simulate.tables import print_simulation

        print_simulation(document, console())
    raise typer.Exit(EXIT_CODES[document["status"]])


@app.command(short_help="Search for the runs that come nearest to the bounds.")
def search(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A task or chain. Repeatable.", show_default="all tasks and chains"),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME|N", help="For how long, such as 10s; or how many runs, such as 5000.")
    ] = "10s",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="With the same number of runs, finds the same.")] = 0,
    policy: Policy = None,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A plan file.", show_default="made from the system")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER|FILE.yaml",
            help="Write scenarios: of every target, or of the one nearest to its bound.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Changes no result.", show_default="one per core")
    ] = None,
    as_json: Json = False,
) -> None:
    """Look for legal runs in which tasks and chains take longest; exit 1 where a bound, deadline or limit is exceeded.

    Ctrl-C ends it early, with what was found so far.
    """
    from rt_sched.app.search import job

    request = job.SearchRequest(
        system=system,
        targets=tuple(target or ()),
        budget=budget,
        seed=seed,
        policy=policy,
        plan=plan,
        output=output,
        force=force,
        processes=processes,
        command=command_line(),
    )

    with compiler_told():
        document = job.searched_document(request, tell)
    if as_json:
        print_json(document)
    else:
        from rt_sched.app.search.tables import print_search

        print_search(document, console())
    raise typer.Exit(EXIT_CODES[document["status"]])
