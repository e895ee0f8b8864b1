"""Mutants of the monitors that change nothing that anybody could see, each with the reason."""

from __future__ import annotations

from source_mutants import Mutant

#: (file, old text, new text) -> why; an empty new text stands for every change of the old one.
EQUIVALENT: dict[tuple[str, str, str], str] = {}


def reason_of(mutant: Mutant) -> str | None:
    """Why nothing can notice this mutant; None where something must."""
    return EQUIVALENT.get((mutant.file, mutant.old, mutant.new)) or EQUIVALENT.get((mutant.file, mutant.old, ""))
