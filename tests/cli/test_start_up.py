"""Help and version load none of the heavy libraries, so that they answer at once."""

import json

import pytest

HEAVY = ("numpy", "numba", "cv2", "onnxruntime", "mcap", "rosbags", "jinja2", "perfetto", "ruamel", "zstandard")

REPORT = f"""
import atexit, json, sys
atexit.register(lambda: sys.stderr.write(json.dumps([name for name in {HEAVY!r} if name in sys.modules])))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["replay", "--help"], ["init", "-h"], ["--version"], ["examples"]])
def test_no_heavy_library_is_imported(cli, arguments):
    ended = cli(*arguments, prelude=REPORT)
    assert json.loads(ended.err) == []


def test_heavy_libraries_would_be_noticed(cli, logs):
    assert "numpy" in cli("info", logs / "imu.mcap", "--json", prelude=REPORT).err


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
    ended = cli("info", logs / "imu.mcap", code=130, prelude=INTERRUPTED.format(module=module) + forget)
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
