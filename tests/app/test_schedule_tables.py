"""Tables as a part of a document and as text, the same as the page on them shows."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rt_sched.app.plan.schedule_tables import print_tables, tables_section, write_fragment
from rt_sched.config import load_system_text
from rt_sched.errors import DeploymentError
from rt_sched.model import System
from rt_sched.planner import make_plan

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
S = 10**9


def loaded(text: str) -> System:
    return load_system_text(text, file_name="s", base_dir=".", stages=None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def example() -> str:
    (text,) = re.findall(r"```yaml\n(rt_sched: 1.*?)```", PAGE, re.DOTALL)
    return str(text)


def section(text: str, names: str = "all", **more: Any) -> dict[str, Any]:
    system = loaded(text)
    return tables_section(system, make_plan(system), names, 5 * S, **more)


def shown(document: dict[str, Any]) -> list[str]:
    out = io.StringIO()
    print_tables(document, Console(file=out, width=110, highlight=False))
    return [line.rstrip() for line in out.getvalue().strip("\n").splitlines()]


def test_the_page_shows_what_is_made(example: str, tmp_path: Path) -> None:
    found = section(example, free_offsets=True)
    (output, fragment) = re.findall(r"```(?:yaml)?\n(Table of .*?|devices:\n.*?)```", PAGE, re.DOTALL)
    # What the command prints after the tables is left out in the page.
    assert [*shown(found), "..."] == output.splitlines()
    assert found["yaml"] == fragment
    assert found["verdict"] == "schedulable" and found["proved"] and found["gap"] == 0
    write_fragment(found, tmp_path / "tables.yaml")
    assert (tmp_path / "tables.yaml").read_text(encoding="utf-8") == fragment
    with pytest.raises(DeploymentError, match="cannot be written"):
        write_fragment(found, tmp_path / "none" / "tables.yaml")


def test_entries_and_figures_of_the_document(example: str) -> None:
    found = section(example, "orin.gpu")
    (element,) = found["elements"]
    assert (element["name"], element["cycle_ns"]) == ("orin.gpu", 50_000_000)
    assert [entry["task"] for entry in element["entries"]] == ["infer_left", "infer_right"]
    (core,) = found["figures"]["cores"]
    assert core["busy_ns"] + core["idle_ns"] == element["cycle_ns"]
    assert core["idle_ns"] == sum(one["to_ns"] - one["from_ns"] for one in core["bubbles"])


def test_why_there_is_none(example: str) -> None:
    tight = section(example.replace("{image: grab_right}", "{image: grab_right}, deadline: 10ms"), "orin.gpu")
    assert tight["verdict"] in ("unschedulable", "inconclusive")
    assert " ".join(shown(tight)) == f"no tables: {tight['reason']}"
    sporadic = section(example.replace("activation: {rate: 20Hz, offset: 1ms}", "activation: {min_separation: 50ms}"))
    assert (sporadic["verdict"], sporadic["reason"]) == (
        "inconclusive",
        "grab_right is sporadic, so no table knows when it arrives",
    )
    assert section(example, "orin.npu")["reason"].startswith("unknown processing element 'orin.npu'; valid: orin.cpu")
