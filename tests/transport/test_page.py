"""The page on messages between processes, and the benchmark that it quotes."""

import importlib
import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def test_its_examples_run():
    page = (ROOT / "docs" / "transport.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3

    class Clock:
        now_ns = staticmethod(time.monotonic_ns)

    names = {"np": np, "clock": Clock, "capture_ns": 7}
    for block in blocks[:2]:
        exec(block, names)  # noqa: S102
    del names["frame"]
    names["message"] = None
    exec(blocks[2], names)  # noqa: S102
    assert names["message"].stamp_ns == 7
    names["segment"].close()


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("transport")


def test_the_benchmark_measures_what_is_installed_and_names_what_is_not(benchmark, monkeypatch, capsys):
    cases = (benchmark.Case("64 B", 64, 500, 20, 5), benchmark.Case("in place", 4096, 200, 20, 5, in_place=True))
    monkeypatch.setattr(benchmark, "CASES", cases)
    monkeypatch.setattr(benchmark, "PEERS", {"ring": None, "pipe": None, "not_there": "some-distribution"})
    monkeypatch.setattr(sys, "argv", ["transport.py", "--rounds", "1", "--json"])
    benchmark.main()
    document = json.loads(capsys.readouterr().out)
    assert {(row["case"], row["transport"]) for row in document["results"]} == {
        ("64 B", "rt-sched"),
        ("64 B", "pipe"),
        ("in place", "rt-sched"),
    }
    assert all(0 < row["p50_ns"] <= row["p99_ns"] <= row["max_ns"] for row in document["results"])
    assert [ratio["what"] for ratio in document["ratios"]] == [
        "p50 of rt-sched, 64 B, over pipe, 64 B",
        "p50 of rt-sched, in place, over rt-sched, 64 B",
    ]
    assert document["missing"] == ["some-distribution is not measured: No module named 'transports.not_there'"]
    assert "64 B" in benchmark.table(document)
