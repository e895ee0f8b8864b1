"""Whether other installed packages own names of ours: some of these are common words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from rt_sched.app.doctor.finding import Finding, Severity

OWN = "rt-sched"
NAMES = ("rt_sched", "pipelines", "sensors", "safety", "hw")


def name_findings(
    owners: Mapping[str, Iterable[str]] | None = None, place_of: Callable[[str], Path | None] | None = None
) -> list[Finding]:
    """Distributions that own a name of ours, and names that lead elsewhere. Asks the interpreter unless told."""
    owners = metadata.packages_distributions() if owners is None else owners
    place_of = _place_of if place_of is None else place_of
    home, found = place_of("rt_sched"), []
    for name in NAMES:
        others = sorted(set(owners.get(name, ())) - {OWN})
        place = place_of(name)
        if others:
            costs, mend = "stages are looked for in the wrong package", f"pip uninstall {' '.join(others)}"
            told = f"also of {', '.join(others)}"
            found.append(Finding("python", f"name {name}", Severity.PROBLEM, told, costs, mend))
        elif place is None or home is None or place != home:
            told = "not found" if place is None else f"leads to {place}"
            costs, mend = "stages are looked for in the wrong package", "leave that folder, or empty PYTHONPATH"
            found.append(Finding("python", f"name {name}", Severity.PROBLEM, told, costs, mend))
    return found or [Finding("python", "package names", Severity.OK, f"{', '.join(NAMES)} are ours alone")]


def _place_of(name: str) -> Path | None:
    """The folder that holds a package."""
    spec = find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent.parent
