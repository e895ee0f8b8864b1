"""The way in and out: streams, signals, errors and the exit code."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from rt_sched.cli.shared import (
    EXIT_DEFECT,
    EXIT_HUNG_UP,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_TERMINATED,
    EXIT_USAGE,
    app,
    error_document,
    print_json,
)
from rt_sched.errors import ConfigError, DeploymentError, RtSchedError

if TYPE_CHECKING:
    from types import FrameType


#: What typer raises for a wrong call: a class of click's in some of its versions, of its own in others.
_WrongCall: Any = typer.BadParameter.__base__


def main() -> NoReturn:
    """Entry point of the console script."""
    try:
        _hear_signals()
        _prepare_streams()
        code = _run()
    except Exception as error:
        # What an interruption cuts short may fail in its own way, as modules in C do that are being loaded.
        code = _ended_by(_came[0] if _came else error)
    except KeyboardInterrupt as stop:
        code = _ended_by(stop)
    _give_up_streams_that_fail()
    sys.exit(code)


def _ended_by(error: BaseException) -> int:
    """Tells what ended the command, while it is handled; the exit code."""
    if isinstance(error, _Terminated):
        return _failed(error.exit_code, "terminated" if error.exit_code == EXIT_TERMINATED else "hung up")
    if isinstance(error, KeyboardInterrupt):
        return _failed(EXIT_INTERRUPTED, "interrupted")
    if isinstance(error, _WrongCall):
        return _failed(EXIT_USAGE, _explain(error))
    if isinstance(error, ConfigError):
        count = len(error.problems)
        details = [str(problem) for problem in error.problems]
        return _failed(EXIT_USAGE, f"{count} problem{'s' if count > 1 else ''} found", details)
    if isinstance(error, RtSchedError) and not getattr(error, "is_defect", False):
        return _failed(EXIT_USAGE, str(error))
    if isinstance(error, BrokenPipeError):
        return EXIT_OK  # whoever read the results has seen enough
    told = str(error) if isinstance(error, RtSchedError) else f"internal error: {type(error).__name__}: {error}"
    return _failed(EXIT_DEFECT, f"{told} ({_write_traceback()})")


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
        # What tables are printed with makes an exit of its own out of a reader that has gone away.
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
            print_json(error_document(code, message, details))
    return code


def _explain(error: Any) -> str:
    """One line for a wrong call."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    command = error.ctx.command_path if error.ctx is not None else "rt-sched"
    return f"{message}; see {command} --help"


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


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: ends a command as Ctrl-C does, everything half-done is removed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = EXIT_HUNG_UP if number == signal.SIGHUP else EXIT_TERMINATED


#: Interruptions that came so far.
_came: list[KeyboardInterrupt] = []


def _hear_signals() -> None:
    """What asks a command to end interrupts it, but for what it was told to ignore, as nohup(1) does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    stop = KeyboardInterrupt() if number == signal.SIGINT else _Terminated(number)
    _came.append(stop)
    raise stop
