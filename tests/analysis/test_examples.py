"""The worked cases in examples/analysis: every number, by the path of the command and by plain recurrences."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import textbook

from rt_sched.app.analyze.job import TaskSetRequest, analysed_system, analysed_task_set, analysis_document
from rt_sched.app.explain.job import explained_set_task
from rt_sched.app.explain.text import explanation_text
from rt_sched.config import load_task_set
from rt_sched.model import Policy
from rt_sched.units import format_ns

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "analysis"
ROWS = list(csv.DictReader((FOLDER / "expected.csv").read_text(encoding="utf-8").splitlines()))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
CASES = list(dict.fromkeys((row["file"], row["policy"]) for row in ROWS))


def document(file: str, policy: str) -> dict[str, Any]:
    path = FOLDER / file
    if path.suffix == ".csv" or "task set:" in path.read_text(encoding="utf-8"):
        request = TaskSetRequest(str(path), policy or None)
        return analysis_document(analysed_task_set(request, request.load(), None))
    return analysis_document(analysed_system(str(path), policy or None, None))


@pytest.mark.parametrize(("file", "policy"), CASES)
def test_every_bound_is_the_expected_one(file: str, policy: str) -> None:
    found = {task["name"]: task for task in document(file, policy)["tasks"]}
    wanted = [row for row in ROWS if (row["file"], row["policy"]) == (file, policy)]
    assert [(row["task"], row["bound"], row["verdict"]) for row in wanted] == [
        (row["task"], format_ns(found[row["task"]]["response_bound_ns"]), found[row["task"]]["verdict"])
        for row in wanted
    ]
    if not policy:
        assert [row["task"] for row in wanted] == list(found)


@pytest.mark.parametrize(
    "file", ["burns_wellings.yaml", "lehoczky_1990.yaml", "can_2007.yaml", "spuri_1996.yaml", "edf_demand.yaml"]
)
def test_plain_recurrences_agree(file: str) -> None:
    task_set = load_task_set(FOLDER / file)
    tasks = [textbook.Task(t.wcet_ns, t.period_ns or t.separation_ns or 0, t.deadline_ns) for t in task_set.tasks]
    expected = [int(row["bound"][:-2]) for row in ROWS if row["file"] == file and not row["policy"]]
    if task_set.policy is Policy.EDF:
        found = [textbook.edf_response(i, tasks, task_set.preemptive) for i in range(len(tasks))]
    elif task_set.preemptive:
        found = [textbook.fp_preemptive(i, tasks) for i in range(len(tasks))]
    else:
        found = [textbook.fp_non_preemptive(i, tasks) for i in range(len(tasks))]
    assert found == expected


def test_the_walk_through_names_every_case_and_shows_what_is_printed() -> None:
    assert set(re.findall(r"\[([\w.]+)\]\(\1\)", README)) - {"expected.csv"} == {row["file"] for row in ROWS}
    blocks = re.findall(
        r"\$ rt-sched explain (\w+) --taskset (\S+)\n\n<!-- shown: (.+?) -->\n```\n(.*?)```", README, re.DOTALL
    )
    assert blocks
    for task, file, heading, shown in blocks:
        text = explanation_text(explained_set_task(task, TaskSetRequest(str(FOLDER / Path(file).name))))
        assert text.split(heading + "\n")[1].split("\n\n")[0] == shown.rstrip("\n")


def test_the_load_alone_proves_the_first_case() -> None:
    (processor,) = document("liu_layland.csv", "rms")["processors"]
    tests = {test["name"]: test["verdict"] for test in processor["tests"]}
    assert (tests["liu_layland"], tests["hyperbolic"]) == ("schedulable", "schedulable")
    assert processor["load_exact"] == "13/20"
