"""The page on analysis names every method as it is, every term, every column and every plot."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.methods.method import MOST_TASKS
from rt_sched.analysis.methods.rows import MOST_TERMS
from rt_sched.analysis.result import TermKind, Verdict
from rt_sched.config import load_task_set
from rt_sched.config.task_set_fields import FIELDS, field_of
from rt_sched.record.job_set import HEADER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "benchmarks"))


def rows(first: str) -> list[list[str]]:
    """Cells of the table whose first column has this heading."""
    lines = PAGE.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_methods_are_those_that_exist() -> None:
    wanted = [(f"`{one.name}`", ", ".join(policy.value for policy in one.policies), one.source) for one in METHODS]
    assert [(name, policies, source) for name, policies, _, source in rows("method")] == wanted
    assert all(assumed for _, _, assumed, _ in rows("method"))


def test_terms_and_verdicts_are_those_that_exist() -> None:
    assert [cells[0] for cells in rows("term")] == [f"`{kind.value}`" for kind in TermKind]
    assert [cells[0] for cells in rows("verdict")] == [f"`{verdict.value}`" for verdict in Verdict]


def test_columns_are_those_that_are_read() -> None:
    table = rows("column")
    named = [field_of(re.sub("`", "", cells[0])) for cells in table]
    assert sorted(name for name in named if name) == sorted(FIELDS)
    for (_, _, aliases), name in zip(table, named, strict=True):
        assert all(field_of(alias) == name for alias in re.findall("`(.+?)`", aliases))


def test_the_example_is_a_task_set(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(scheduling policy.*?)```", PAGE, re.DOTALL)
    (tmp_path / "set.yaml").write_text(example, encoding="utf-8")
    assert [task.level for task in load_task_set(tmp_path / "set.yaml").tasks] == [0, 1, 2]


def test_numbers_and_names_in_the_text() -> None:
    text = " ".join(PAGE.split())
    assert HEADER in text
    assert f"at most {MOST_TASKS} tasks" in text
    assert f"refuse more than {MOST_TASKS} tasks" in text
    assert f"of more than {MOST_TERMS}" in text


def test_every_plot_is_there_and_shows_its_methods() -> None:
    import analysis

    assert sorted(re.findall(r"\(plots/([\w.-]+)\)", PAGE)) == sorted(analysis.PLOTS)
    for file, (_, label, methods) in analysis.PLOTS.items():
        drawn = (ROOT / "docs" / "plots" / file).read_text(encoding="utf-8")
        assert all(method in drawn for method in (*methods, label))
