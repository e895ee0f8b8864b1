"""The command that simulates a system in bulk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import EXIT_CODES, Json, app, compiling, console, print_json


@app.command()
def simulate(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    duration: Annotated[str, typer.Option(metavar="TIME", help="Virtual time of a run, such as 100s.")] = "100s",
    runs: Annotated[int, typer.Option(min=1, max=10**6, help="Runs, each with a seed of its own.")] = 1,
    execution: Annotated[
        str, typer.Option(help="Execution times: wcet, bcet, uniform, profile or adversarial.")
    ] = "profile",
    policy: Annotated[str | None, typer.Option(help="rms, dm, opa or edf.", show_default="the system file's")] = None,
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
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Host threads; changes no result.", show_default="one per core")
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the jobs of the first run: .csv, .sag.csv or, for Perfetto, .pftrace."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a system in virtual time, without its perception code; statistics of any number of runs."""
    # Before the kernels, for which it chooses the folder.
    from rt_sched.kernels import numba_cache  # isort: split
    from rt_sched.app import simulate as job
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
    )
    terminal = Terminal(quiet=as_json)
    try:
        with numba_cache.told_before_compiling(lambda: terminal.note(compiling(kept=numba_cache.CACHE))):
            document = job.simulate(request, terminal)
    finally:
        terminal.close()
    if as_json:
        print_json(document)
    else:
        from rt_sched.app.simulate_tables import print_simulation

        print_simulation(document, console())
    raise typer.Exit(EXIT_CODES[document["status"]])
