"""What the methods behind a schedulability report were validated against, from the committed results that ship."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rt_sched.app.inputs.shipped import shipped_folder

Row = dict[str, Any]


def validation_section(methods: Iterable[str]) -> Row:
    """The results for these methods, and those for the kernel that replays witnesses. None: none are installed."""
    # An installed package keeps them without the programs that made them.
    folder = shipped_folder("results") or shipped_folder("benchmarks/results")
    analysis = _result(folder, "random_analysis.json")
    known = {} if analysis is None else analysis["methods"]
    return {
        "bounds": _told(
            analysis,
            "Random systems, analysed and then played by the scheduling kernel: responses above their bound",
            _named("systems", "bounds_exceeded"),
        ),
        "chains": _told(
            _result(folder, "random_distributed.json"),
            "Random systems of several devices, played likewise: responses, reactions, latencies and data ages above "
            "their bound",
            {"systems": "systems", "bounds_exceeded": "violations"},
        ),
        "transitions": _told(
            _result(folder, "random_transitions.json"),
            "Random systems with changes of mode and overruns, played likewise: responses above their bound",
            _named("systems", "bounds_exceeded"),
        ),
        "methods": [
            {
                "method": name,
                **{key: known.get(name, {}).get(key) for key in ("accepted", "inconclusive", "refused", "attained")},
                "median_tightness": known.get(name, {}).get("median_tightness"),
            }
            for name in sorted(set(methods))
        ],
        "kernel": _told(
            _result(folder, "random_systems.json"),
            "Random systems, played by the kernel and by a tick-by-tick reference of the same semantics",
            _named("systems", "jobs", "disagreements", "checker_violations"),
        ),
        "mutations": _told(
            _result(folder, "mutations.json"),
            "Wrong rules put into the kernel on purpose, and noticed by the reference and the trace checker",
            _named("mutations", "caught"),
        ),
    }


def _named(*keys: str) -> dict[str, str]:
    """Keys of a result that the report calls the same."""
    return dict(zip(keys, keys, strict=True))


def _told(result: Row | None, what: str, keys: Mapping[str, str]) -> Row | None:
    """What a result says, by the report's key for each of its own, and where it is from."""
    if result is None:
        return None
    shown = {name: result[key] for name, key in keys.items()}
    return {"what": what, **shown, "commit": result["commit"], "made": result["made"]}


def _result(folder: Path | None, name: str) -> Row | None:
    if folder is None or not (folder / name).is_file():
        return None
    found: Row = json.loads((folder / name).read_text(encoding="utf-8"))
    return found
