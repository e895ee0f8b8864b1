"""The command that writes a schedulability report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rt_sched.cli.shared import VERDICT_CODES, Json, Plan, Policy, app, command_line, compiler_told, print_json


@app.command(short_help="Write the schedulability report for a safety review.")
def report(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Run folders whose measurements are evidence.")
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            "-s",
            metavar="SYSTEM",
            help="System file, or the short name of an example.",
            show_default="the one that the runs were made with",
        ),
    ] = None,
    policy: Policy = None,
    plan: Plan = None,
    search: Annotated[
        Path | None,
        typer.Option("--search", metavar="FILE.json", help="What rt-sched search --json found, as evidence."),
    ] = None,
    recoveries: Annotated[
        Path | None,
        typer.Option(
            "--recoveries", metavar="FILE.json", help="Recoveries measured at many instants, as evidence for takeovers."
        ),
    ] = None,
    faults: Annotated[
        list[Path] | None,
        typer.Option(
            "--faults", metavar="FILE.json", help="What rt-sched faults run or campaign --json printed; repeatable."
        ),
    ] = None,
    margins: Annotated[
        bool | None,
        typer.Option("--margins/--no-margins", help="Search margins.", show_default="up to 60 tasks"),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="The page; FILE.json is written beside it.")
    ] = Path("schedulability.html"),
    pdf: Annotated[
        Path | None, typer.Option("--pdf", metavar="FILE.pdf", help="Also print the page, by an installed Chromium.")
    ] = None,
    requirements: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE.csv", help="Also write the table of requirements.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a schedulability report of a system, with the evidence of runs: exit 0 proven, 1 refuted, 3 not known."""
    from rt_sched.app.report import files
    from rt_sched.app.report.job import ReportRequest, report_document

    if not runs and system is None:
        raise typer.BadParameter("give run folders, or a system file with --system", param_hint="RUN")
    for run in runs or ():
        if run.is_file():
            raise typer.BadParameter(
                f"{run} is a file; run folders stand here, a system file with --system", param_hint="RUN"
            )
    if output.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"{output} does not end in .html", param_hint="--output")
    if output.resolve() in [run.resolve() / "report.html" for run in runs or ()]:
        raise typer.BadParameter(
            f"{output} is the report of the run itself; choose another name", param_hint="--output"
        )
    program = files.browser() if pdf is not None else None
    request = ReportRequest(
        system=system,
        runs=tuple(runs or ()),
        policy=policy,
        margins=margins,
        plan=plan,
        search=search,
        instants=recoveries,
        injected=tuple(faults or ()),
        command=command_line(),
    )
    with compiler_told():
        document = report_document(request, _tell)
    beside = files.write_report(document, output)
    if requirements is not None:
        files.write_requirements(document, requirements)
    if pdf is not None and program is not None:
        files.write_pdf(output, pdf, program)
    if as_json:
        print_json(document)
    else:
        summary = document["summary"]
        typer.echo(f"{document['verdict']}  {document['system']}: {summary['title'].lower()}")
        for one in summary["findings"]:
            typer.echo(f"  {one['verdict']} {one['kind']} {one['name']}: {one['why']}")
        for target in (output, beside, pdf, requirements):
            if target is not None:
                typer.echo(f"report    {target}")
    raise typer.Exit(VERDICT_CODES[document["verdict"]])


def write_page(
    output: Path,
    system: str,
    analysed: Any,
    *,
    policy: str | None,
    methods: str | None,
    margins: bool | None,
    plan: Path | None,
) -> None:
    """The report on a system that is analysed already as a page, with its document beside it."""
    from rt_sched.app.report.files import write_report
    from rt_sched.app.report.job import ReportRequest, report_document

    request = ReportRequest(system, policy=policy, methods=methods, margins=margins, plan=plan, command=command_line())
    write_report(report_document(request, _tell, analysed), output)


def _tell(text: str) -> None:
    typer.echo(f"{text} ...", err=True)
