"""Task set files: what they become, and every mistake with its line and column."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rt_sched.config import load_task_set
from rt_sched.errors import AnalysisNotApplicable, ConfigError
from rt_sched.model import ArrivalCurve, Policy
from rt_sched.record.job_set import job_set_text

POET = """\
scheduling policy: FP
preemption model: NP
task set:
  - id: 1
    worst-case execution time: 3
    period: 10
    deadline: 9
    priority: 2
  - id: 2
    worst-case execution time: 2
    min interarrival: 20
    deadline: 40
    priority: 2
  - {id: 3, worst-case execution time: 1, arrival curve: [30, [[1, 2], [5, 3]]], deadline: 30, priority: 1}
"""
CSV = """\
# made by hand
name, wcet_us, period (us), deadline, min_interarrival, arrival_curve, priority, bcet, jitter, offset
a,    1.5,     10,          9us,      ,                 ,              5,        1us,  ,       3us

b,    2,       ,            40000,    20us,             ,              1,        ,     1us,
c,    1,       ,            30us,     ,                 "30; 1:2; 5:3",1,        ,     ,
"""


def written(folder: Path, text: str, name: str = "set.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_poet_files_are_read_as_they_are(tmp_path: Path) -> None:
    found = load_task_set(written(tmp_path, POET))
    assert (found.name, found.policy, found.preemptive) == ("set", Policy.FIXED_PRIORITY, False)
    first, second, third = found.tasks
    assert (first.name, first.wcet_ns, first.period_ns, first.deadline_ns, first.level) == ("1", 3, 10, 9, 0)
    assert (second.period_ns, second.separation_ns, second.level) == (None, 20, 0)
    assert (third.curve, third.level) == (ArrivalCurve(30, ((1, 2), (5, 3))), 1)


def test_units_scale_times_and_windows(tmp_path: Path) -> None:
    found = load_task_set(written(tmp_path, POET), unit_ns=1000)
    assert [task.wcet_ns for task in found.tasks] == [3000, 2000, 1000]
    # A window of 5 us sees the arrivals at five instants of the grid, so 4 us and 1 ns do.
    assert found.tasks[2].curve == ArrivalCurve(30_000, ((1, 2), (4001, 3)))


def test_csv_columns_may_have_units(tmp_path: Path) -> None:
    found = load_task_set(written(tmp_path, CSV, "set.csv"), policy="fp", preemption="non-preemptive")
    a, b, c = found.tasks
    assert (a.name, a.wcet_ns, a.bcet_ns, a.period_ns, a.deadline_ns, a.offset_ns) == (
        "a",
        1500,
        1000,
        10_000,
        9000,
        3000,
    )
    assert (b.separation_ns, b.deadline_ns, b.jitter_ns, b.bcet_ns) == (20_000, 40_000, 1000, 2000)
    assert c.curve == ArrivalCurve(30, ((1, 2), (5, 3)))
    assert [task.level for task in found.tasks] == [0, 1, 1]
    assert not found.preemptive


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(tmp_path: Path, separator: str) -> None:
    text = "task,c,t\nx,1,4\ny,2,8\n".replace(",", separator)
    found = load_task_set(written(tmp_path, text, "set.csv"), policy="edf")
    assert [(t.name, t.wcet_ns, t.period_ns, t.deadline_ns) for t in found.tasks] == [("x", 1, 4, 4), ("y", 2, 8, 8)]


PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")))
NAMES = st.text(st.sampled_from('ab",;:# '), min_size=1, max_size=8) | PRINTABLE


@settings(max_examples=80, deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=4), separator=st.sampled_from(",;\t"), always=st.booleans())
def test_names_in_quotes_are_read_as_other_programs_write_them(names: list[str], separator: str, always: bool) -> None:
    wanted = list(dict.fromkeys(name.strip()[:60] for name in names if name.strip()))
    assume(wanted and all(name.isprintable() and name.strip() == name for name in wanted))
    assume(always or not any(name.startswith("#") for name in wanted))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL)
    writer.writerow(("name", "wcet", "period"))
    writer.writerows((name, 1, 4 + place) for place, name in enumerate(wanted))
    with tempfile.TemporaryDirectory() as folder:
        found = load_task_set(written(Path(folder), text.getvalue(), "set.csv"), policy="edf")
    assert [(task.name, task.period_ns) for task in found.tasks] == list(zip(wanted, range(4, 99), strict=False))
    rows = list(csv.reader(job_set_text(found).splitlines(), skipinitialspace=True))
    assert {len(row) for row in rows} == {8}
    assert {int(row[0]) for row in rows[1:]} == set(range(1, len(wanted) + 1))


@pytest.mark.parametrize(
    ("line", "place"),
    [('"a, b,1,4', "2:1"), ('"a"b,1,4', "2:1"), ('a,"1,4', "2:3"), ('"two\nlines",1,4', "2:1"), ('"a""",1,"4', "2:9")],
)
def test_a_quote_without_its_end_is_a_mistake(tmp_path: Path, line: str, place: str) -> None:
    found = problems_of(written(tmp_path, f"name,wcet,period\n{line}\n", "set.csv"), policy="edf")
    assert any(one.startswith(f"{place} a quote that begins a cell must end it") for one in found), found


def test_policies_order_the_tasks(tmp_path: Path) -> None:
    path = written(tmp_path, POET)

    def levels(**orders: object) -> list[int]:
        return [task.level for task in load_task_set(path, **orders).tasks]  # type: ignore[arg-type]

    assert levels() == [0, 0, 1]
    assert levels(lowest_first=True) == [1, 1, 0]
    # The mean distance under the curve is 10, that of the first task too.
    assert levels(policy="rms") == [0, 1, 0]
    assert levels(policy="dm") == [0, 2, 1]
    assert load_task_set(path, policy="earliest-deadline-first", preemption="FP").policy is Policy.EDF
    with pytest.raises(AnalysisNotApplicable, match="unknown policy 'llf'; valid: fp, edf, fifo, rms, dm"):
        load_task_set(path, policy="llf")


def problems_of(path: Path, **orders: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_task_set(path, **orders)  # type: ignore[arg-type]
    return [f"{p.line}:{p.column} {p.message}" for p in caught.value.problems]


def test_every_mistake_of_a_yaml_file_at_once(tmp_path: Path) -> None:
    text = """\
scheduling policy: LLF
preemption model: limited-preemptive
speed: 2
task set:
  - {id: 1, worst-case execution time: 0, period: 10, priority: x}
  - {id: 1, worst-case execution time: 3, perod: 10, deadline: -4, priority: 1}
  - {id: 4, worst-case execution time: 1, period: 5, min interarrival: 6, deadline: 5, priority: 1}
  - {id: 5, worst-case execution time: 1, arrival curve: [4, [[2, 1]]], deadline: 5, priority: 1}
  - {id: 6, worst-case execution time: 1, arrival curve: [9, [[1, 1], [3, 1]]], priority: 1, bcet: 2}
  - {id: 7, worst-case execution time: 1, arrival curve: [9, 3], deadline: 0, offset: 1}
  - [1, 2]
"""
    found = problems_of(written(tmp_path, text))
    for wanted in (
        "1:20 unknown scheduling policy 'LLF'; valid: FP, EDF, FIFO",
        "2:19 the file has no lengths of regions",
        "3:1 unknown key 'speed'",
        "5:40 '0' must be at least 1ns",
        "5:65 expected a whole number as priority, found 'x'",
        "6:10 the task '1' stands twice, first in line 5",
        "6:43 unknown key 'perod'; did you mean 'period'?",
        "6:64 '-4' must be at least 1ns",
        "6:5 exactly one of period, min interarrival and arrival curve is needed, none is given",
        "7:5 exactly one of period, min interarrival and arrival curve is needed, 2 are given",
        "8:58 the first step is at length 2; it must be at 1",
        "9:58 lengths and jobs of the steps must both ascend",
        "9:5 a deadline is missing",
        "10:58 an arrival curve is [horizon, [[length, jobs], ...]]",
        "10:76 '0' must be at least 1ns",
        "11:5 a task is a mapping of keys to values, not a list",
    ):
        assert any(line.startswith(wanted) for line in found), (wanted, found)
    assert not any(line.startswith("10:5 ") for line in found)  # what is wrong is not also missing


def test_every_mistake_of_a_csv_file_at_once(tmp_path: Path) -> None:
    text = "name,wcet,period,colour,deadline,wcet\na,1,0,red,5\na,x,5,,5,1,2\n,,2\n"
    found = problems_of(written(tmp_path, text, "set.csv"), policy="fp")
    for wanted in (
        "1:18 unknown column 'colour'",
        "1:34 the column wcet stands twice",
        "2:5 '0' must be at least 1ns",
        "2:1 a priority is missing",
        "3:1 the task 'a' stands twice, first in line 2",
        "3:12 the line has 7 cells, the file 6 columns",
        "4:1 a worst-case execution time is missing",
    ):
        assert any(line.startswith(wanted) for line in found), (wanted, found)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("set.csv", "", "the file is empty"),
        ("set.csv", "name,wcet,period\n", "no task follows the names of the columns"),
        ("set.csv", "name,wcet,period\na,1,2\n", "no scheduling policy is given; use --policy"),
        ("set.yaml", "", "the file is empty"),
        ("set.yaml", "- 1\n", "a task set is a mapping of keys to values, not a list"),
        ("set.yaml", "policy: EDF\n", "the task set is missing"),
        ("set.yaml", "policy: EDF\ntask set: []\n", "the task set is empty"),
        ("set.yaml", "policy: EDF\ntask set: 3\n", "the task set is a list of tasks, not '3'"),
        ("set.yaml", "policy: EDF\ntask set: [{wcet: 2e9s, period: 5}]\n", "'2e9s' is above the limit of 2**60 ns"),
        ("set.yaml", "policy: EDF\ntask set: [{wcet: 1, separation: 5, offset: 1}]\n", "an offset is for a task with"),
        ("set.yaml", "policy: EDF\ntask set: [{wcet: 1 s t, period: 5}]\n", "'1 s t' is no time"),
        (
            "set.yaml",
            f"policy: EDF\ntask set: [{{wcet: 1, arrival curve: [{2**61 % 10**18}, [[1, 1], [{10**17}, 2]]], "
            "deadline: 5}]\n",
            "",
        ),
    ],
)
def test_what_cannot_be_a_task_set(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    path = written(tmp_path, text, name)
    if wanted:
        assert any(wanted in line for line in problems_of(path))
    else:
        load_task_set(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none.yaml") == ["0:0 there is no such file"]
    assert problems_of(tmp_path) == ["0:0 this is a folder, not a task set"]
    (tmp_path / "bytes.csv").write_bytes(b"name\xff")
    assert problems_of(tmp_path / "bytes.csv") == ["1:1 byte 0xff is not UTF-8 text"]
