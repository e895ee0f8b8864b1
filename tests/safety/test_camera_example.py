"""The system with a camera and no LiDAR in docs/safety.md: it loads, and its paths share what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.safety_path import shared_document
from rt_sched.config import load_system

ROOT = Path(__file__).resolve().parents[2]


def test_the_documented_system_loads_and_shares_what_the_page_says(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"```yaml\n(rt_sched: 1.*?)```", (ROOT / "docs" / "safety.md").read_text(encoding="utf-8"), re.DOTALL
    )
    path = tmp_path / "camera_only.yaml"
    path.write_text(text, encoding="utf-8")
    shared = shared_document(load_system(path, stages=ImportedStages()), ImportedStages())
    assert shared is not None
    assert (shared["tasks"], shared["stages"], shared["modules"]) == ([], [], [])
    assert shared["message_types"] == ["Command", "EncodedImage"]
    assert (shared["sensors"], shared["devices"]) == (["front"], ["orin"])
