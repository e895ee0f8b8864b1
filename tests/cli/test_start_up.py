"""Help and version load none of the heavy libraries, so that they answer at once; nor does an analysis the compiler."""

import json
import os
import subprocess
import sys

import pytest
from cli_runs import QUAD_ORIN

HEAVY = ("numpy", "numba", "cv2", "onnxruntime", "mcap", "rosbags", "jinja2", "perfetto", "ruamel", "zstandard")

REPORT = f"""
import atexit, json, sys
atexit.register(lambda: sys.stderr.write(json.dumps([name for name in {HEAVY!r} if name in sys.modules])))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["replay", "--help"], ["init", "-h"], ["--version"], ["examples"]])
def test_no_heavy_library_is_imported(cli, arguments):
    ended = cli(*arguments, prelude=REPORT, anew=True)
    assert json.loads(ended.err) == []


def test_heavy_libraries_would_be_noticed(cli, logs):
    assert "numpy" in cli("info", logs / "imu.mcap", "--json", prelude=REPORT, anew=True).err


#: What numba loads before it compiles anything.
COMPILER = ("numba.np.linalg", "scipy.linalg")


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", QUAD_ORIN, "--json"],
        ["analyze", QUAD_ORIN, "--faults", "lose_front_wide", "--json"],
        ["simulate", QUAD_ORIN, "--duration", "50ms", "--json"],
        ["replay", "{logs}/imu.mcap", "--json"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments[::2])),
)
def test_kernels_that_lie_in_the_cache_need_no_compiler(cli, logs, arguments):
    arguments = [str(argument).format(logs=logs) for argument in arguments]
    cli(*arguments, code=None)  # leaves what it needs in the cache
    said = cli(*arguments, code=None, anew=True, prelude=REPORT.replace(repr(HEAVY), repr(COMPILER))).err
    assert "compiling" not in said
    assert json.loads(said.splitlines()[-1]) == []


@pytest.mark.parametrize("more", [[], ["--json"], ["--policy", "edf"]], ids=" ".join)
def test_a_small_analysis_needs_no_numba(cli, more):
    said = cli("analyze", QUAD_ORIN, *more, code=None, anew=True, prelude=REPORT.replace(repr(HEAVY), "('numba',)")).err
    assert json.loads(said.splitlines()[-1]) == []


def user_s(program, *arguments):
    """The least time that Python computed in three runs of `program`."""
    times = []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        times.append(used.ru_utime)
    return min(times)


def test_an_analysis_takes_a_few_times_as_long_as_numba_would_take_to_load(cli):
    cli("analyze", QUAD_ORIN)
    analysis_s = user_s("from rt_sched.cli import main\nmain()", "analyze", QUAD_ORIN)
    assert analysis_s < 4.5 * user_s("import numba")


INTERRUPTED = """
import sys
class Interrupter:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupter())
"""


@pytest.mark.parametrize("module", ["json", "typer", "rt_sched.errors", "rt_sched.app.info", "mcap"])
def test_an_interruption_while_modules_are_loaded_is_one_line(cli, logs, module):
    forget = f"\nsys.modules.pop({module!r}, None)\n"
    ended = cli("info", logs / "imu.mcap", code=130, prelude=INTERRUPTED.format(module=module) + forget, anew=True)
    assert (ended.out, ended.err) == ("", "rt-sched: interrupted\n")


def test_the_help_names_every_command_and_option(cli):
    ended = cli("--help")
    for command in ("replay", "init", "info", "examples", "compile"):
        assert f" {command} " in ended.out
    ended = cli("replay", "--help")
    for option in ("--system", "--policy", "--seed", "--threads", "--fault", "--output", "--salvage", "--json"):
        assert option in ended.out
    assert ended.err == ""


def test_examples_can_be_named_shortly(cli):
    document = cli("examples", "--json").document
    assert {entry["name"] for entry in document["files"]} >= {"quad_orin", "kitti_single_orin", "hazard_short"}
    assert cli("info", "hazard_short", "--json").document["messages"] == 240
