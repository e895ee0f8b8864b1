"""Each file in tests/config_cases holds one kind of mistake, and in its first comment lines exactly what is said of it.

A line `# expect: LINE:COLUMN  path: message` stands for one problem; 0:0 means the file as a whole.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.config import load_system
from rt_sched.errors import ConfigError, Problem

CASES = sorted((Path(__file__).parents[1] / "config_cases").glob("*.yaml"))
PREFIX = b"# expect: "


def _shown(problem: Problem) -> str:
    path = f"{problem.path}: " if problem.path else ""
    return f"{problem.line}:{problem.column}  {path}{problem.message}"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_every_problem_is_reported_with_its_place(case: Path, stages) -> None:
    lines = case.read_bytes().splitlines()
    expected = [line.removeprefix(PREFIX).decode() for line in lines if line.startswith(PREFIX)]
    assert expected, "a case says what it expects"
    with pytest.raises(ConfigError) as caught:
        load_system(case, stages=stages)
    assert [_shown(problem) for problem in caught.value.problems] == expected


def test_there_is_a_case_for_many_kinds_of_mistake() -> None:
    assert len(CASES) >= 100


def test_the_error_text_is_one_line_per_problem_with_the_file(stages) -> None:
    case = next(path for path in CASES if path.stem == "many_mistakes_at_once")
    with pytest.raises(ConfigError) as caught:
        load_system(case, stages=stages)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.problems) == 8
    assert all(line.startswith(f"{case}:") for line in lines)
