"""Commands of the schedulability analysis."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rt_sched.cli.comparisons import explain_run, is_run
from rt_sched.cli.shared import (
    EXIT_USAGE,
    VERDICT_CODES,
    Json,
    Plan,
    app,
    compiler_told,
    console,
    error_document,
    print_json,
    tell,
)
from rt_sched.errors import ConfigError

if TYPE_CHECKING:
    from rt_sched.app.analyze.watch import Look

TaskSetFile = Annotated[
    str | None,
    typer.Option("--taskset", metavar="FILE", help="A task set in place of a system: YAML as POET reads it, or CSV."),
]
AnalysisPolicy = Annotated[
    str | None,
    typer.Option(help="rms, dm, opa or edf; for a task set fp, rms, dm, edf or fifo.", show_default="the file's"),
]
Preemption = Annotated[
    str | None,
    typer.Option(help="Of a task set: preemptive or non-preemptive.", show_default="the file's, else preemptive"),
]
Unit = Annotated[str, typer.Option(help="Of numbers without a unit in a task set: ns, us, ms or s.")]
MostUrgent = Annotated[str, typer.Option(help="Most urgent priority number of a task set: highest or lowest.")]


@app.command(short_help="Bound all response times; say whether deadlines are met.")
def analyze(
    system: Annotated[
        str | None, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")
    ] = None,
    task_set: TaskSetFile = None,
    policy: AnalysisPolicy = None,
    preemption: Preemption = None,
    unit: Unit = "ns",
    most_urgent: MostUrgent = "highest",
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Use only these methods.", show_default="all that apply")
    ] = None,
    job_set: Annotated[
        Path | None,
        typer.Option(
            "--sag",
            metavar="FILE.csv",
            help="Also write the jobs of one hyperperiod of the task set, for schedule-abstraction tools.",
        ),
    ] = None,
    margins: Annotated[
        bool,
        typer.Option("--margins", help="Also by how much execution times, frequencies and sensor rates may change."),
    ] = False,
    faults: Annotated[
        str | None,
        typer.Option(
            "--faults",
            metavar="all|A,B",
            help="Also these fault scenarios, with the changes of mode that they need; all: every one of both.",
        ),
    ] = None,
    plan: Plan = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Also write the JSON document; a report where FILE is .html."
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Analyse again with every save, and show what changed; with --json one document a line."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Bound all response times, and say whether deadlines are met: exit 0 yes, 1 no, 3 not known."""
    for option, target in (("--output", output), ("--sag", job_set)):
        if target is not None and target.resolve() == Path(task_set or system or "").resolve():
            raise typer.BadParameter(f"{target} is the file that is analysed", param_hint=option)
    from rt_sched.app.analyze import job

    named = _system_or_set(system, task_set)
    if task_set is None:
        _refuse_set_options(preemption, unit, most_urgent)
    if task_set is None and job_set is not None:
        raise typer.BadParameter("is for a task set; give one with --taskset", param_hint="--sag")
    if task_set is not None and margins:
        raise typer.BadParameter("are searched for system files only", param_hint="--margins")
    if task_set is not None and output is not None and _is_page(output):
        raise typer.BadParameter("a report is of a system file; name a FILE.json", param_hint="--output")
    if task_set is not None and faults is not None:
        raise typer.BadParameter("are those of a system file", param_hint="--faults")
    if task_set is not None and plan is not None:
        raise typer.BadParameter("is for a system file", param_hint="--plan")

    def analyse() -> dict[str, Any]:
        if task_set is None:
            searches = _tell_searches if margins else None
            analysed = job.analysed_system(named, policy, methods, searches, faults, plan, tell)
        else:
            request = job.TaskSetRequest(task_set, policy, preemption, unit, most_urgent)
            given = request.load()
            if job_set is not None:
                job.write_job_set(given, job_set)
            analysed = job.analysed_task_set(request, given, methods)
        document = job.analysis_document(analysed)
        if output is not None and _is_page(output):
            from rt_sched.cli.reports import write_page

            write_page(output, named, analysed, policy=policy, methods=methods, margins=margins or None, plan=plan)
        elif output is not None:
            job.write_document(document, output)
        return document

    with compiler_told():
        if watch:
            raise typer.Exit(_watched(analyse, named, plan, as_json=as_json))
        document = analyse()
    _show(document, as_json=as_json)
    raise typer.Exit(VERDICT_CODES[document["verdict"]])


def _is_page(output: Path) -> bool:
    return output.suffix.lower() in (".html", ".htm")


def _show(document: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    from rt_sched.app.analyze.tables import print_analysis

    print_analysis(document, console())


def _watched(analyse: Callable[[], dict[str, Any]], file: str, plan: Path | None, *, as_json: bool) -> int:
    """Analyses again and again until Ctrl-C; the exit code is that of the last analysis."""
    from rt_sched.app.analyze.watch import Saves, check_watchable, looks
    from rt_sched.app.inputs.shipped import resolve

    path, code = resolve(file), None
    watched = [path, *([] if plan is None else [plan])]

    def analyse_files() -> dict[str, Any]:
        check_watchable(*watched)
        return analyse()

    if not path.is_file():
        analyse_files()
    try:
        for look in looks(analyse_files, Saves(*watched)):
            with _uninterrupted():
                code = _show_look(look, as_json=as_json)
                if not as_json:
                    typer.echo(f"watching {path}; Ctrl-C ends", err=True)
                sys.stdout.flush()
    except KeyboardInterrupt as stop:
        # Being terminated ends a command as well, but not in a way that anybody asked for here.
        if code is None or type(stop) is not KeyboardInterrupt:
            raise
    return EXIT_USAGE if code is None else code


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Puts Ctrl-C and termination off until the end: what they cut in half would be written once more at exit."""
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _show_look(look: Look, *, as_json: bool) -> int:
    """Shows an analysis, or what became of it; the exit code that it would have alone."""
    from rt_sched.app.analyze.changes import print_changes

    if look.document is None:
        error = look.error
        problems = [str(problem) for problem in error.problems] if isinstance(error, ConfigError) else []
        message = f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found" if problems else str(error)
        for line in (*problems, f"rt-sched: {message}"):
            typer.echo(line, err=True)
        if as_json:
            print_json(error_document(EXIT_USAGE, message, problems), in_one_line=True)
        return EXIT_USAGE
    code = VERDICT_CODES[look.document["verdict"]]
    if as_json:
        more = {} if look.changes is None else {"changes": look.changes}
        print_json(look.document | more, in_one_line=True)
    elif look.changes is None:
        _show(look.document, as_json=False)
    else:
        print_changes(look.document["verdict"], look.changes, console())
    return code


@app.command(short_help="Where a bound, or a time in a run, comes from.")
def explain(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK|CHAIN|JOB|FRAME",
            help="The task or chain whose bounds are derived, also chain:NAME; of a run a job such as fuse#12, a task "
            "for its worst job, or a frame such as front_wide#40 or front_wide@1.5s.",
        ),
    ],
    system: Annotated[
        str | None,
        typer.Argument(
            metavar="SYSTEM|RUN", help="System file, the short name of an example, a run folder or its trace.npz."
        ),
    ] = None,
    task_set: TaskSetFile = None,
    policy: AnalysisPolicy = None,
    preemption: Preemption = None,
    unit: Unit = "ns",
    most_urgent: MostUrgent = "highest",
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="Mode of the system.", show_default="the first")
    ] = None,
    plan_file: Plan = None,
    chain: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a frame in a run only this chain.", show_default="all")
    ] = None,
    as_json: Json = False,
) -> None:
    """Derive the bounds of a task or chain, or what a job or frame of a run waited for, step by step."""
    if is_run(system) and task_set is None:
        _refuse_set_options(preemption, unit, most_urgent)
        if policy is not None or mode is not None:
            raise typer.BadParameter("are for a system file; a run has its own", param_hint="--policy and --mode")
        if plan_file is not None:
            raise typer.BadParameter("is for a system file; a run has its own", param_hint="--plan")
        explain_run(task, system or "", chain, as_json=as_json)
        return
    if chain is not None:
        raise typer.BadParameter("is for a frame of a run", param_hint="--chain")
    from rt_sched.app.analyze.job import TaskSetRequest
    from rt_sched.app.explain import job

    with compiler_told():
        named = _system_or_set(system, task_set)
        if task_set is None:
            _refuse_set_options(preemption, unit, most_urgent)
            document = job.explained_in_system(task, named, policy, mode, plan_file, tell)
        elif plan_file is not None:
            raise typer.BadParameter("is for a system file", param_hint="--plan")
        else:
            request = TaskSetRequest(task_set, policy, preemption, unit, most_urgent)
            document = job.explained_set_task(task, request)
    if as_json:
        print_json(document)
    else:
        from rt_sched.app.explain.text import text_of

        typer.echo(text_of(document))


def _tell_searches(done: int, of: int) -> None:
    if done == of or done % 50 == 0:
        typer.echo(f"margins: {done} of {of} searches done", err=True)


def _refuse_set_options(preemption: str | None, unit: str, most_urgent: str) -> None:
    """A system file says itself what these options say of a task set."""
    options = (("--preemption", preemption is not None), ("--unit", unit != "ns"))
    for option, given in (*options, ("--most-urgent", most_urgent != "highest")):
        if given:
            raise typer.BadParameter("is for a task set; give one with --taskset", param_hint=option)


def _system_or_set(system: str | None, task_set: str | None) -> str:
    """The one of both that is given."""
    if (system is None) == (task_set is None):
        raise typer.BadParameter("give either a system file or --taskset FILE", param_hint="SYSTEM")
    return system or task_set or ""
