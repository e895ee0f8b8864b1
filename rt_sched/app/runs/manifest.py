"""What a run was made from: enough to make it again and to see what differed when it comes out differently."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from rt_sched import __version__
from rt_sched.app.runs.folder import MANIFEST_SCHEMA
from rt_sched.ports import Recording

_PACKAGES = ("numpy", "numba", "onnxruntime", "opencv-python-headless", "mcap", "rosbags")


def make_manifest(
    *,
    inputs: Sequence[tuple[str, Path]],
    command: str,
    options: Mapping[str, Any],
    schedule_sha256: str,
    outputs_sha256: str,
) -> dict[str, Any]:
    """`inputs`: pairs of the path as given and the file. `options`: seed, policy, clock, tier and the like."""
    return {
        "schema": MANIFEST_SCHEMA,
        "command": command,
        "inputs": [{"path": given, "sha256": file_sha256(path)} for given, path in inputs],
        "versions": versions(),
        "machine": machine(),
        **options,
        "schedule_sha256": schedule_sha256,
        "outputs_sha256": outputs_sha256,
    }


def run_inputs(
    log: str, recording: Recording, system: str | None, system_path: Path | None, plan: Path | None
) -> list[tuple[str, Path]]:
    """The files of a replay, as given and where they lie: the recording, and system and plan where they are named."""
    files = [Path(file) for file in recording.files]
    return [
        *([(log, files[0])] if len(files) == 1 else [(str(Path(log) / file.name), file) for file in files]),
        *([(system, system_path)] if system and system_path else []),
        *([(str(plan), plan)] if plan else []),
    ]


def file_sha256(*paths: Path) -> str:
    """Hash of a file's bytes; of several, of all their bytes one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Of this program, Python and the packages that results depend on."""
    found = {"rt-sched": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """`cpu_features_sha256`: floating-point results agree where the feature set does."""
    model, flags = platform.processor() or platform.machine(), ""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            elif key.strip() in ("flags", "Features"):
                flags = " ".join(sorted(value.split()))
    except OSError:
        pass
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": model,
        "cpus": os.cpu_count(),
        "cpu_features_sha256": hashlib.sha256(flags.encode()).hexdigest(),
    }
