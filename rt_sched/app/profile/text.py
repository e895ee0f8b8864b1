"""A profile as the text of a profile file, and as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from rt_sched.app.plain_tables import plain_table
from rt_sched.config.profile_file import PROFILE_VERSION
from rt_sched.record.part_file import PartFile
from rt_sched.units import format_ms, format_ns

_BLOCKS = " ▁▂▃▄▅▆▇█"


def profile_text(document: Mapping[str, Any]) -> str:
    """The file: what `profile` in a system file reads, and beside it what it follows from."""
    lines = [
        f"# Made by {document['command']}",
        "# A system file reads it by: profile: THIS-FILE",
        f"rt_sched_profile: {PROFILE_VERSION}",
        f"system: {json.dumps(document['system'])}",
        f"measured_on: {json.dumps(document['measured_on'])}",
        f"rule: {json.dumps(document['rule'])}",
        f"x-measured-at: {document['measured_at']}",
        f"x-log: {{name: {json.dumps(document['log'])}, sha256: {document['log_sha256']}}}",
        f"x-system-sha256: {document['system_sha256']}",
        "tasks:",
    ]
    for row in document["tasks"]:
        quantiles = ", ".join(format_ns(value) for value in row["profile_ns"])
        lines += [
            f"  {row['name']}:",
            f"    bcet: {format_ns(row['bcet_ns'])}",
            f"    wcet: {format_ns(row['wcet_ns'])}",
            f"    profile: [{quantiles}]",
            f"    x-alone: {_flow(row['alone'], row['jobs'])}",
        ]
        if row["contended"] is not None:
            lines.append(f"    x-contended: {_flow(row['contended'], row['jobs'])}")
    return "\n".join(lines) + "\n"


def write_profile(document: Mapping[str, Any], path: Path) -> None:
    """Writes the file whole or not at all; raises DeploymentError."""
    with PartFile(path) as file, file.told():
        file.stream.write(profile_text(document).encode())


def print_profile(document: Mapping[str, Any], console: Console) -> None:
    """The table."""
    heads = ("jobs", "p50", "p99", "max", "busy p50", "busy max", "budget")
    table = plain_table("CPU time of a job (ms)", ("task",), (*heads, "all times"))
    for row in document["tasks"]:
        alone, contended = row["alone"], row["contended"] or {}
        table.add_row(
            *(
                row["name"],
                str(row["jobs"]),
                format_ms(alone["p50_ns"]),
                format_ms(alone["p99_ns"]),
                format_ms(alone["max_ns"]),
                format_ms(contended.get("p50_ns")),
                format_ms(contended.get("max_ns")),
                format_ms(row["wcet_ns"]),
                _drawn(row["histogram"]["counts"]),
            )
        )
    console.print(table)
    console.print(f"rule: {document['rule']}", soft_wrap=True)
    if document["not_measured"]:
        console.print(f"no job: {', '.join(document['not_measured'])}", soft_wrap=True)


def _flow(figures: Mapping[str, int], jobs: int) -> str:
    words = [f"{name.removesuffix('_ns')}: {format_ns(value)}" for name, value in figures.items()]
    return "{" + ", ".join([f"jobs: {jobs}", *words]) + "}"


def _drawn(counts: Sequence[int]) -> str:
    most = max(counts, default=0) or 1
    return "".join(_BLOCKS[-(-count * (len(_BLOCKS) - 1) // most)] for count in counts)
