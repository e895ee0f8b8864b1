"""`make evidence` runs every script of the evidence, and benchmarks/README.md lists all of them, and every result."""

from __future__ import annotations

import re
from pathlib import Path

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
