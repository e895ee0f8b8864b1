"""The page of a report: it shows nothing that its document does not hold, and lets nothing in that is not text."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from page_reading import Page, numbers_without_origin

from rt_sched.config import load_system_text
from rt_sched.report.schedulability import render_schedulability_report
from rt_sched.report.system_graph import graph_rows

HOSTILE = ["<script>alert('x')</script>", "\"'><img src=x onerror=alert(1)>", "n" * 300, "\u202eשלום", "a b&amp;c"]


def renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["reviewed", "late"])
def test_every_number_on_the_page_is_one_of_the_document(name, request) -> None:
    assert numbers_without_origin(json.loads(json.dumps(request.getfixturevalue(name)))) == []


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
    """Sixty sensors, each with a chain of five tasks that come together in a fusion; drawn, listed and derived."""
    chains = "".join(
        f"  t{n}_{step}: {{runs_on: d.c, inputs: {{x: {f't{n}_{step - 1}' if step else f's{n}'}}}, "
        "execution: {wcet: 1us}}\n"
        for n in range(60)
        for step in range(5)
    )
    sensors = "".join(f"  s{n}: {{kind: camera, rate: 10Hz, attached_to: d, topic: /s{n}}}\n" for n in range(60))
    joined = ", ".join(f"i{n}: {{from: t{n}_4, required: false}}" for n in range(60))
    text = (
        "rt_sched: 1\nname: wide\ndevices: {d: {processing_elements: {c: {kind: cpu, cores: 64}}}}\n"
        f"sensors:\n{sensors}tasks:\n{chains}"
        f"  fuse: {{runs_on: d.c, activation: {{rate: 10Hz}}, inputs: {{{joined}}}, execution: {{wcet: 1us}}}}\n"
    )
    document = copy.deepcopy(late)
    row, declared = document["tasks"][1], document["model"]["tasks"][1]
    row = {**row, "others": row["others"] * 20, "terms": row["terms"] * 10}
    document["model"]["graph"] = graph_rows(load_system_text(text, file_name="wide", base_dir=".", stages=None))
    nodes = document["model"]["graph"]["nodes"]
    document["tasks"] = [{**row, "name": node["name"]} for node in nodes]
    document["model"]["tasks"] = [{**declared, "name": node["name"]} for node in nodes]
    page = render_schedulability_report(document)
    assert len(page.encode()) < 5_000_000
    assert page.count('class="derivation"') == len(nodes) == 361
    assert page.count("The document holds all that delay it.") == len(nodes)


def test_the_loss_of_the_arbiter_stands_as_a_row_of_its_own_with_its_parts_drawn(reviewed) -> None:
    row = reviewed["faults"]["arbiter"]
    assert (row["bound_ns"], row["limit_ns"], row["verdict"]) == (35_000_000, 100_000_000, "schedulable")
    page = render_schedulability_report(reviewed)
    own = page[page.index("The loss of the arbiter") : page.index("Every single fault")]
    for css in ("part-detection", "part-reaction", "part-margin"):
        assert own.count(f"piece {css}") == 1
    without = {**reviewed, "faults": {**reviewed["faults"], "arbiter": None}}
    assert "The loss of the arbiter" not in render_schedulability_report(without)
