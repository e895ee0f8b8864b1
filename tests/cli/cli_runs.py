"""The command line in processes of its own, and small recordings that the tests write themselves."""

from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from warm_start import Forked, WarmStart

from sensors.scene import ros2_messages
from sensors.scene.lidar import Sweep
from sensors.scene.mcap_file import McapFile

ROOT = Path(__file__).resolve().parents[2]
SHIPPED_LOG = ROOT / "replay_data" / "hazard_short.mcap"
QUAD_ORIN = ROOT / "examples" / "quad_orin.yaml"
RUN_FILES = {"report.html", "summary.json", "trace.npz", "trace.pftrace", "output.mcap", "manifest.json"}
EPOCH_NS = 1_700_000_000 * 10**9
#: No limit of the product: only so that a test that hangs ends.
HANG_S = 300


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


_warm: WarmStart | None = None


def _warm_start() -> WarmStart | None:
    """What starts commands in this environment; None in one that a test has changed."""
    global _warm
    here = _environment()
    if _warm is None:
        _warm = WarmStart(here)
        atexit.register(_warm.close)
    return _warm if _warm.environment == here else None


def _environment() -> dict[str, str]:
    ours = {"PYTHONPATH": str(ROOT), "COLUMNS": "400", "NO_COLOR": "1"}
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | ours


class Cli:
    """Runs rt-sched from `folder`, as its console script would.

    A call is forked off a process that has loaded everything. What starts anew each time is what a test gives another
    environment, or calls `anew`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *arguments: object, prelude: str = "", anew: bool = False) -> subprocess.Popen[str] | Forked:
        """A running command in a process group of its own; `prelude` is Python that runs before it."""
        warm = None if anew else _warm_start()
        if warm is not None:
            return warm.started([*map(str, arguments)], self.folder, prelude)
        program = f"{prelude}\nfrom rt_sched.cli import main\nmain()"
        return subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            cwd=self.folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __call__(
        self,
        *arguments: object,
        code: int | None = 0,
        prelude: str = "",
        anew: bool = False,
    ) -> Ended:
        """Runs a command to its end. `code`: the exit code that it must have, None for any; `prelude` as of `start`."""
        warm = None if anew else _warm_start()
        if warm is None:
            with self.start(*arguments, prelude=prelude, anew=True) as process:
                out, err = process.communicate(timeout=HANG_S)
            ended = Ended(process.returncode, out, err)
        else:
            ended = Ended(*warm.run([*map(str, arguments)], self.folder, HANG_S, prelude))
        assert "Traceback" not in ended.err, ended.err
        assert code is None or ended.code == code, f"exit code {ended.code}: {ended.err}{ended.out}"
        return ended

    def into(self, out: int, err: int, *arguments: object) -> int:
        """The exit code of a command that writes into two open descriptors."""
        warm = _warm_start()
        assert warm is not None
        return warm.run_into([*map(str, arguments)], self.folder, (out, err), HANG_S)


@dataclass(frozen=True)
class Run:
    """A run folder and how the command that wrote it ended."""

    folder: Path
    ended: Ended

    def read(self, name: str) -> dict[str, Any]:
        document = json.loads((self.folder / name).read_text(encoding="utf-8"))
        assert isinstance(document, dict)
        return document

    @property
    def summary(self) -> dict[str, Any]:
        return self.read("summary.json")

    @property
    def hashes(self) -> tuple[str, str]:
        manifest = self.read("manifest.json")
        return manifest["schedule_sha256"], manifest["outputs_sha256"]


def by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["name"]: row for row in rows}


def write_log(
    path: Path,
    *,
    seconds: float,
    cameras: Mapping[str, Fraction | int] | None = None,
    lidars: Mapping[str, Fraction | int] | None = None,
    imus: Mapping[str, Fraction | int] | None = None,
    chunk_bytes: int = 1 << 20,
    broken_every: int = 0,
) -> Path:
    """A recording with topics at the given rates in Hz, logged 2 ms after capture, or whole microseconds more.

    `broken_every`: of each topic, every such message ends half-way; 0 for none.
    """
    random = np.random.default_rng(3)
    streams = []
    for kind, schema, topics in (
        ("camera", ros2_messages.IMAGE, cameras or {}),
        ("lidar", ros2_messages.CLOUD, lidars or {}),
        ("imu", ros2_messages.IMU, imus or {}),
    ):
        streams += [(kind, schema, topic, Fraction(rate)) for topic, rate in topics.items()]
    messages = []
    for place, (kind, _, topic, rate) in enumerate(streams):
        for number in range(math.ceil(seconds * rate)):
            stamp_ns = EPOCH_NS + int(number * 10**9 / rate)
            data = _payload(kind, stamp_ns, random)
            if broken_every and number % broken_every == broken_every - 1:
                data = data[: len(data) // 2]
            messages.append((stamp_ns + 2_000_000 + 1_000 * place, topic, stamp_ns, data))
    with path.open("wb") as stream:
        file = McapFile(stream, chunk_bytes=chunk_bytes, zstd_level=1)
        for _, schema, topic, _ in streams:
            file.add_channel(topic, schema, ros2_messages.definition_of(schema))
        for log_ns, topic, stamp_ns, data in sorted(messages, key=lambda message: message[:2]):
            file.add_message(topic, data, log_time_ns=log_ns, publish_time_ns=stamp_ns)
        file.finish()
    return path


def _payload(kind: str, stamp_ns: int, random: np.random.Generator) -> bytes:
    """Every picture differs and every sweep shows something ahead, or the backup path refuses them."""
    if kind == "camera":
        _, jpeg = cv2.imencode(".jpg", random.integers(0, 255, (48, 64, 3), np.uint8))
        return ros2_messages.image_message(stamp_ns, "cam", jpeg.tobytes())
    if kind == "imu":
        return ros2_messages.imu_message(stamp_ns, "imu", random.normal(0, 0.1, 3), np.array([0, 0, 9.8]), 0.1, 0.1)
    points = 1500
    sweep = Sweep(
        xyz_m=random.uniform(-20, 20, (points, 3)).astype(np.float32),
        time_offset_ns=np.zeros(points, np.int32),
        ring=np.zeros(points, np.uint16),
        intensity=np.zeros(points, np.uint8),
        surface=np.full(points, -2),
    )
    return ros2_messages.cloud_message(stamp_ns, "lidar", sweep)
