"""What `explain` and its like say of names that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.app.explain import explained_in_system
from rt_sched.app.shipped import resolve, shipped_files
from rt_sched.errors import AnalysisNotApplicable, ConfigError

TWO_MODES = """\
rt_sched: 1
name: two_modes
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  always: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 1ms}}
  limping: {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 2ms}}
modes:
  normal: {tasks: [always]}
  limp: {tasks: [always, limping]}
"""


def test_a_task_of_another_mode_is_told_where_it_exists(tmp_path: Path) -> None:
    file = tmp_path / "modes.yaml"
    file.write_text(TWO_MODES)
    for mode in (None, "normal"):
        with pytest.raises(AnalysisNotApplicable, match=r"not exist in mode normal; it does in limp: add --mode limp"):
            explained_in_system("limping", str(file), None, mode)
    assert explained_in_system("limping", str(file), None, "limp")["response_bound_ns"] == 3_000_000
    with pytest.raises(AnalysisNotApplicable, match=r"unknown task or chain 'limpin'; did you mean 'limping'\?"):
        explained_in_system("limpin", str(file), None, None)


def test_an_unknown_file_names_what_ships() -> None:
    with pytest.raises(ConfigError) as wrong:
        resolve("quad_orni")
    assert "there is no such file; unknown name 'quad_orni'; did you mean 'quad_orin'?" in str(wrong.value)
    assert all(name in str(wrong.value) for name in list(shipped_files())[:3])
    assert resolve("none/quad_orni") == Path("none/quad_orni")
