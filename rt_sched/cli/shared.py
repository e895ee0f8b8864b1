"""What the commands share: the application, options, exit codes, and how results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rt_sched import __version__

EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_UNKNOWN, EXIT_DEFECT = 0, 1, 2, 3, 4
EXIT_HUNG_UP, EXIT_INTERRUPTED, EXIT_TERMINATED = 129, 130, 143

app = typer.Typer(
    name="rt-sched",
    help="Deadline-aware scheduling of perception pipelines: one system file, one plan.",
    rich_markup_mode=None,  # loading what draws boxes takes as long as everything else together
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Log = Annotated[
    str, typer.Argument(metavar="LOG", help="A recording (MCAP or rosbag), or the short name of a shipped one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout; all else goes to stderr.")]
Salvage = Annotated[bool, typer.Option("--salvage", help="Read what can be read of a damaged recording.")]
Policy = Annotated[str | None, typer.Option(help="rms, dm, opa or edf.", show_default="the system file's")]
Plan = Annotated[
    Path | None,
    typer.Option("--plan", metavar="PLAN.yaml", help="A plan as rt-sched plan writes it, in place of a policy."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the modelled execution times.")]
Threads = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Host threads; changes no result.", show_default="one per core")
]
RunOutput = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Run folder.", show_default="runs/LOG, numbered")
]
#: Of paced runs.
Tier = Annotated[
    str | None, typer.Option(metavar="deadline|fifo|user", help="With --paced.", show_default="the best of fifo, user")
]
Rate = Annotated[str, typer.Option(help="With --paced: run time per host time, such as 0.5.")]
Duration = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="With --paced: end after so much run time.", show_default="the whole log"),
]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    # No words here: the help text is that of the application.
    if version:
        typer.echo(f"rt-sched {__version__}")
        raise typer.Exit
    help_without_command(context)


def help_without_command(context: typer.Context) -> None:
    """Ends a call that names no command of a group: it gets the group's help, as a wrong call."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(EXIT_USAGE)


EXIT_CODES = {
    "ok": EXIT_OK,
    "deadline_miss": EXIT_NO,
    "bound_violated": EXIT_NO,
    "assumption_violated": EXIT_UNKNOWN,
    "incomplete": EXIT_UNKNOWN,
    "failed": EXIT_DEFECT,
}


VERDICT_CODES = {"schedulable": EXIT_OK, "unschedulable": EXIT_NO, "inconclusive": EXIT_UNKNOWN}


NO_CACHE = "no folder for them can be written; name one in NUMBA_CACHE_DIR"


def tell(text: str) -> None:
    """A line on stderr."""
    typer.echo(text, err=True)


@contextmanager
def compiler_told(say: Callable[[str], None] = tell) -> Iterator[None]:
    """In its block, `say` is told once that the command has to wait for the compiler, where it has to."""
    from rt_sched.kernels.compiling.waiting import told_before_compiling

    def told(kept: bool) -> None:
        say("compiling kernels, up to two minutes" + ("" if kept else f", in every run: {NO_CACHE}"))

    with told_before_compiling(told):
        yield


def console(*, to_stderr: bool = False) -> Any:
    """Where tables are printed."""
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    return Console(stderr=to_stderr, width=None if stream.isatty() else 160, highlight=False)


def print_json(document: Any, *, in_one_line: bool = False) -> None:
    """One JSON document on stdout."""
    # Where the stream's encoding lacks a character, JSON has its own way to write it.
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    json.dump(document, sys.stdout, indent=None if in_one_line else 2, ensure_ascii=plain, allow_nan=False)
    sys.stdout.write("\n")


def error_document(code: int, message: str, problems: Sequence[str]) -> dict[str, Any]:
    """What `--json` prints in place of a result."""
    return {
        "schema": "rt-sched/error/1",
        "status": "failed",
        "exit_code": code,
        "message": message,
        "problems": list(problems),
    }


def command_line() -> str:
    """The call as a shell would take it."""
    import shlex

    return shlex.join(["rt-sched", *sys.argv[1:]])
