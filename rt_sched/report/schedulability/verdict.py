"""The first screen of the schedulability report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from rt_sched.report.verdict import Meaning

_TONES = {"schedulable": ("good", "✓"), "unschedulable": ("bad", "✕"), "inconclusive": ("caution", "?")}


def meaning(document: Mapping[str, Any]) -> Meaning:
    """The verdict in words, with the sign and tone that go with it."""
    told = document["summary"]
    tone, mark = tone_and_mark(document["verdict"])
    return Meaning(tone, mark, told["title"], told["explanation"])


def tone_and_mark(verdict: str) -> tuple[str, str]:
    """Colour never speaks alone: every verdict has a sign, too."""
    return _TONES.get(verdict, ("caution", "?"))


def sign(verdict: str) -> Markup:
    """A verdict as a sign alone, where its word would be said too often; readers of the page aloud hear the word."""
    tone, shown = tone_and_mark(verdict)
    return Markup('<span class="verdict-mark {}" role="img" aria-label="{}" title="{}">{}</span>').format(
        tone, verdict, verdict, shown
    )


def mark(verdict: str) -> Markup:
    """A verdict as a sign and a word."""
    tone, sign = tone_and_mark(verdict)
    return Markup('<span class="verdict-mark {}"><span aria-hidden="true">{}</span> {}</span>').format(
        tone, sign, verdict
    )
