"""Stages found by import: what is read from a class, and what is said of one that cannot be used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.errors import DeploymentError
from rt_sched.messages import Command, EncodedImage, Tensor
from rt_sched.model import ExecutionTime, Periodic, Task
from rt_sched.ports import Stage, StageParameter

MODULE = """
from rt_sched.messages import Command, EncodedImage, Tensor
from rt_sched.ports import StageBase

class Good(StageBase):
    inputs = {"image": EncodedImage, "more_*": Tensor, "extra": Tensor}
    outputs = {"command": Command}
    optional_inputs = frozenset({"extra"})
    stateful = True

    def __init__(self, *, size: int, mode: str = "fast"):
        if size < 1:
            raise ValueError("size: must be at least 1")
        if mode == "crash":
            raise OSError("disk")

    def process(self, job, inputs):
        return {}

class Plain(StageBase):
    inputs = {}
    outputs = {}

    def process(self, job, inputs):
        return {}

class Open(Plain):
    def __init__(self, **anything):
        pass

class NoProcess(StageBase):
    inputs = {}
    outputs = {}

class BadPorts(Plain):
    inputs = {"image": "EncodedImage"}

class BadState(Plain):
    stateful = "yes"

def function():
    pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A package on the path with the modules `good` and `broken`; gives a function that names a stage in it."""
    package = tmp_path / "made_up_stages"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "good.py").write_text(MODULE)
    (package / "broken.py").write_text("1 / 0")
    (package / "needs.py").write_text("import no_such_package_anywhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda name: f"made_up_stages.{name}"
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_up_stages"]:
        del sys.modules[name]


def _task(stage: str, *parameters) -> Task:
    execution = ExecutionTime(1, 1, (1, 1))
    return Task("t", stage, parameters, ("d", "cpu"), Periodic(1), (), execution, deadline_ns=1, separation_ns=1)


def test_description(module) -> None:
    described = ImportedStages().describe(module("good:Good"))
    assert not isinstance(described, str)
    assert described.inputs == {"image": EncodedImage, "more_*": Tensor, "extra": Tensor}
    assert described.outputs == {"command": Command}
    assert described.stateful is True
    assert described.optional_inputs == {"extra"}
    assert described.parameters == {"size": StageParameter(required=True), "mode": StageParameter(False, "fast")}
    assert described.open_parameters is False


def test_constructor_of_object_and_open_constructor(module) -> None:
    plain, any_name = (ImportedStages().describe(module(f"good:{name}")) for name in ("Plain", "Open"))
    assert not isinstance(plain, str) and not isinstance(any_name, str)
    assert (plain.parameters, plain.open_parameters) == ({}, False)
    assert (any_name.parameters, any_name.open_parameters) == ({}, True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("good:Goood", "made_up_stages.good has no stage 'Goood'; did you mean 'Good'? valid: Good, Open, Plain"),
        ("good:function", "made_up_stages.good has no stage 'function'; valid: Good, Open, Plain"),
        (
            "goood:Good",
            "unknown module 'made_up_stages.goood'; did you mean 'made_up_stages.good'? "
            "valid: made_up_stages.broken, made_up_stages.good, made_up_stages.needs",
        ),
        (
            "good.inner:Good",
            "there is no module 'made_up_stages.good.inner' to import; is it installed, or its folder on PYTHONPATH?",
        ),
        ("broken:X", "the module made_up_stages.broken cannot be imported: ZeroDivisionError: division by zero"),
        (
            "needs:X",
            "the module made_up_stages.needs cannot be imported: it needs 'no_such_package_anywhere', "
            "which is not installed",
        ),
        (
            "good:NoProcess",
            "made_up_stages.good:NoProcess is not a stage: it has no process; "
            "a stage has start, preprocess, process, postprocess, stop",
        ),
        (
            "good:BadPorts",
            "made_up_stages.good:BadPorts is not a stage: its 'inputs' must map port names to message types",
        ),
        ("good:BadState", "made_up_stages.good:BadState is not a stage: its 'stateful' must be True or False"),
    ],
)
def test_what_cannot_be_used(module, name: str, expected: str) -> None:
    assert ImportedStages().describe(module(name)) == expected


def test_module_that_does_not_exist_at_all() -> None:
    said = ImportedStages().describe("no_such_package_anywhere:X")
    assert (
        said == "there is no module 'no_such_package_anywhere' to import; is it installed, or its folder on PYTHONPATH?"
    )


def test_parameters_are_checked_by_the_class_itself(module) -> None:
    stages, good = ImportedStages(), module("good:Good")
    assert stages.check_parameters(good, {"size": 3}) == ()
    assert stages.check_parameters(good, {"size": 0}) == ("size: must be at least 1",)
    assert "not supported between" in str(stages.check_parameters(good, {"size": "big"}))
    failed = stages.check_parameters(good, {"size": 1, "mode": "crash"})
    assert failed == ("the constructor failed with OSError: disk",)


def test_create(module) -> None:
    stage = ImportedStages().create(_task(module("good:Good"), ("size", 2)))
    assert isinstance(stage, Stage)
    assert type(stage).__name__ == "Good"


@pytest.mark.parametrize(("name", "size"), [("good:Good", 0), ("good:Goood", 1)])
def test_create_refuses_what_the_loader_refuses(module, name: str, size: int) -> None:
    with pytest.raises(DeploymentError, match="task t: "):
        ImportedStages().create(_task(module(name), ("size", size)))


def test_loading_needs_no_heavy_library() -> None:
    heavy = "onnxruntime cv2 numba rosbags mcap perfetto jinja2"
    code = (
        "import sys, rt_sched.config, rt_sched.app.inputs.stages\n"
        f"print([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_task_without_a_stage_cannot_be_replayed() -> None:
    with pytest.raises(DeploymentError, match="it has no stage, so it can be simulated only; add stage: module:Class"):
        ImportedStages().create(_task(""))
