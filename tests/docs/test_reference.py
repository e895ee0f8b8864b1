"""The reference of system files is what the loader's tables say, and they name every key."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "scripts"))

import configuration_reference

from rt_sched.config.loader import SYSTEM


def test_the_page_is_up_to_date() -> None:
    page = configuration_reference.PAGE.read_text(encoding="utf-8")
    assert page == configuration_reference.reference(), "run python docs/scripts/configuration_reference.py"


def test_every_key_has_a_row_and_every_link_an_aim() -> None:
    page = configuration_reference.reference()
    found = configuration_reference.specs({"$spec": SYSTEM}, {})
    assert len(found) > 20
    for spec in found.values():
        section = page.split(f"## {spec.name.replace('_', ' ')}\n")[1].split("\n## ")[0]
        assert all(f"| `{key.name}` |" in section for key in spec.keys)
    for name in found:
        if name != "system":
            assert f"](#{name.replace('_', '-')})" in page
