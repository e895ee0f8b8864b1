"""Makes the recordings, their ground truth and the manifest of this folder; `--check` compares instead of writing.

    python replay_data/make.py            write everything anew
    python replay_data/make.py --check    make everything in a temporary folder, compare with the manifest's hashes

Needs the repository's packages (run from the virtual environment that `make install` prepares).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from rt_sched.errors import RtSchedError  # noqa: E402
from rt_sched.units import NS_PER_S  # noqa: E402
from sensors.scene.catalogue import SCENES, build_world, expected  # noqa: E402
from sensors.scene.rig import quad_orin_rig  # noqa: E402
from sensors.scene.truth import truth_frames, truth_head, write_truth  # noqa: E402
from sensors.scene.writer import EPOCH_NS, write_scene  # noqa: E402

SEED = 1
DURATION_S = 4.0
SHORT_DURATION_S = 0.8
SHORT_CAMERAS = ("front_wide", "front_standard", "rear")
#: Packages whose versions decide about bytes.
PINNED = ("numpy", "numba", "opencv-python-headless", "mcap", "rosbags", "zstandard")
LICENCE = "Apache-2.0"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="make in a temporary folder and compare hashes")
    arguments = parser.parse_args()
    try:
        return check() if arguments.check else write()
    except RtSchedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def write() -> int:
    """Write all files into this folder."""
    manifest = make(HERE)
    (HERE / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    for entry in manifest["files"]:
        print(f"{entry['name']}  {entry['size_bytes']} bytes  {entry['sha256']}")
    return 0


def check() -> int:
    """Compare a fresh production with the manifest; 1 when a file came out differently."""
    manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder))
    fresh = {entry["name"]: entry["sha256"] for entry in made["files"]}
    different = [entry["name"] for entry in manifest["files"] if fresh.get(entry["name"]) != entry["sha256"]]
    for entry in manifest["files"]:
        print(f"{entry['name']}  {'DIFFERENT' if entry['name'] in different else 'identical'}")
    if different:
        for name, pinned in manifest["versions"].items():
            if made["versions"].get(name) != pinned:
                print(f"made with {name} {pinned}, here {made['versions'].get(name)}", file=sys.stderr)
    return 1 if different else 0


def make(folder: Path) -> dict[str, Any]:
    """Write the recordings and the truth into `folder`; returns the manifest."""
    scene, rig = SCENES["hazard"], quad_orin_rig()
    world = build_world(scene, duration_s=DURATION_S)
    full = write_scene(world, rig, folder / "hazard.mcap", duration_s=DURATION_S, seed=SEED)
    short = write_scene(
        world, rig, folder / "hazard_short.mcap", duration_s=SHORT_DURATION_S, cameras=SHORT_CAMERAS, seed=SEED
    )
    truth_path = folder / "hazard_truth.json"
    span: dict[str, int] = {"epoch_ns": EPOCH_NS, "duration_ns": int(DURATION_S * NS_PER_S)}
    head = truth_head(world, **span, expected=expected(scene, world), conditions=scene.conditions)
    write_truth(truth_path, head, truth_frames(world, rig, **span))
    recorded = f"sensors.scene.write_scene of the scene hazard with rig.quad_orin_rig(), seed {SEED}"
    return {
        "schema": "rt-sched-replay-data/1",
        "made_by": "python replay_data/make.py",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PINNED},
        "files": [
            {
                "name": full.path.name,
                "sha256": full.sha256,
                "size_bytes": full.size_bytes,
                "licence": LICENCE,
                "how": f"{recorded}, {DURATION_S} s",
                "duration_ns": full.duration_ns,
                "messages": full.messages,
            },
            {
                "name": short.path.name,
                "sha256": short.sha256,
                "size_bytes": short.size_bytes,
                "licence": LICENCE,
                "how": f"{recorded}, first {SHORT_DURATION_S} s, cameras {', '.join(SHORT_CAMERAS)}",
                "duration_ns": short.duration_ns,
                "messages": short.messages,
            },
            {
                "name": truth_path.name,
                "sha256": hashlib.sha256(truth_path.read_bytes()).hexdigest(),
                "size_bytes": truth_path.stat().st_size,
                "licence": LICENCE,
                "how": "sensors.scene.truth.write_truth of the same world and rig; for evaluation, read by no stage",
            },
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
