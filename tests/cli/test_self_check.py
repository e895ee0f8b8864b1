"""Every run checks itself: an input that breaks an assumption, and an analysis that is wrong, are told apart."""

from __future__ import annotations

#: Makes every bound on a response a fiftieth of what it is, terms and all.
SHRUNK = """
import importlib
from dataclasses import replace

analysis = importlib.import_module("rt_sched.analysis.analyze")
right = analysis.analyze_mode

def shrunk(bound):
    part = replace(bound.terms[0], value_ns=bound.value_ns // 50)
    return replace(bound, value_ns=part.value_ns, terms=(part,))

def wrong(*loads, **options):
    result = right(*loads, **options)
    return replace(result, tasks=tuple(replace(task, bound=shrunk(task.bound)) for task in result.tasks))

analysis.analyze_mode = wrong
"""


def test_a_bound_that_is_wrong_makes_the_replay_fail_and_names_the_job(cli, logs):
    summary = cli("replay", logs / "imu.mcap", "-o", "run", "--json", prelude=SHRUNK, anew=True, code=1).document
    assert summary["status"] == "bound_violated"
    assert all(one["holds"] for one in summary["monitors"])
    first = summary["bounds_exceeded"][0]
    assert first["value_ns"] > first["bound_ns"]
    assert f"{first['who']} #{first['number']}" in summary["reason"]


def test_a_sensor_that_is_faster_than_declared_is_named_with_its_sample(cli, tmp_path, logs):
    cli("init", logs / "imu.mcap", "-o", "imu.yaml")
    path = tmp_path / "imu.yaml"
    text = path.read_text()
    assert "rate: 100Hz" in text
    path.write_text(text.replace("rate: 100Hz", "rate: 90Hz"))
    summary = cli("replay", logs / "imu.mcap", "--system", "imu.yaml", "-o", "run", "--json", code=3).document
    assert summary["status"] == "assumption_violated"
    assert "sensor_rate broke" in summary["reason"]
    (row,) = [one for one in summary["monitors"] if one["assumption"] == "sensor_rate"]
    first = row["first"][0]
    assert first["value_ns"] > first["limit_ns"]
    assert f"first {first['who']} #{first['number']} at" in summary["reason"]
    assert summary["reason"].split(": ")[1].startswith(first["evidence"])
