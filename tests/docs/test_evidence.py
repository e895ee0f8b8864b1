"""`make evidence` runs every script of the evidence, benchmarks/README.md lists them, and results name their commit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "evidence"))

from machine import SOURCES, commit_of

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
LIST = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def commands(target: str) -> str:
    """The recipe of a target of the Makefile."""
    (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    return recipe


def scripts(folder: Path) -> set[str]:
    """Those that are called by themselves."""
    return {one.name for one in folder.glob("*.py") if "__main__" in one.read_text(encoding="utf-8")}


def test_every_script_of_the_evidence_is_run() -> None:
    run = set(re.findall(r"benchmarks/evidence/(\w+\.py)", commands("evidence")))
    assert run == scripts(BENCHMARKS / "evidence") - {"probe.py"}


def test_every_script_is_listed_once_for_each_place() -> None:
    evidence, apart = (
        LIST.split(f"\n## {title}\n")[1].split("\n## ")[0] for title in ("`make evidence`", "By themselves")
    )
    run = set(re.findall(r"benchmarks/(?:evidence/)?(\w+\.py)", commands("evidence")))
    assert set(re.findall(r"^\| \[(\w+\.py)\]", evidence, re.MULTILINE)) == run
    listed = {
        name
        for row in re.findall(r"^\| (\[.*?) \| ", apart, re.MULTILINE)
        for name in re.findall(r"\((\w+\.py)\)", row)
    }
    assert listed | run >= scripts(BENCHMARKS)
    for link in re.findall(r"\]\(([^)]+)\)", LIST):
        assert (BENCHMARKS / link).exists(), link


def test_every_result_is_listed_with_what_makes_it() -> None:
    missing = [one.name for one in (BENCHMARKS / "results").iterdir() if one.name not in LIST]
    assert missing == []
    written = set(re.findall(r"\$\(RESULTS\)/(\w+\.json)", commands("evidence")))
    rows = re.findall(r"^\| .*? \| (.*?) \| ", LIST, re.MULTILINE)
    assert written <= {name for cell in rows for name in cell.split(", ")}


def git(folder: Path, *arguments: str) -> None:
    """Runs it as somebody."""
    somebody = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *somebody, *arguments], check=True, capture_output=True)


def test_a_commit_is_dirty_where_anything_differs_that_results_depend_on(tmp_path: Path) -> None:
    files = {name: tmp_path / name / "file" for name in (*SOURCES, "docs")}
    for file in files.values():
        file.parent.mkdir(parents=True)
        file.write_text("as committed")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "all")
    commit = commit_of(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", commit)
    assert {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()} <= set(SOURCES)
    for name, file in files.items():
        file.write_text("changed")
        assert commit_of(tmp_path) == (commit if name == "docs" else f"{commit}-dirty")
        file.write_text("as committed")
    assert commit_of(tmp_path) == commit
