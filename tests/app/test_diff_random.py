"""Properties of comparisons over random documents, and the JUnit form whatever stands in them."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.app.diff.job import DiffRequest, difference
from rt_sched.app.diff.junit import junit
from rt_sched.app.diff.text import headline, markdown

NAMES = st.text(min_size=1, max_size=8) | st.sampled_from(["fuse", "a&b", "]]>", "<x/>", 'q"', "\x00\x0b", "\ud800"])
VERDICTS = st.sampled_from(["schedulable", "inconclusive", "unschedulable"])
TIMES = st.none() | st.integers(0, 10**9)

#: Elements and attributes of the schema that CI servers check JUnit reports against (junit-10.xsd).
ALLOWED = {
    "testsuites": {"name", "time", "tests", "failures", "disabled", "errors"},
    "testsuite": {
        *("name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id"),
        "package",
    },
    "testcase": {"name", "assertions", "time", "classname", "status", "class", "file", "line"},
    "failure": {"type", "message"},
    "skipped": {"type", "message"},
}
CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure", "skipped"}}


@st.composite
def documents(draw: st.DrawFn, names: st.SearchStrategy[str] = NAMES) -> dict[str, Any]:
    def row(name: str) -> dict[str, Any]:
        return {
            "name": name,
            "mode": "nominal",
            "verdict": draw(VERDICTS),
            "reason": draw(NAMES),
            "response_bound_ns": draw(TIMES),
            "deadline_ns": draw(st.integers(1, 10**9)),
        }

    return {
        "schema": "rt-sched/analysis/1",
        "system": draw(names),
        "policy": "rms",
        "verdict": draw(VERDICTS),
        "modes": [{"name": "nominal", "verdict": draw(VERDICTS)}],
        "tasks": [row(name) for name in draw(st.lists(names, max_size=5, unique=True))],
        "chains": [
            {
                "name": name,
                "mode": "nominal",
                "path": [name],
                "verdict": draw(VERDICTS),
                "latency_bound_ns": draw(TIMES),
            }
            for name in draw(st.lists(names, max_size=3, unique=True))
        ],
        "assumptions": [],
    }


def compared(before: dict[str, Any], after: dict[str, Any], **more: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.json", "b.json")]
        for path, document in zip(paths, (before, after), strict=True):
            path.write_text(json.dumps(document))
        return difference(DiffRequest(*map(str, paths), **more))


@given(documents(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_document_is_like_itself_in_any_order(document: dict[str, Any], shuffler: random.Random) -> None:
    other = json.loads(json.dumps(document))
    for part in ("tasks", "chains", "modes"):
        shuffler.shuffle(other[part])
    found = compared(document, other, strict=True)
    assert found["inputs"] == []
    assert {row["change"] for row in found["verdicts"]} == {"same"}
    assert not found["worse"]


@given(documents(), documents())
@settings(max_examples=40, deadline=None)
def test_what_is_worse_one_way_is_better_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    opposite = {"worse": "better", "better": "worse", "grew": "shrank", "shrank": "grew", "same": "same"}
    there, back = compared(before, after), compared(after, before)
    ways = [{(r["kind"], r["name"]): r for r in found["verdicts"]} for found in (there, back)]
    renamed = [row for row in there["inputs"] if row["change"] == "renamed"]
    if renamed:
        return
    assert ways[0].keys() == ways[1].keys()
    for key, row in ways[0].items():
        if row["verdict_before"] is not None and row["verdict_after"] is not None:
            assert ways[1][key]["change"] == opposite[row["change"]]
    flags = [row["worse"] for row in there["verdicts"]]
    assert flags == sorted(flags, reverse=True)


@given(documents(), documents(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_junit_has_a_valid_case_for_everything(before: dict[str, Any], after: dict[str, Any], strict: bool) -> None:
    found = compared(before, after, strict=strict)
    root = ElementTree.fromstring(junit(found).encode("utf-8"))  # noqa: S314 - our own text
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    (suite,) = root
    cases = list(suite)
    outcomes = [[child.tag for child in case] for case in cases]
    assert (
        len(cases) == int(suite.attrib["tests"]) == sum(row["verdict_after"] is not None for row in found["verdicts"])
    )
    assert outcomes.count(["failure"]) == int(suite.attrib["failures"])
    assert outcomes.count(["skipped"]) == int(suite.attrib["skipped"])
    if found["worse"]:
        assert outcomes.count(["failure"]) >= 1
    assert markdown(found).encode("utf-8", "backslashreplace")
    assert headline(found)
