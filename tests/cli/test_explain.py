"""`explain` from the command line."""

from __future__ import annotations

import pytest
from cli_runs import Cli

CAN = """\
scheduling policy: FP
preemption model: NP
task set:
  - {id: a, wcet: 10, period: 25, priority: 3}
  - {id: b, wcet: 10, period: 35, priority: 2}
  - {id: c, wcet: 10, period: 35, deadline: 30, priority: 1}
"""


def test_every_window_is_shown_with_its_numbers(cli: Cli) -> None:
    (cli.folder / "can.yaml").write_text(CAN)
    shown = cli("explain", "c", "--taskset", "can.yaml").out
    assert shown.startswith("c on set.core.0, mode nominal: response at most 35ns > deadline 30ns\n")
    assert "job 0 arrives at 0ns; its last region begins: 20ns; ends at 30ns" in shown
    assert "job 1 arrives at 35ns; its last region begins: 30ns -> 40ns -> 50ns -> 60ns; ends at 70ns" in shown
    assert "response 70ns - 35ns = 35ns  <- the worst" in shown
    assert "interference (a): 30ns = 3 x 10ns" in shown
    assert "unschedulable: a legal run misses" in shown


def test_blocking_names_who_blocks(cli: Cli) -> None:
    (cli.folder / "can.yaml").write_text(CAN)
    shown = cli("explain", "b", "--taskset", "can.yaml").out
    assert "c, less urgent, may have begun 1ns before and goes on for 9ns" in shown
    assert "non preemptive region (c): 9ns" in shown


def test_edf_shows_the_arrivals_around_the_worst(cli: Cli) -> None:
    (cli.folder / "set.csv").write_text("name,wcet,period,deadline\na,1,5,5\nb,6,10,9\n")
    document = cli("explain", "b", "--taskset", "set.csv", "--policy", "edf", "--json").document
    jobs = document["derivation"]["jobs"]
    assert max(job["response_ns"] for job in jobs) == document["response_bound_ns"] == 7
    assert len(jobs) > 1


@pytest.mark.parametrize("task", ["infer_front_wide", "fuse", "arbiter"])
def test_tasks_of_a_system(cli: Cli, task: str) -> None:
    document = cli("explain", task, "quad_orin", "--json").document
    assert document["schema"] == "rt-sched/explanation/1"
    assert max(job["response_ns"] for job in document["derivation"]["jobs"]) == document["response_bound_ns"]
    assert sum(term["value_ns"] for term in document["terms"]) == document["response_bound_ns"]
    assert document["assumptions"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fusion", "quad_orin"), "unknown task or chain 'fusion'; did you mean"),
        (("fuse",), "give either a system file or --taskset FILE"),
        (("fuse", "quad_orni"), "there is no such file; unknown name 'quad_orni'; did you mean 'quad_orin'? valid: "),
        (("fuse", "quad_orin", "--mode", "limp"), "unknown mode 'limp'; valid: nominal"),
        (("fuse", "quad_orin", "--policy", "x"), "unknown policy 'x'"),
    ],
)
def test_wrong_calls_are_exit_2(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    assert words in cli("explain", *arguments, code=2).err


def test_what_has_no_bound_is_explained_by_its_reasons(cli: Cli) -> None:
    (cli.folder / "full.csv").write_text("name,wcet,period,jitter\na,2,4,1\nb,3,6,0\n")
    shown = cli("explain", "a", "--taskset", "full.csv", "--policy", "edf").out
    assert shown.startswith("a on set.core.0, mode nominal: no bound on the response was found\n")
    assert "inconclusive: the busy window did not end within the limits" in shown
    assert "for other situations: edf_curve_response_time, " in shown
    assert "refuses" not in shown
