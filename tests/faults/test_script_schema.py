"""The published schema of fault scripts is that of the program; it takes what the reader takes, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from fault_cases import CASES, ROOT, Case
from ruamel.yaml import YAML

from rt_sched.faults.kinds import KINDS
from rt_sched.faults.script_schema import script_schema

PUBLISHED = ROOT / "docs" / "fault-script.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(script_schema())
SAYS: dict[str, Any] = {"by": "40ms", "from": "-30deg", "to": "30deg", "stall": "200ms", "demand": "12ms"}


def problems(fault: dict[str, Any]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors({"rt_sched_faults": 1, "faults": {"f": fault}})]


def fault_of(name: str) -> dict[str, Any]:
    """The least that a fault of this kind says."""
    kind = next(one for one in KINDS if one.name == name)
    begin = {} if name == "overrun" else {"at": "1s"}
    target = {} if name == "arbiter.kill" else {"target": "x"}
    return {"kind": name, **target, **begin, **{key: SAYS[key] for key in kind.needs}}


def test_the_published_schema_is_that_of_the_program() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == script_schema(), (
        "run rt-sched schema --faults > docs/fault-script.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(script_schema())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_needs_what_it_needs_and_takes_no_key_of_others(kind: Any) -> None:
    least = fault_of(kind.name)
    assert problems(least) == []
    for key in least:
        assert problems({name: value for name, value in least.items() if name != key}) != [], key
    for key in SAYS:
        assert (problems({**least, key: SAYS[key]}) == []) == (key in kind.keys), key


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "faults").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_keep_to_it(path: Any) -> None:
    document = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "camera.blck", "target": "front", "at": "1s"},
        {"kind": "camera.black", "target": "front"},
        {"kind": "camera.black", "target": "front", "at": "1s", "on": {"sample": 3, "of": "front"}},
        {"kind": "camera.black", "target": "front", "on": {"sample": 3, "job": 2, "of": "front"}},
        {"kind": "camera.black", "target": "front", "at": "1s", "of": "x"},
        {"kind": "message.drop", "target": "front", "at": "1s", "share": 2},
        {"kind": "overrun", "target": "fuse", "at": "1s", "demand": "9ms"},
        {"kind": "arbiter.kill", "target": "arbiter", "at": "1s"},
    ],
)
def test_it_refuses(wrong: dict[str, Any]) -> None:
    assert problems(wrong) != []


def test_all_kinds_of_the_cases_are_known() -> None:
    assert all(isinstance(case, Case) and problems(fault_of(case.kind)) == [] for case in CASES)
