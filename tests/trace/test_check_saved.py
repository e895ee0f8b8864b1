"""A trace saved and loaded is the same trace; anything else is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from kernel_systems import ALL_FEATURES, random_system
from takeover_systems import takeover_system

from rt_sched.errors import DataError
from rt_sched.record.trace_file import load_trace, save_trace
from rt_sched.sim import Simulation
from rt_sched.trace import Trace, schedule_sha256

_TABLES = ("jobs", "slices", "drops", "samples", "transfers", "events")


def traced(seed: int) -> Trace:
    simulation = Simulation(takeover_system(seed) if seed % 4 == 3 else random_system(seed, ALL_FEATURES))
    simulation.run()
    return simulation.trace()


def test_loads_what_was_saved(tmp_path: Path) -> None:
    for seed in range(60):
        trace = traced(seed)
        save_trace(trace, tmp_path / "trace.npz")
        loaded = load_trace(tmp_path / "trace.npz")
        assert loaded.setup == trace.setup
        assert (loaded.edges, loaded.horizon_ns, loaded.seed) == (trace.edges, trace.horizon_ns, trace.seed)
        assert schedule_sha256(loaded) == schedule_sha256(trace)
        for table in _TABLES:
            for column in fields(getattr(trace, table)):
                kept, read = getattr(getattr(trace, table), column.name), getattr(getattr(loaded, table), column.name)
                assert kept.dtype == read.dtype
                np.testing.assert_array_equal(kept, read)


def test_keeps_a_trace_without_setup(tmp_path: Path) -> None:
    save_trace(replace(traced(0), setup=None), tmp_path / "trace.npz")
    assert load_trace(tmp_path / "trace.npz").setup is None


def test_refuses_what_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    with pytest.raises(DataError, match=r"trace\.npz: cannot be read \(No such file"):
        load_trace(path)
    for content in (b"", b"not an archive", b"PK\x03\x04 broken"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"trace\.npz: is not a trace that rt-sched wrote"):
            load_trace(path)


def rewritten(path: Path, change: dict[str, object], drop: tuple[str, ...] = ()) -> None:
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name not in drop}
    header = json.loads(arrays.pop("header").tobytes()) | change
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)


def test_refuses_another_schema_and_missing_columns(tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    save_trace(traced(1), path)
    rewritten(path, {"schema": "rt-sched/trace/99"})
    with pytest.raises(DataError, match=r"holds rt-sched/trace/99; this version reads rt-sched/trace/1"):
        load_trace(path)
    save_trace(traced(1), path)
    rewritten(path, {}, drop=("jobs.task",))
    with pytest.raises(DataError, match=r"is damaged \(KeyError"):
        load_trace(path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    save_trace(traced(2), path)
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:length])
        with pytest.raises(DataError):
            load_trace(path)
