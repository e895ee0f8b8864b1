"""Reasons why data was refused, shortened where many of them stand together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: Behind this, a reason lists what would have been read instead, which may be long.
_CHOICES = "; read are "


def without_choices(reason: str) -> str:
    """The reason alone."""
    return reason.partition(_CHOICES)[0]


def choices_once(reasons: Iterable[str]) -> Iterator[str]:
    """The reasons, each list of choices only where it comes first."""
    told = set()
    for reason in reasons:
        choices = reason.partition(_CHOICES)[2]
        yield without_choices(reason) if choices in told else reason
        told.add(choices)
