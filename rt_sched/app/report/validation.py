"""What the methods behind a schedulability report were validated against, from the committed results that ship."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rt_sched.app.inputs.shipped import shipped_folder

Row = dict[str, Any]


def validation_section(methods: Iterable[str]) -> Row:
    """The results for these methods, and those for the kernel that replays witnesses. None: none are installed."""
    # An installed package keeps them without the programs that made them.
    folder = shipped_folder("results") or shipped_folder("benchmarks/results")
    analysis = _result(folder, "random_analysis.json")
    systems = _result(folder, "random_systems.json")
    mutations = _result(folder, "mutations.json")
    distributed = _result(folder, "random_distributed.json")
    transitions = _result(folder, "random_transitions.json")
    known = {} if analysis is None else analysis["methods"]
    return {
        "bounds": None
        if analysis is None
        else {
            "what": "Random systems, analysed and then played by the scheduling kernel: responses above their bound",
            "systems": analysis["systems"],
            "bounds_exceeded": analysis["bounds_exceeded"],
            **_made(analysis),
        },
        "chains": None
        if distributed is None
        else {
            "what": "Random systems of several devices, played likewise: responses, reactions, latencies and data ages "
            "above their bound",
            "systems": distributed["systems"],
            "bounds_exceeded": distributed["violations"],
            **_made(distributed),
        },
        "transitions": None
        if transitions is None
        else {
            "what": "Random systems with changes of mode and overruns, played likewise: responses above their bound",
            "systems": transitions["systems"],
            "bounds_exceeded": transitions["bounds_exceeded"],
            **_made(transitions),
        },
        "methods": [
            {
                "method": name,
                **{key: known.get(name, {}).get(key) for key in ("accepted", "inconclusive", "refused", "attained")},
                "median_tightness": known.get(name, {}).get("median_tightness"),
            }
            for name in sorted(set(methods))
        ],
        "kernel": None
        if systems is None
        else {
            "what": "Random systems, played by the kernel and by a tick-by-tick reference of the same semantics",
            "systems": systems["systems"],
            "jobs": systems["jobs"],
            "disagreements": systems["disagreements"],
            "checker_violations": systems["checker_violations"],
            **_made(systems),
        },
        "mutations": None
        if mutations is None
        else {
            "what": "Wrong rules put into the kernel on purpose, and noticed by the reference and the trace checker",
            "mutations": mutations["mutations"],
            "caught": mutations["caught"],
            **_made(mutations),
        },
    }


def _made(result: Row) -> Row:
    return {"commit": result["commit"], "made": result["made"]}


def _result(folder: Path | None, name: str) -> Row | None:
    if folder is None or not (folder / name).is_file():
        return None
    found: Row = json.loads((folder / name).read_text(encoding="utf-8"))
    return found
