"""`analyze` from the command line: verdicts, exit codes, the document, task sets, and what is not imported."""

from __future__ import annotations

import json

import pytest
from cli_runs import ROOT, Cli

NOT_NEEDED = ("onnxruntime", "cv2", "cyclonedds", "ray", "rosbags", "mcap", "perfetto", "jinja2", "ortools")
REPORT = f"""
import atexit, json, sys
atexit.register(lambda: sys.stderr.write(json.dumps([name for name in {NOT_NEEDED!r} if name in sys.modules])))
"""
FINE = "scheduling policy: FP\ntask set:\n  - {id: a, wcet: 1, period: 4, priority: 2}\n"
LATE = FINE + "  - {id: b, wcet: 3, period: 9, deadline: 3, priority: 1}\n"
OVERLOADED = FINE + "  - {id: b, wcet: 9, min interarrival: 9, priority: 1}\n"


def test_the_example_is_schedulable_and_needs_no_heavy_library(cli: Cli) -> None:
    ended = cli("analyze", "quad_orin", "--json", prelude=REPORT, anew=True)
    document = ended.document
    assert (ended.code, json.loads(ended.err), document["verdict"]) == (0, [], "schedulable")
    assert document["schema"] == "rt-sched/analysis/1"
    assert [mode["verdict"] for mode in document["modes"]] == ["schedulable"]
    for task in document["tasks"]:
        assert sum(term["value_ns"] for term in task["terms"]) == task["response_bound_ns"] <= task["deadline_ns"]
        assert task["source"]
        assert task["processor"].startswith(task["pe"])
    named = {name for one in document["assumptions"] for name in one["tasks"]}
    assert {task["name"] for task in document["tasks"]} <= named
    assert {chain["name"] for chain in document["chains"]} >= {"brake_lidar", "brake_backup"}


def test_the_verdict_is_the_first_line(cli: Cli) -> None:
    ended = cli("analyze", ROOT / "examples" / "quad_orin.yaml", "-o", "found.json")
    assert ended.out.startswith("schedulable  quad_orin, policy rms: ")
    assert json.loads((cli.folder / "found.json").read_text())["verdict"] == "schedulable"


@pytest.mark.parametrize(
    ("text", "code", "verdict"),
    [(FINE, 0, "schedulable"), (LATE, 1, "unschedulable"), (OVERLOADED, 1, "unschedulable")],
)
def test_exit_codes_of_task_sets(cli: Cli, text: str, code: int, verdict: str) -> None:
    (cli.folder / "set.yaml").write_text(text)
    ended = cli("analyze", "--taskset", "set.yaml", "--json", code=code)
    assert ended.document["verdict"] == verdict
    shown = cli("analyze", "--taskset", "set.yaml", code=code).out
    assert shown.startswith(verdict)
    if code == 1:
        witness = next(task["witness"] for task in ended.document["tasks"] if task["verdict"] == "unschedulable")
        assert witness["finish_ns"] is None or witness["finish_ns"] > witness["deadline_ns"]
        assert "a legal run misses" in shown


def test_what_is_not_known_is_exit_3(cli: Cli) -> None:
    """A method that refuses says what would apply."""
    (cli.folder / "set.yaml").write_text(FINE)
    orders = ("--preemption", "non-preemptive", "--methods", "fp_curve_response_time")
    ended = cli("analyze", "--taskset", "set.yaml", *orders, code=3)
    assert ended.out.startswith("inconclusive")
    assert "no arrivals are given by a curve; fp_response_time would apply" in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either a system file or --taskset FILE"),
        (("quad_orin", "--taskset", "set.yaml"), "give either a system file or --taskset FILE"),
        (("quad_orin", "--policy", "llf"), "unknown policy 'llf'; valid: rms, dm, opa, edf"),
        (("quad_orin", "--methods", "guess"), "unknown method guess; there are: fp_response_time, "),
        (("quad_orin", "--methods", ","), "--methods names no method"),
        (("quad_orin", "--sag", "jobs.csv"), "is for a task set"),
        (("quad_orin", "--unit", "ms"), "is for a task set"),
        (("quad_orin", "--preemption", "none"), "is for a task set"),
        (("quad_orin", "--most-urgent", "lowest"), "is for a task set"),
        (("--taskset", "set.yaml", "--unit", "h"), "unknown unit 'h'; valid: ns, us, ms, s"),
        (("--taskset", "set.yaml", "--preemption", "some"), "unknown preemption model 'some'; valid: preemptive, non"),
        (("--taskset", "set.yaml", "--most-urgent", "some"), "highest or lowest, not 'some'"),
        (("--taskset", "set.yaml", "--sag", "none/jobs.csv"), "cannot be written (No such file or directory)"),
        (("--taskset", "none.yaml"), "there is no such file"),
        (("quad_orin", "-o", "none/found.json"), "cannot be written (No such file or directory)"),
    ],
)
def test_wrong_calls_are_exit_2(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    (cli.folder / "set.yaml").write_text(FINE)
    assert words in cli("analyze", *arguments, code=2).err


def test_units_scale_every_time(cli: Cli) -> None:
    (cli.folder / "set.csv").write_text("name,wcet,period,priority\na,1,4,1\nb,2,6,0\n")
    plain = cli("analyze", "--taskset", "set.csv", "--policy", "fp", "--json").document
    scaled = cli("analyze", "--taskset", "set.csv", "--policy", "fp", "--unit", "ms", "--json").document
    assert [task["response_bound_ns"] for task in plain["tasks"]] == [1, 3]
    assert [task["response_bound_ns"] for task in scaled["tasks"]] == [1_000_000, 3_000_000]


def test_the_jobs_of_a_hyperperiod_are_written(cli: Cli) -> None:
    (cli.folder / "set.csv").write_text("name,wcet,bcet,period,jitter,offset\na,2,1,4,1,\nb,2,,6,,1\n")
    cli("analyze", "--taskset", "set.csv", "--policy", "edf", "--sag", "jobs.csv")
    assert (cli.folder / "jobs.csv").read_text().splitlines() == [
        "Task ID, Job ID, Arrival min, Arrival max, Cost min, Cost max, Deadline, Priority",
        "1, 1, 0, 1, 1, 2, 4, 4",
        "1, 2, 4, 5, 1, 2, 8, 8",
        "1, 3, 8, 9, 1, 2, 12, 12",
        "2, 4, 1, 1, 2, 2, 7, 7",
        "2, 5, 7, 7, 2, 2, 13, 13",
    ]
