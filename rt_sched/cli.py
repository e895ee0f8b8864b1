"""The command line: arguments in, exit code out. Each command's work lies in `rt_sched.app`."""

from __future__ import annotations

import sys

try:
    import contextlib
    import io
    import json
    import os
    import signal
    import tempfile
    import traceback
    from collections.abc import Sequence
    from pathlib import Path
    from typing import TYPE_CHECKING, Annotated, Any, NoReturn

    import typer

    from rt_sched import __version__
    from rt_sched.errors import ConfigError, DeploymentError, RtSchedError
except KeyboardInterrupt:  # loading typer takes longer than all else that happens before `main` can catch it
    sys.stderr.write("rt-sched: interrupted\n")
    sys.exit(130)

if TYPE_CHECKING:
    from types import FrameType

EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_UNKNOWN, EXIT_DEFECT = 0, 1, 2, 3, 4
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143

app = typer.Typer(
    name="rt-sched",
    help="Deadline-aware scheduling of perception pipelines: one system file, one plan.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Log = Annotated[
    str, typer.Argument(metavar="LOG", help="A recording (MCAP or rosbag), or the short name of a shipped one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout; all else goes to stderr.")]
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
Salvage = Annotated[bool, typer.Option("--salvage", help="Read what can be read of a damaged recording.")]


@app.command()
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
    policy: Annotated[str | None, typer.Option(help="rms, dm, opa or edf.", show_default="the system file's")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the modelled execution times.")] = 0,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Host threads; changes no result.", show_default="one per core")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME@TIME",
            help="Lose a camera, lidar, imu or device, such as camera:front_wide@1.5s. Repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Run folder.", show_default="runs/LOG, numbered"),
    ] = None,
    salvage: Salvage = False,
    as_json: Json = False,
) -> None:
    """Replay a recording through its pipelines, in lockstep with modelled devices."""
    # Before the kernels, for which it chooses the folder.
    from rt_sched.kernels import numba_cache  # isort: split
    from rt_sched.app import replay as job
    from rt_sched.app.terminal import Terminal

    request = job.ReplayRequest(
        log=log,
        system=system,
        policy=policy,
        seed=seed,
        threads=threads,
        faults=tuple(fault or ()),
        output=output,
        salvage=salvage,
        command=_command_line(),
    )
    terminal = Terminal(quiet=as_json)
    with numba_cache.told_before_compiling(lambda: terminal.note(_compiling(kept=numba_cache.CACHE))):
        result = job.run_replay(request, terminal)
    if as_json:
        _print_json(result.summary)
    else:
        terminal.show_replay(result)
    raise typer.Exit(EXIT_CODES[result.summary["status"]])


@app.command()
def init(
    log: Log,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write.", show_default="standard output"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    salvage: Salvage = False,
) -> None:
    """Write a system file for a recording; what had to be guessed is marked in it."""
    from rt_sched.app.init import write_system_for

    text = write_system_for(log, salvage=salvage, output=output, overwrite=force)
    if output is None:
        sys.stdout.write(text)


@app.command()
def info(log: Log, salvage: Annotated[bool, typer.Option(hidden=True)] = True, as_json: Json = False) -> None:
    """Show what a recording holds: topics, types, rates, jitter, gaps, damage."""
    from rt_sched.app.info import recording_info
    from rt_sched.app.terminal import Terminal

    document = recording_info(log, salvage=salvage)
    if as_json:
        _print_json(document)
    else:
        Terminal(quiet=False).show_info(document)


@app.command()
def show(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.svg", help="Draw sensors, tasks and chains.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a system with every default filled in: tables, one JSON document, a drawing."""
    from rt_sched.app.show import shown_system
    from rt_sched.app.show_tables import print_system

    document = shown_system(system, output)
    if as_json:
        _print_json(document)
    else:
        print_system(document, _console())
    if output is not None:
        typer.echo(f"drawn to {output}", err=True)


@app.command()
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
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.json", help="Also write the JSON document.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound all response times, and say whether deadlines are met: exit 0 yes, 1 no, 3 not known."""
    # Before the kernels, for which it chooses the folder.
    from rt_sched.kernels import numba_cache  # isort: split
    from rt_sched.app import analyze as job

    with numba_cache.told_before_compiling(lambda: typer.echo(_compiling(kept=numba_cache.CACHE), err=True)):
        if task_set is None:
            if job_set is not None:
                raise typer.BadParameter("is for a task set; give one with --taskset", param_hint="--sag")
            analysed = job.analysed_system(_system_or_set(system, task_set), policy, methods)
        else:
            _system_or_set(system, task_set)
            request = job.TaskSetRequest(task_set, policy, preemption, unit, most_urgent)
            given = request.load()
            if job_set is not None:
                job.write_job_set(given, job_set)
            analysed = job.analysed_task_set(request, given, methods)
    document = job.analysis_document(analysed)
    if output is not None:
        job.write_document(document, output)
    if as_json:
        _print_json(document)
    else:
        from rt_sched.app.analyze_tables import print_analysis

        print_analysis(document, _console())
    raise typer.Exit(VERDICT_CODES[document["verdict"]])


@app.command()
def explain(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task whose bound is derived.")],
    system: Annotated[
        str | None, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")
    ] = None,
    task_set: TaskSetFile = None,
    policy: AnalysisPolicy = None,
    preemption: Preemption = None,
    unit: Unit = "ns",
    most_urgent: MostUrgent = "highest",
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="Mode of the system.", show_default="the first")
    ] = None,
    as_json: Json = False,
) -> None:
    """Derive the response bound of one task step by step, with the numbers of every window."""
    # Before the kernels, for which it chooses the folder.
    from rt_sched.kernels import numba_cache  # isort: split
    from rt_sched.app import explain as job
    from rt_sched.app.analyze import TaskSetRequest

    with numba_cache.told_before_compiling(lambda: typer.echo(_compiling(kept=numba_cache.CACHE), err=True)):
        named = _system_or_set(system, task_set)
        if task_set is None:
            document = job.explained_system_task(task, named, policy, mode)
        else:
            request = TaskSetRequest(task_set, policy, preemption, unit, most_urgent)
            document = job.explained_set_task(task, request)
    if as_json:
        _print_json(document)
    else:
        typer.echo(job.explanation_text(document))


def _system_or_set(system: str | None, task_set: str | None) -> str:
    """The one of both that is given."""
    if (system is None) == (task_set is None):
        raise typer.BadParameter("give either a system file or --taskset FILE", param_hint="SYSTEM")
    return system or task_set or ""


def _console() -> Any:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of system files, for editors that check and complete while one writes."""
    from rt_sched.config.schema import system_schema

    _print_json(system_schema())


@app.command("check-trace")
def check_trace(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or its trace.npz.")],
    as_json: Json = False,
) -> None:
    """Check a run's trace against the scheduling semantics, independently of what made it."""
    from rt_sched.app.check_trace import check_run
    from rt_sched.app.terminal import Terminal

    document = check_run(run)
    if as_json:
        _print_json(document)
    else:
        Terminal(quiet=False).show_trace_check(document)
    raise typer.Exit(EXIT_CODES[document["status"]])


@app.command()
def examples(as_json: Json = False) -> None:
    """List the system files and logs that ship; their short names can stand for the files."""
    from rt_sched.app.shipped import shipped_files

    found = {name: str(path) for name, path in shipped_files().items()}
    if as_json:
        _print_json({"schema": "rt-sched/examples/1", "files": [{"name": n, "path": p} for n, p in found.items()]})
    else:
        for name, path in found.items():
            typer.echo(f"{name:24}  {path}")


@app.command()
def scene(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The scene; --list shows them.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.mcap", help="The recording.", show_default="NAME.mcap"),
    ] = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="Such as 2.5s; up to 120s.", show_default="the scene's")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the sensors' noise and latency.")] = 1,
    conditions: Annotated[
        str | None, typer.Option(help="day, night, rain or night_rain.", show_default="the scene's")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="ACTOR", help="Leave an actor out, such as lead: no pixel, no point. Repeatable."),
    ] = None,
    camera: Annotated[
        list[str] | None,
        typer.Option(metavar="CAMERA", help="Record only this camera. Repeatable.", show_default="all eight"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="List the scenes and end.")] = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic recording by name, with its ground truth in a file of its own beside it."""
    # Before the kernels, for which it chooses the folder.
    from rt_sched.kernels import numba_cache  # isort: split
    from rt_sched.app import scene as job
    from rt_sched.app.terminal import Terminal

    terminal = Terminal(quiet=as_json)
    if show_list:
        listed = job.scene_list()
        if as_json:
            _print_json(listed)
        else:
            terminal.show_scenes(listed)
        raise typer.Exit
    if name is None:
        raise typer.BadParameter("missing; rt-sched scene --list shows the scenes", param_hint="NAME")
    request = job.SceneRequest(
        name=name,
        output=output,
        duration=duration,
        seed=seed,
        conditions=conditions,
        without=tuple(without or ()),
        cameras=tuple(camera) if camera else None,
        overwrite=force,
    )
    try:
        with numba_cache.told_before_compiling(lambda: terminal.note(_compiling(kept=numba_cache.CACHE))):
            document = job.make_scene(request, terminal)
    finally:
        terminal.close()
    if as_json:
        _print_json(document)
    else:
        terminal.show_scene(document)


@app.command("compile")
def compile_kernels() -> None:
    """Compile all kernels into the cache, so that no later command waits for it."""
    from rt_sched.kernels import numba_cache  # isort: split
    from rt_sched.app.warm_up import compile_all

    if not numba_cache.CACHE:
        raise DeploymentError(f"compiled kernels cannot be kept: {_NO_CACHE}")
    compile_all(lambda text: typer.echo(text, err=True))


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(f"rt-sched {__version__}")
        raise typer.Exit


EXIT_CODES = {
    "ok": EXIT_OK,
    "deadline_miss": EXIT_NO,
    "bound_violated": EXIT_NO,
    "assumption_violated": EXIT_UNKNOWN,
    "incomplete": EXIT_UNKNOWN,
    "failed": EXIT_DEFECT,
}


VERDICT_CODES = {"schedulable": EXIT_OK, "unschedulable": EXIT_NO, "inconclusive": EXIT_UNKNOWN}


#: What typer raises for a wrong call: a class of click's in some of its versions, of its own in others.
_WrongCall: Any = typer.BadParameter.__base__


_NO_CACHE = "no folder for them can be written; name one in NUMBA_CACHE_DIR"


def main() -> NoReturn:
    """Entry point of the console script."""
    try:
        signal.signal(signal.SIGTERM, _terminate)
        _prepare_streams()
        code = _run()
    except _Terminated:
        code = _failed(EXIT_TERMINATED, "terminated")
    except KeyboardInterrupt:
        code = _failed(EXIT_INTERRUPTED, "interrupted")
    except _WrongCall as error:
        code = _failed(EXIT_USAGE, _explain(error))
    except ConfigError as error:
        count = len(error.problems)
        details = [str(problem) for problem in error.problems]
        code = _failed(EXIT_USAGE, f"{count} problem{'s' if count > 1 else ''} found", details)
    except RtSchedError as error:
        if getattr(error, "is_defect", False):
            code = _failed(EXIT_DEFECT, f"{error} ({_write_traceback()})")
        else:
            code = _failed(EXIT_USAGE, str(error))
    except BrokenPipeError:
        code = EXIT_OK  # whoever read the results has seen enough
    except Exception as error:
        code = _failed(EXIT_DEFECT, f"internal error: {type(error).__name__}: {error} ({_write_traceback()})")
    _give_up_streams_that_fail()
    sys.exit(code)


def _run() -> int:
    """Runs the command of the command line. Interrupts and errors come out as they are."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("rt-sched", sys.argv[1:]) as context:
            command.invoke(context)
            sys.stdout.flush()
    except typer.Exit as stop:
        sys.stdout.flush()
        return stop.exit_code
    except SystemExit as stop:
        # What the help is printed with makes an exit of its own out of a reader that has gone away.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise
    return EXIT_OK


def _prepare_streams() -> None:
    """Nothing that is printed can fail for its characters, nor because the caller closed a stream."""
    out, err = sys.stdout, sys.stderr
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_StandardOutput(_nowhere() if out is None else out.fileno(), "w", closefd=False)),
        encoding="utf-8" if out is None else out.encoding,
        errors="backslashreplace",
        line_buffering=out is not None and out.isatty(),
    )
    if err is None:
        sys.stderr = os.fdopen(_nowhere(), "w", encoding="utf-8")
    elif isinstance(err, io.TextIOWrapper):
        err.reconfigure(errors="backslashreplace")


def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


class _StandardOutput(io.FileIO):
    """An error that it meets is the caller's to mend, whoever wrote to it."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DeploymentError(f"standard output cannot be written ({error.strerror})") from error


def _give_up_streams_that_fail() -> None:
    """What a stream does not take now it would not take at exit, where that would change the exit code."""
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except (OSError, DeploymentError):
            setattr(sys, name, None)


def _failed(code: int, message: str, details: Sequence[str] = ()) -> int:
    """Tells why the command ends with `code`, and gives it back."""
    with contextlib.suppress(OSError):
        for line in (*details, f"rt-sched: {message}" if message else ""):
            if line:
                print(line, file=sys.stderr)
    if "--json" in sys.argv[1:]:
        with contextlib.suppress(OSError, DeploymentError):
            _print_json(
                {
                    "schema": "rt-sched/error/1",
                    "status": "failed",
                    "exit_code": code,
                    "message": message,
                    "problems": list(details),
                }
            )
    return code


def _explain(error: Any) -> str:
    """One line for a wrong call; empty where typer has printed the help instead."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    command = error.ctx.command_path if error.ctx is not None else "rt-sched"
    return f"{message}; see {command} --help" if message else ""


def _compiling(*, kept: bool) -> str:
    return "compiling kernels, about 10 s" + ("" if kept else f", in every run: {_NO_CACHE}")


def _write_traceback() -> str:
    """Says where the traceback of the error that is being handled is."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="rt-sched-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            traceback.print_exc(file=file)
    except OSError as error:
        return f"its traceback cannot be written: {error.strerror}"
    return f"traceback in {file.name}"


def _print_json(document: Any) -> None:
    # Where the stream's encoding lacks a character, JSON has its own way to write it.
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    json.dump(document, sys.stdout, indent=2, ensure_ascii=plain, allow_nan=False)
    sys.stdout.write("\n")


def _command_line() -> str:
    import shlex

    return shlex.join(["rt-sched", *sys.argv[1:]])


class _Terminated(KeyboardInterrupt):
    """SIGTERM: ends a command as Ctrl-C does, everything half-done is removed."""


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated
