"""Charts of recorded runs: what they show, where they are written, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rt_sched.app.chart import ChartRequest, chart_document, charted
from rt_sched.errors import ConfigError, DataError
from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow
from rt_sched.record.trace_file import TRACE_FILE, save_trace
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace

MS = 10**6


def recorded(folder: Path, horizon_ns: int = 100 * MS) -> Trace:
    """A run folder with a task of 2 in 10 ms before one of 9 in 20 ms; the second is late once in each period."""
    tasks = tuple(
        TaskRow(
            name,
            0,
            deadline_ms * MS,
            wcet_ms * MS,
            level,
            explicit_arrivals_ns=tuple(range(0, 100 * MS, every_ms * MS)),
        )
        for level, (name, every_ms, wcet_ms, deadline_ms) in enumerate((("quick", 10, 2, 10), ("slow", 20, 9, 12)))
    )
    simulation = Simulation(
        MachineInput((ProcessorRow("ecu.cpu", Policy.FIXED_PRIORITY, True),), (), tasks, (), horizon_ns=horizon_ns)
    )
    simulation.run()
    save_trace(simulation.trace(), folder / TRACE_FILE)
    return simulation.trace()


def test_a_window_tells_whose_jobs_ran_in_it_and_how_long(tmp_path: Path) -> None:
    recorded(tmp_path)
    request = ChartRequest(tmp_path, window="20ms..40ms")
    document = chart_document(request, charted(request)[0])
    assert (document["start_ns"], document["end_ns"], document["notes"]) == (20 * MS, 40 * MS, [])
    rows = {row["name"]: row for row in document["rows"]}
    assert [(name, row["jobs"], row["missed"], row["busy_ns"]) for name, row in rows.items()] == [
        ("quick", ["quick#2", "quick#3"], 0, 4 * MS),
        ("slow", ["slow#1"], 1, 9 * MS),
    ]


def test_what_cores_did_across_the_ends_of_the_window_counts_inside_only(tmp_path: Path) -> None:
    recorded(tmp_path)
    request = ChartRequest(tmp_path / TRACE_FILE, window="21ms..25ms", rows="processors")
    (row,) = chart_document(request, charted(request)[0])["rows"]
    assert row["busy_ns"] == 4 * MS


def test_without_a_window_the_longest_response_for_its_deadline_is_shown(tmp_path: Path) -> None:
    recorded(tmp_path)
    chart, title = charted(ChartRequest(tmp_path))
    assert "around slow#0" in title
    assert chart.start_ns == 0
    assert 13 * MS <= chart.end_ns < 20 * MS


@pytest.mark.parametrize(("ending", "begin"), [("svg", "<svg"), ("html", "<!doctype html>")])
def test_the_ending_of_the_file_decides_how_it_is_drawn(tmp_path: Path, ending: str, begin: str) -> None:
    recorded(tmp_path)
    file = tmp_path / f"chart.{ending}"
    charted(ChartRequest(tmp_path, window="0ms..50ms", output=file))
    text = file.read_text()
    assert text.startswith(begin)
    assert "slow" in text
    assert not list(tmp_path.glob("*.part"))


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        charted(ChartRequest(tmp_path, window="5ms", rows="cores", output=tmp_path / "chart.png"))
    words = [str(problem) for problem in caught.value.problems]
    assert len(words) == 3
    for expected in ("write TIME..TIME", "valid: tasks, processors", "must end in .svg or .html"):
        assert any(expected in one for one in words)


def test_a_window_behind_the_run_and_a_folder_without_a_trace_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no trace\.npz"):
        charted(ChartRequest(tmp_path))
    recorded(tmp_path)
    with pytest.raises(ConfigError, match="begins at or after the end of the run"):
        charted(ChartRequest(tmp_path, window="1s..2s"))


def test_a_run_in_which_nothing_responded_needs_a_window(tmp_path: Path) -> None:
    trace = recorded(tmp_path)
    jobs = replace(trace.jobs, finish_ns=trace.jobs.finish_ns * 0 - 1, status=trace.jobs.status * 0 + 4)
    save_trace(replace(trace, jobs=jobs), tmp_path / TRACE_FILE)
    with pytest.raises(DataError, match="say what to show with --window"):
        charted(ChartRequest(tmp_path))
