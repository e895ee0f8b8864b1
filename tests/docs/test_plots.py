"""The plots in the docs are those that their scripts make from the kernel, and say what the page says."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "scripts"))

import priority_inversion
from pages import PAGES, examples, run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def plots() -> dict[str, str]:
    return priority_inversion.plots()


def test_the_plots_beside_the_page_are_up_to_date(plots: dict[str, str]) -> None:
    for name, content in plots.items():
        assert (PAGES / name).read_text(encoding="utf-8") == content, "run python docs/scripts/priority_inversion.py"
        assert f"({name})" in (PAGES / "resources.md").read_text()


@pytest.mark.parametrize("name", list(priority_inversion.PLOTS))
def test_each_plot_shows_one_protocol_after_the_other(plots: dict[str, str], name: str) -> None:
    root = ElementTree.fromstring(plots[name])  # noqa: S314  (our own drawing)
    titles = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "title"]
    assert titles == ["none", "priority_inheritance", "priority_ceiling"]
    shown = examples(PAGES / "resources.md")[priority_inversion.PLOTS[name]]
    executed = sum(len(run(example)[1].slices) for example in shown)
    assert sum(rect.get("fill") is not None for rect in root.iter(f"{SVG}rect")) == executed


def test_inversion_is_bounded_by_the_sections_under_either_protocol() -> None:
    """The most urgent task's response, the classic three-task case: as long as medium runs, or one section."""
    responses = []
    for example in examples(PAGES / "resources.md")[:3]:
        _, trace = run(example)
        responses.append(int(trace.jobs.finish_ns[1] - trace.jobs.arrival_ns[1]))
        assert trace.task_names[trace.jobs.task[1]] == "high"
    none, inheritance, ceiling = responses
    assert none == inheritance + 10_000_000
    assert inheritance == ceiling == 6_000_000
