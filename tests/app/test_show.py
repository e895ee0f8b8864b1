"""A system as a document and as tables: every default is there in words of the file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from rt_sched.app.show.job import SYSTEM_SCHEMA, shown_system
from rt_sched.app.show.tables import print_system
from rt_sched.errors import ConfigError, DeploymentError

FULL = Path(__file__).parents[1] / "config" / "valid_full.yaml"
QUAD = "quad_orin"


def _tables(argument: str) -> str:
    console = Console(file=io.StringIO(), width=220)
    print_system(shown_system(argument, None), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_document_is_plain_json() -> None:
    document = shown_system(str(FULL), None)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema"] == SYSTEM_SCHEMA
    assert {task["name"] for task in document["tasks"]} == {
        "render", "infer", "control", "plan", "event", "watch", "spare",
    }  # fmt: skip


def test_defaults_and_decisions_of_other_parts_are_filled_in() -> None:
    document = shown_system(str(FULL), None)
    tasks = {task["name"]: task for task in document["tasks"]}
    assert tasks["render"]["deadline_ns"] == 16_666_666
    assert tasks["render"]["deadline_action"] == "continue"
    assert tasks["watch"]["level"] == "HI"
    assert tasks["infer"]["communication"] == "implicit"
    assert tasks["plan"]["communication"] == "let"
    assert tasks["infer"]["activation"] == {
        "kind": "on_message", "join": "all", "primary": None, "tolerance_ns": 5_000_000, "jitter_ns": 0,
    }  # fmt: skip
    edges = {(edge["source"], edge["target"]): edge for edge in document["edges"]}
    assert edges["left", "infer"]["link"] == "backbone"
    assert (edges["right", "infer"]["kind"], edges["right", "infer"]["depth"]) == ("queue", 1)
    assert document["sensors"][0]["rate_hz"] == "30000/1001"
    assert document["resources"][0] == {"name": "map", "protocol": "priority_inheritance", "users": ["plan"]}


@pytest.mark.parametrize(
    "said",
    ["every 10ms to 15ms from 3ms", "2ms … 4ms, 1ms of it memory", "5ms: degrade", "its table entry: abort", "1 of 10",
     "map 1ms … 3ms, log 2ms … 3ms", "after 1ms: 100us … 2ms", "500us, 1ms", "at points", "clustered", "1728MHz",
     "join all within 5ms", "3ms … 3ms, C_LO 2ms", "queue 1, drop_oldest", "infer needs 9ms in jobs 3, 4",
     "lose left at 1s", "left → infer → plan", "16.666666ms", "ecu-2.single 500MHz", "50Hz from 0ns, jitter 1ms"],
)  # fmt: skip
def test_the_tables_say(said: str) -> None:
    assert said in _tables(str(FULL))


def test_an_example_is_found_by_its_short_name_and_drawn(tmp_path: Path) -> None:
    drawing = tmp_path / "graph.svg"
    document = shown_system(QUAD, drawing)
    assert document["name"] == QUAD
    assert drawing.read_text(encoding="utf-8").startswith("<?xml")
    assert document["safety"]["command_deadline_ns"] == 100_000_000
    assert document["shared_by_paths"]["message_types"] == ["Command", "PointCloud"]
    assert document["shared_by_paths"]["tasks"] == []


def test_a_wrong_file_and_a_wrong_place_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        shown_system(str(tmp_path / "none.yaml"), None)
    with pytest.raises(DeploymentError, match=r"graph\.svg: cannot be written \(No such file or directory\)"):
        shown_system(QUAD, tmp_path / "no" / "graph.svg")
