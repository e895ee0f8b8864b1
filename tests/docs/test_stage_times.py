"""The benchmark of stage times runs, and its pictures are SVG with every stage in it."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "stages"))

from plot import Series, line_plot  # noqa: E402


def test_the_benchmark_gives_a_figure_and_a_curve_for_each_stage(tmp_path):
    command = [sys.executable, "benchmarks/stage_times.py", "--only", "imu", "lidar", "--repeat", "1", "--json"]
    ended = subprocess.run([*command, "--plots", tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    document = json.loads(ended.stdout)
    assert document["schema"] == "rt-sched/stage-times/1"
    figures = document["figures"]
    assert {f["stage"] for f in figures} == {"integrate", "preprocess", "preprocess with deskew", "cluster"}
    assert all(f["cpu_ms"] > 0 and f["jobs"] >= 1 for f in figures)
    for group in ("imu", "lidar"):
        drawn = ElementTree.parse(tmp_path / f"stage-times-{group}.svg").getroot()  # noqa: S314  (made above)
        words = {e.text for e in drawn.iter() if e.tag.endswith("text")}
        assert {f["stage"] for f in figures if f["group"] == group} <= words


@pytest.mark.parametrize("highest", [0.0, 0.003, 0.7, 1.0, 6.0, 61.0, 121_367.0])
def test_a_plot_holds_all_its_points(highest):
    text = line_plot("title", "x", "y", [Series("a", ((0.0, 0.0), (highest, highest / 3)))])
    drawn = ElementTree.fromstring(text)  # noqa: S314  (made above)
    width, height = float(drawn.get("width")), float(drawn.get("height"))
    circles = [e for e in drawn.iter() if e.tag.endswith("circle")]
    assert len(circles) == 2
    assert all(0 < float(c.get("cx")) < width - 180 and 30 < float(c.get("cy")) < height for c in circles)


def test_the_pictures_of_the_docs_are_there():
    page = (ROOT / "docs" / "lidar-and-imu.md").read_text()
    for group in ("lidar", "camera", "objects", "imu"):
        name = f"plots/stage-times-{group}.svg"
        assert name in page
        ElementTree.parse(ROOT / "docs" / name)  # noqa: S314  (our own)
