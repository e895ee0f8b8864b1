"""The commands that inject faults from scripts, and draw them for campaigns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import (
    Duration,
    Json,
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
    help_without_command,
    print_json,
)

faults_app = typer.Typer(
    name="faults",
    help="Inject faults from a script, and see who notices.",
    rich_markup_mode=None,
    context_settings=app.info.context_settings,
)
app.add_typer(faults_app)


@faults_app.callback(invoke_without_command=True)
def faults(context: typer.Context) -> None:
    # No words here: the help text is that of the group.
    help_without_command(context)


System = Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")]
LogOption = Annotated[
    str, typer.Option("--log", metavar="LOG", help="A recording, or the short name of a shipped one.")
]


@faults_app.command("list", short_help="Every kind of fault, and who finds it.")
def list_kinds(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="Whose times are shown.")] = "quad_orin",
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="LOG", help="Count how late paced runs of this recording look at messages."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Every kind of fault that a script may name: where it is carried out, and which monitor finds it how soon."""
    from rt_sched.app.faults.delays import delay_of
    from rt_sched.app.faults.document import list_document
    from rt_sched.app.faults.tables import print_list
    from rt_sched.app.inputs.shipped import resolve
    from rt_sched.app.inputs.stages import ImportedStages
    from rt_sched.config import load_system

    file = resolve(system)
    document = list_document(
        load_system(file, stages=ImportedStages()), None if log is None else delay_of(file, resolve(log))
    )
    if as_json:
        print_json(document)
    else:
        print_list(document, console())


@faults_app.command(short_help="A replay with the faults of a script.")
def run(
    system: System,
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="The fault script.")],
    log: LogOption = "hazard_short",
    plan: Plan = None,
    policy: Policy = None,
    seed: Seed = 0,
    threads: Threads = None,
    stages: Annotated[bool, typer.Option(help="Run the stages, or only monitors and schedule.")] = True,
    output: RunOutput = None,
    paced: Annotated[
        bool, typer.Option("--paced", help="Strike real processes on this host's scheduler, not modelled devices.")
    ] = False,
    tier: Tier = None,
    rate: Rate = "1",
    duration: Duration = None,
    salvage: Salvage = False,
    as_json: Json = False,
) -> None:
    """Replay a recording with faults: who notices each, and how soon. Exit 0, 1 (silent or late) or 3 (unknown)."""
    from rt_sched.app.faults import job
    from rt_sched.app.faults.document import STATUS_CODES
    from rt_sched.app.faults.tables import print_run
    from rt_sched.app.paced.call import PacedWords, paced_request, refuse_words
    from rt_sched.app.terminal import Terminal

    terminal = Terminal(quiet=as_json)
    if paced:
        from rt_sched.app.faults.paced_job import run_faults_paced

        lockstep = {"--seed": seed, "--threads": threads, "--no-stages": not stages}
        words = PacedWords(log, system, policy, plan, tier, rate, duration, output, salvage, command_line(), lockstep)
        document = run_faults_paced(paced_request(words), system, script, terminal)
    else:
        refuse_words({"--tier": tier, "--rate": rate if rate != "1" else None, "--duration": duration})
        request = job.FaultsRequest(
            system, script, log, plan, policy, seed, threads, stages, output, salvage, command_line()
        )
        with compiler_told(terminal.note):
            document = job.run_faults(request, terminal)
    terminal.close()
    if as_json:
        print_json(document)
    else:
        print_run(document, console())
    raise typer.Exit(STATUS_CODES[document["status"]])


@faults_app.command(short_help="Many runs, each with a fault that is drawn.")
def campaign(
    system: System,
    runs: Annotated[int, typer.Option(min=1, max=10**6, help="How many.")] = 20,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Draw from this kind; repeatable.", show_default="all")
    ] = None,
    draw: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of what is drawn.")] = 0,
    log: LogOption = "hazard_short",
    plan: Plan = None,
    policy: Policy = None,
    seed: Seed = 0,
    threads: Threads = None,
    stages: Annotated[bool, typer.Option(help="Run the stages, or only monitors and schedule.")] = False,
    salvage: Salvage = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write a page with the coverage.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw faults, run each by itself, and count verdicts by kind: exit 0, 1 (silent, late) or 3 (unknown)."""
    from rt_sched.app.faults.campaign import run_campaign
    from rt_sched.app.faults.document import STATUS_CODES
    from rt_sched.app.faults.job import FaultsRequest
    from rt_sched.app.faults.tables import print_campaign
    from rt_sched.app.terminal import Terminal

    terminal = Terminal(quiet=as_json)
    request = FaultsRequest(
        system, Path("(drawn)"), log, plan, policy, seed, threads, stages, None, salvage, command_line()
    )
    with compiler_told(terminal.note):
        document = run_campaign(request, runs, draw, tuple(kind or ()), terminal, report)
    terminal.close()
    if as_json:
        print_json(document)
    else:
        print_campaign(document, console())
    raise typer.Exit(STATUS_CODES[document["status"]])
