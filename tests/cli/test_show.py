"""`show` and `schema` from the command line."""

from __future__ import annotations

import json

import jsonschema
from cli_runs import ROOT, Cli

FULL = ROOT / "tests" / "config" / "valid_full.yaml"


def test_show_prints_tables_and_draws(cli: Cli) -> None:
    ended = cli("show", FULL, "-o", "graph.svg")
    assert ended.code == 0
    assert "left → infer → plan" in ended.out
    assert ended.err.strip() == "drawn to graph.svg"
    assert (cli.folder / "graph.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_show_json_is_one_document(cli: Cli) -> None:
    ended = cli("show", "quad_orin", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.document["schema"] == "rt-sched/system/1"
    assert len(ended.document["tasks"]) == 35


def test_show_tells_every_problem_of_a_wrong_file(cli: Cli) -> None:
    ended = cli("show", ROOT / "tests" / "config_cases" / "table_entries_overlap.yaml", code=2)
    assert ended.code == 2
    assert "begins at 4ms, before the entry above ends at 5ms" in ended.err


def test_schema_is_a_json_schema(cli: Cli) -> None:
    ended = cli("schema")
    assert ended.code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(ended.out))
