"""What a reader of a page's text finds there: numbers with their exact values, words, tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

from rt_sched.report.schedulability import render_schedulability_report

#: Elements without an end.
VOID = {"meta", "link", "br", "img", "wbr", "input", "rect", "line", "path"}


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
                self.rows[-1][-1].append(int(Fraction(given["value"] or 0)))
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


def numbers_without_origin(document: Mapping[str, Any]) -> list[str]:
    """Numbers on the page of a document that it does not hold: values of marked ones, and words with a digit."""
    page, known = Page(render_schedulability_report(document)), scalars(document)
    assert len(page.values) > 100
    words = "\n".join(known | {one.replace("_", " ") for one in known})
    tokens = {token for text in page.texts for token in re.findall(r"[^\s(),;:=≤≥/]*\d[^\s(),;:=]*", text)}
    return [value for value in page.values if value not in known] + [token for token in tokens if token not in words]
