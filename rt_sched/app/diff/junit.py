"""A comparison as a JUnit report, in the form that pytest writes: a case for everything that has a verdict now.

A case fails where it is unschedulable or missed, or got worse; it is skipped, with the reason, where the verdict is not
known. What is gone has no case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from rt_sched.units import format_ns

Row = Mapping[str, Any]

#: What XML 1.0 cannot hold in any form.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(document: Row) -> str:
    """The report as XML text."""
    cases = [row for row in document["verdicts"] if row["verdict_after"] is not None]
    suite = ElementTree.Element("testsuite", name="rt-sched diff")
    failed = skipped = 0
    for row in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"rt-sched.{row['kind']}", name=_name(row), time="0.000"
        )
        if row["bad"] or row["worse"]:
            failed += 1
            _outcome(case, "failure", row).set("type", "worse" if row["worse"] else "unschedulable")
        elif not row["known"]:
            skipped += 1
            _outcome(case, "skipped", row).set("type", "inconclusive")
    counts = {"errors": 0, "failures": failed, "skipped": skipped, "tests": len(cases)}
    for key, count in counts.items():
        suite.set(key, str(count))
    suite.set("time", "0.000")
    suites = ElementTree.Element("testsuites", name="rt-sched diff")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="utf-8"?>\n', "\n")
    )


def _name(row: Row) -> str:
    return _printable(f"{row['name']}[{row['mode']}]" if row["mode"] else str(row["name"]))


def _outcome(case: ElementTree.Element, tag: str, row: Row) -> ElementTree.Element:
    before = row["verdict_before"] or "not there"
    message = f"{before} -> {row['verdict_after']}" if before != row["verdict_after"] else row["verdict_after"]
    reason = f": {row['reason']}" if row["reason"] else ""
    element = ElementTree.SubElement(case, tag, message=_printable(f"{message}{reason}"))
    element.text = _printable("\n".join(_times(row)))
    return element


def _times(row: Row) -> list[str]:
    lines = []
    for time in row["times"]:
        sides = []
        for word in ("before", "after"):
            value_ns, limit_ns = time[f"value_{word}_ns"], time[f"limit_{word}_ns"]
            value = "none" if value_ns is None else format_ns(value_ns)
            sides.append(value if limit_ns is None else f"{value} of {format_ns(limit_ns)}")
        lines.append(f"{time['name']}: {' -> '.join(sides)}")
    return lines


def _printable(text: str) -> str:
    """Without characters that XML cannot hold, each of which becomes a replacement character."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
