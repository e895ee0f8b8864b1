"""What docs/perception/camera.md says is what the stages accept and do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pipelines.detector_layouts import LAYOUTS
from pipelines.model_input import CUSTOMS
from rt_sched.app.inputs.stages import ImportedStages

PAGE = (Path(__file__).resolve().parents[2] / "docs/perception/camera.md").read_text(encoding="utf-8")
TASKS = {
    name: task
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for name, task in yaml.safe_load(block).items()
}


@pytest.mark.parametrize("name", TASKS)
def test_examples_are_accepted(name: str) -> None:
    stages = ImportedStages()
    described = stages.describe(TASKS[name]["stage"])
    assert not isinstance(described, str), described
    assert set(TASKS[name]["parameters"]) <= set(described.parameters)
    assert stages.check_parameters(TASKS[name]["stage"], TASKS[name]["parameters"]) == ()


def test_every_stage_of_the_table_exists() -> None:
    stages = ImportedStages()
    named = set(re.findall(r"\| `(pipelines\.\w+:\w+)`", PAGE))
    assert len(named) == 6
    assert all(not isinstance(stages.describe(name), str) for name in named)


def test_every_layout_and_its_custom_is_listed() -> None:
    for layout in LAYOUTS:
        assert f"| `{layout}` |" in PAGE
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (`\w+`(, )?)+ \| (stretch|letterbox)|\| other", line)]
    listed = {form: row for row in rows for form in re.findall(r"\w+", row.split("|")[1])}
    assert listed.keys() == CUSTOMS.keys()
    for form, custom in CUSTOMS.items():
        low, high = custom.value_range
        expected = f"| {custom.resize} | {custom.place} | {custom.channels} | [{low:g}, {high:g}] |"
        assert listed[form].endswith(expected), form
