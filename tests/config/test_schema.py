"""The schema that editors use accepts what the loader accepts, and refuses much of what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from rt_sched.config.loader import SYSTEM
from rt_sched.config.problems import Problems
from rt_sched.config.schema import DIALECT, system_schema
from rt_sched.config.table import Spec
from rt_sched.config.value import Value
from rt_sched.config.yaml_nodes import parse

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
VALID = sorted(Path(__file__).parent.glob("valid*.yaml"))
CASES = sorted((ROOT / "tests" / "config_cases").glob("*.yaml"))

VALIDATOR = jsonschema.Draft202012Validator(system_schema())


def _specs(found: dict[str, Spec], schema: Any) -> dict[str, Spec]:
    """Every spec that a schema refers to, by name."""
    if isinstance(schema, dict):
        spec = schema.get("$spec")
        if isinstance(spec, Spec) and found.setdefault(spec.name, spec) is spec:
            for key in spec.keys:
                _specs(found, key.schema)
        for value in schema.values():
            _specs(found, value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            _specs(found, value)
    return found


SPECS = _specs({}, {"$spec": SYSTEM})


def _document(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text())


def test_the_schema_is_a_schema() -> None:
    assert VALIDATOR.schema["$schema"] == DIALECT
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("path", [*EXAMPLES, *VALID], ids=lambda path: path.stem)
def test_files_that_load_are_accepted(path: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(_document(path))] == []


def test_many_files_that_do_not_load_are_refused() -> None:
    refused, accepted = [], []
    for path in CASES:
        try:
            document = _document(path)
        except Exception:  # noqa: S112  (no YAML at all)
            continue
        (accepted if VALIDATOR.is_valid(document) else refused).append(path.stem)
    print(f"{len(refused)} refused, {len(accepted)} only by the loader")
    assert len(refused) >= 80
    assert {"unknown_policy", "time_without_unit", "unknown_task_key", "wcet_missing", "activation_twice"} <= set(
        refused
    )
    assert {"unknown_device", "chain_not_connected", "circle_of_activation"} <= set(accepted)


def test_every_table_of_the_loader_is_in_the_schema_with_its_keys() -> None:
    definitions = VALIDATOR.schema["$defs"]
    assert set(definitions) == set(SPECS) - {"system"}
    for name, spec in SPECS.items():
        shown = VALIDATOR.schema if name == "system" else definitions[name]
        assert tuple(shown["properties"]) == spec.names
        assert all(shown["properties"][key.name]["description"].startswith(key.text) for key in spec.keys)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_every_key_is_explained_and_says_its_default(spec: Spec) -> None:
    for key in spec.keys:
        assert key.text.endswith(".")
        assert not (key.required and key.default_text)
        if key.required and key.name not in ("runs_on",):
            assert key.example, f"{spec.name}.{key.name} has no example for the message that it is missing"
        if isinstance(key.value, Value) and key.default_text and key.default not in (None, ()):
            problems = Problems("")
            root = parse(f"v: {key.default_text}".encode(), problems)
            assert root is not None
            assert key.value(root.entries["v"].value, problems) == key.default
            problems.raise_if_any()
