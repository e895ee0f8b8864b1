"""Our names are ours alone, and what we import is declared."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = tuple(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


@pytest.mark.parametrize("name", PACKAGES)
def test_no_other_distribution_owns_one_of_our_names(name):
    """There are packages called safety, sensors and pipelines on the public index."""
    owners = set(metadata.packages_distributions().get(name, ()))
    assert owners <= {"rt-sched"}
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert Path(spec.origin).parent == ROOT / name


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_begins_with_a_docstring_and_nothing_that_takes_time(name):
    tree = ast.parse((ROOT / name / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert all(isinstance(node, ast.Assign) for node in tree.body[1:])


def imported_names():
    """Top-level names that the shipped code imports from outside -> a file that does."""
    names = {}
    recipe = ROOT / "pipelines" / "models" / "recipe"
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if path.is_relative_to(recipe):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module]
            else:
                continue
            names.update({module.partition(".")[0]: path.relative_to(ROOT) for module in modules})
    ours = {*PACKAGES, *sys.stdlib_module_names}
    return {name: path for name, path in names.items() if name not in ours}


def test_every_import_is_of_a_declared_dependency():
    """What only happens to be installed, because a tool for development needs it, is missing at a user's.

    Extras for users count; what they name need not be installed here, and then has its own name.
    """
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [line for name, some in extras.items() if name not in ("dev", "bench") for line in some]
    declared = {normal(re.match(r"[\w.-]+", line)[0]) for line in (*PROJECT["project"]["dependencies"], *lines)}
    owners = metadata.packages_distributions()
    imported = imported_names()
    assert {"numpy", "typer", "mcap"} <= imported.keys()
    for name, path in imported.items():
        assert declared & {normal(owner) for owner in owners.get(name, [name])}, f"{path} imports {name}"


def normal(distribution):
    return re.sub(r"[-_.]+", "-", distribution).lower()
