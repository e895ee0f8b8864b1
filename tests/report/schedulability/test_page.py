"""The page of a report: it shows nothing that its document does not hold, and lets nothing in that is not text."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from rt_sched.report.schedulability import render_schedulability_report

#: Elements without an end.
VOID = {"meta", "link", "br", "img", "wbr", "input", "rect", "line", "path"}
HOSTILE = ["<script>alert('x')</script>", "\"'><img src=x onerror=alert(1)>", "n" * 300, "\u202eשלום", "a b&amp;c"]


class Page(HTMLParser):
    """`values`: of data elements and of marked texts in charts; `texts`: all other visible text, without ticks of axes.

    `rows`: table by table, row by row the whole numbers in it.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.values: list[str] = []
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[list[int]]] = []
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "data":
            self.values.append(given["value"] or "")
            if any(one == "tr" for one, _ in self._open):
                self.rows[-1][-1].append(int(float(given["value"] or "0")))
        if "data-value" in given:
            self.values.append(given["data-value"] or "")
        if tag == "table":
            self.rows.append([])
        if tag == "tr":
            self.rows[-1].append([])
        if tag not in VOID:
            self._open.append((tag, given))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        inside = {tag for tag, _ in self._open}
        marked = any("data-value" in given or given.get("class") == "tick" for _, given in self._open)
        if data.strip() and not marked and not inside & {"data", "style", "script", "title"}:
            self.texts.append(data)


def scalars(value: Any) -> set[str]:
    """Every word, number and key of a document, as text."""
    if isinstance(value, dict):
        return set(value) | {one for item in value.values() for one in scalars(item)}
    if isinstance(value, list):
        return {one for item in value for one in scalars(item)}
    return {str(value)}


def renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["reviewed", "late"])
def test_every_number_on_the_page_is_one_of_the_document(name, request) -> None:
    document = json.loads(json.dumps(request.getfixturevalue(name)))
    page = Page(render_schedulability_report(document))
    known = scalars(document)
    assert len(page.values) > 100
    assert [value for value in page.values if value not in known] == []
    words = "\n".join(known | {one.replace("_", " ") for one in known})
    tokens = {token for text in page.texts for token in re.findall(r"[^\s(),;:=≤≥/]*\d[^\s(),;:=]*", text)}
    assert [token for token in tokens if token not in words] == []


def test_bounds_can_be_computed_again_from_the_printed_terms(reviewed) -> None:
    """The last number of every row of a table of terms adds up to the bound that the page prints for its task."""
    page = Page(render_schedulability_report(reviewed))
    bounds = {row["response_bound_ns"] for row in reviewed["tasks"]}
    tables = [[row for row in table if row] for table in page.rows]
    sums = {sum(row[-1] for row in table) for table in tables if table and all(len(row) in (1, 3) for row in table)}
    assert bounds <= sums


def test_a_bound_can_be_computed_again_from_costs_and_distances(reviewed) -> None:
    """The fixed point of a window, from what the document says of others: blocking, costs, distances, jitter."""
    checked = 0
    for row in reviewed["tasks"]:
        if row["processor"] != "ecu.cpu.0" or row["method"] != "fp_response_time":
            continue
        blocking_ns = sum(term["value_ns"] for term in row["terms"] if term["kind"] == "blocking")
        more_urgent = [one for one in row["others"] if one["urgency"] == "more"]
        window_ns, before_ns = row["own"]["cost_ns"] + blocking_ns, -1
        while window_ns != before_ns:
            before_ns = window_ns
            window_ns = row["own"]["cost_ns"] + blocking_ns
            for other in more_urgent:
                (arrivals,) = other["arrivals"]
                late_ns = arrivals["jitter_ns"] + other["release_jitter_ns"]
                window_ns += -(-(before_ns + late_ns) // arrivals["separation_ns"]) * other["cost_ns"]
        assert window_ns == row["response_bound_ns"]
        checked += 1
    assert checked == 3


def test_the_page_is_the_same_for_the_same_document(late) -> None:
    before = copy.deepcopy(late)
    assert render_schedulability_report(late) == render_schedulability_report(late)
    assert late == before


def test_hostile_names_are_text(reviewed) -> None:
    names = dict(zip(["track", "detect", "log", "see", "blind"], HOSTILE, strict=True))
    document = renamed(reviewed, names)
    page = render_schedulability_report(document)
    plain = Page(render_schedulability_report(reviewed))
    hostile = Page(page)
    count = lambda tags, tag: sum(one == tag for one, _ in tags)  # noqa: E731
    for tag in ("script", "img", "b", "i"):
        assert count(hostile.tags, tag) == count(plain.tags, tag)
    assert not any(key.startswith("on") for _, given in hostile.tags for key in given)
    shown = "".join(hostile.texts)
    assert "<script>alert('x')</script>" in shown.replace("\u200b", "")
    for one in HOSTILE:
        assert one in {given.get("title") for _, given in hostile.tags}
    assert {given.get("id") for _, given in hostile.tags} >= {
        given["href"][1:] for _, given in hostile.tags if (given.get("href") or "").startswith("#task-")
    }


def test_nothing_is_fetched_and_every_link_has_an_aim(reviewed) -> None:
    page = Page(render_schedulability_report(reviewed))
    ids = {given["id"] for _, given in page.tags if given.get("id")}
    for tag, given in page.tags:
        for key in ("src", "href"):
            aim = given.get(key)
            if aim is not None and not aim.startswith("data:"):
                assert aim.startswith("#"), (tag, aim)
                assert aim[1:] in ids, aim
    policy = next(given["content"] for _, given in page.tags if given.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_every_section_is_there_also_without_evidence(late) -> None:
    page = Page(render_schedulability_report(late))
    sections = [given.get("id") for tag, given in page.tags if tag == "section"]
    assert sections == [
        "verdict",
        "system",
        "assumptions",
        "bounds",
        "chains",
        "resources",
        "faults",
        "safety-path",
        "evidence",
        "margins",
        "requirements",
        "reproduction",
        "not-shown",
        "iso",
    ]
    assert "".join(page.texts).count("evidence of this kind in this report") >= 5


def test_the_first_screen_of_a_late_system_says_where_and_why(late) -> None:
    page = render_schedulability_report(late)
    shown = " ".join("".join(Page(page[: page.index('<section id="system">')]).texts).replace("\u200b", "").split())
    assert "A deadline can be missed" in shown
    assert "task slow" in shown
    assert "3.000 ms over its deadline of 14.000 ms" in shown
    assert "most of what delays it is interference by quick, 8.000 ms" in shown


def test_rows_that_links_lead_to_are_there_once_also_for_tasks_of_later_modes(late) -> None:
    document = copy.deepcopy(late)
    document["modes"].append({"name": "limp", "verdict": "schedulable"})
    rows = [{**row, "mode": "limp"} for row in document["tasks"]]
    document["tasks"] = [row for row in document["tasks"] if row["name"] != "spare"] + rows
    page = Page(render_schedulability_report(document))
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids))
    assert all(ids)
    aims = {given["href"][1:] for tag, given in page.tags if tag == "a" and given.get("href")}
    assert aims <= set(ids)


def test_the_graph_links_every_box_and_chain_to_its_row(reviewed) -> None:
    page = Page(render_schedulability_report(reviewed))
    aims = [
        given["href"] for tag, given in page.tags if tag == "a" and ("data-task" in given or "data-sensor" in given)
    ]
    graph = reviewed["model"]["graph"]
    assert {node["name"] for node in graph["nodes"]} == {
        *(row["name"] for row in reviewed["model"]["sensors"]),
        *(row["name"] for row in reviewed["model"]["tasks"]),
    }
    assert {f"#{node['kind']}-{node['name']}" for node in graph["nodes"]} <= set(aims)
    groups = [given["data-chain"] for tag, given in page.tags if tag == "g" and given.get("data-chain")]
    assert groups == [chain["name"] for chain in reviewed["chains"]]


def test_three_hundred_tasks_stay_within_five_megabytes(late) -> None:
    document = copy.deepcopy(late)
    row, declared = document["tasks"][1], document["model"]["tasks"][1]
    document["tasks"] = [{**row, "name": f"task_{number}"} for number in range(300)]
    document["model"]["tasks"] = [{**declared, "name": f"task_{number}"} for number in range(300)]
    page = render_schedulability_report(document)
    assert len(page.encode()) < 5_000_000
    assert page.count('class="derivation"') == 300
