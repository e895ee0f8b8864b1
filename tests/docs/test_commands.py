"""Every call that a page or an example shows can be made: its command, options, files and times are there."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import typer

from rt_sched.app.inputs.shipped import shipped_files
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.cli.shared import app
from rt_sched.config import load_system
from rt_sched.faults.script_file import load_script
from sensors.recording import open_recording

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
EXAMPLES = [*(ROOT / "examples").rglob("*.yaml")]
#: A line of a page that is a call, or of an example's head; brackets stand around what may be left out.
CALL = re.compile(r"(?:    |\$ |#\s+)(?:\.venv/bin/)?rt-sched (.*)")


def shown():
    """Every call with the file that shows it, without what is said behind it."""
    for file in [*PAGES, *EXAMPLES]:
        text = re.sub(r" \\\n#? *", " ", file.read_text(encoding="utf-8"))
        for line in text.splitlines():
            found = CALL.fullmatch(line)
            if found and not found[1].endswith(":"):
                yield pytest.param(
                    re.split(r"\s+#\s|,\s", found[1])[0], id=f"{file.relative_to(ROOT)}: {found[1][:60]}"
                )


CALLS = [*shown()]


def words(call):
    return [word for word in shlex.split(re.sub(r"[\[\]>]|\.\.\.", " ", call)) if word]


def command(call):
    """The command that a call names, and the words behind it."""
    rest, found = words(call), all_commands()
    while hasattr(found, "commands"):
        found = found.commands[rest.pop(0)]
    return found, rest


def test_there_are_calls():
    assert len(CALLS) > 80


@pytest.mark.parametrize("call", CALLS)
def test_command_options_and_files_are_there(call):
    found, rest = command(call)
    options = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in rest if word.startswith("-") and word != "-"} <= options
    for word in rest:
        if word.startswith(("examples/", "replay_data/")):
            assert (ROOT / word).exists()


@pytest.mark.parametrize("call", [one for one in CALLS if "examples/faults/" in one.values[0]])
def test_faults_begin_while_the_log_lasts(call):
    found, (system, script, *rest) = command(call)
    named = {Path(path).name: path for path in shipped_files().values()}
    log = rest[rest.index("--log") + 1] if "--log" in rest else next(p.default for p in found.params if p.name == "log")
    file = shipped_files().get(system) or named[Path(system).name]
    faults = load_script(ROOT / script, load_system(file, stages=ImportedStages())).faults
    assert max(fault.trigger.time_ns for fault in faults) < span_ns(log)


@cache
def all_commands():
    return typer.main.get_command(app)


@cache
def span_ns(log):
    recording = open_recording(shipped_files()[log])
    stamps = [message.log_time_ns for message in recording.messages()]
    recording.close()
    return max(stamps) - min(stamps)
