"""Commands that run a system, and look at runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rt_sched.cli.shared import (
    EXIT_CODES,
    Duration,
    Json,
    Log,
    Plan,
    Policy,
    Rate,
    RunOutput,
    Salvage,
    Seed,
    Threads,
    Tier,
    app,
    command_line,
    compiler_told,
    console,
    print_json,
)

if TYPE_CHECKING:
    from rt_sched.app.runs.result import ReplayResult
    from rt_sched.app.terminal import Terminal


@app.command(short_help="Replay a recording, in lockstep or paced on this host.")
def replay(
    log: Log,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            "-s",
            metavar="FILE",
            help="System file, or the short name of an example.",
            show_default="made from the recording, as init does",
        ),
    ] = None,
    policy: Policy = None,
    plan: Plan = None,
    seed: Seed = 0,
    threads: Threads = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME@TIME[..TIME]",
            help="Lose a camera, lidar, imu, device or link (paced: device), such as camera:rear@1.5s..3s. Repeatable.",
        ),
    ] = None,
    output: RunOutput = None,
    paced: Annotated[
        bool, typer.Option("--paced", help="Real processes on this host's scheduler, wall clock, not modelled devices.")
    ] = False,
    tier: Tier = None,
    rate: Rate = "1",
    duration: Duration = None,
    live: Annotated[
        bool, typer.Option("--live", help="With --paced: watch the run; space pauses, n steps to the next sample.")
    ] = False,
    salvage: Salvage = False,
    as_json: Json = False,
) -> None:
    """Replay a recording through its pipelines, in lockstep with modelled devices, or paced on this host."""
    from rt_sched.app.replay import job
    from rt_sched.app.terminal import Terminal

    terminal = Terminal(quiet=as_json)
    if paced:
        from rt_sched.app.paced.call import PacedWords, paced_request
        from rt_sched.app.paced.job import run_paced
        from rt_sched.app.paced.live import live_views

        lockstep, command, faults = {"--threads": threads, "--seed": seed}, command_line(), tuple(fault or ())
        words = PacedWords(log, system, policy, plan, tier, rate, duration, output, salvage, command, lockstep, faults)
        _show(run_paced(paced_request(words), terminal, live_views(terminal) if live else None), terminal, as_json)
    of_paced_runs = {"--tier": tier, "--rate": rate if rate != "1" else None, "--duration": duration, "--live": live}
    if any(of_paced_runs.values()):
        from rt_sched.app.paced.call import refuse_words

        refuse_words(of_paced_runs)
    request = job.ReplayRequest(
        log=log,
        system=system,
        policy=policy,
        plan=plan,
        seed=seed,
        threads=threads,
        faults=tuple(fault or ()),
        output=output,
        salvage=salvage,
        command=command_line(),
    )
    with compiler_told(terminal.note):
        result = job.run_replay(request, terminal)
    _show(result, terminal, as_json)


def _show(result: ReplayResult, terminal: Terminal, as_json: bool) -> NoReturn:
    if as_json:
        print_json(result.summary)
    else:
        terminal.show_replay(result)
    raise typer.Exit(EXIT_CODES[result.summary["status"]])


@app.command("rerun", short_help="Schedule a paced run's own arrivals once more.")
def rerun(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder of a paced replay.")],
    as_json: Json = False,
) -> None:
    """Schedule a paced run's own arrivals and CPU times once more in virtual time, and say what was later and why."""
    from rt_sched.app.rerun import print_rerun, rerun_document

    with compiler_told():
        document = rerun_document(run)
    if as_json:
        print_json(document)
    else:
        print_rerun(document, console())


@app.command("check-trace", short_help="Check a run's trace against the semantics.")
def check_trace(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or its trace.npz.")],
    as_json: Json = False,
) -> None:
    """Check a run's trace against the scheduling semantics, independently of what made it."""
    from rt_sched.app.runs.check_trace import check_run
    from rt_sched.app.terminal import Terminal

    document = check_run(run)
    if as_json:
        print_json(document)
    else:
        Terminal(quiet=False).show_trace_check(document)
    raise typer.Exit(EXIT_CODES[document["status"]])
