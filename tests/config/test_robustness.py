"""Whatever stands in a file: a System or a ConfigError with places inside the file, never another exception."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rt_sched.config import load_system, load_system_text
from rt_sched.errors import ConfigError
from rt_sched.model import System

VALID = (Path(__file__).parent / "valid.yaml").read_text()
FILES = [VALID, (Path(__file__).parent / "valid_full.yaml").read_text()]
WORDS = sorted({word for text in FILES for word in text.translate(dict.fromkeys(map(ord, "{}[],:"), " ")).split()})
ODD = [
    "", "~", "null", "true", "-1", "0", "1e999", "1e999ms", ".nan", ".inf", "[]", "{}", "[[", "}", ":", "- ", "? ",
    "*a", "&a ", "<<: ", "!!set ", "!x ", "'", '"', "|", ">", "%", "@", "`", "\t", "\0", "\x85", "\u2028", "\ufeff",
    "\ud800", "0x", "0o9", "1_0", "_", "9" * 5000, "1/0Hz", "1e-999Hz", "--- ", "...", "#", "x" * 300, "é", "ms",
    "30 Hz", "1:2",
]  # fmt: skip


def _check(text: str, stages) -> None:
    try:
        system = load_system_text(text, file_name="f.yaml", base_dir=".", stages=stages)
    except ConfigError as error:
        assert error.problems
        lines = text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + 2
        for problem in error.problems:
            assert 0 <= problem.line <= lines
            assert problem.message
            assert "\n" not in str(problem)
    else:
        assert isinstance(system, System)
        assert all(task.deadline_ns > 0 and task.separation_ns > 0 for task in system.tasks)
        assert all(0 < task.execution.bcet_ns <= task.execution.wcet_ns for task in system.tasks)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.sampled_from(FILES),
    edits=st.lists(
        st.tuples(st.integers(0, max(map(len, FILES))), st.integers(0, 12), st.sampled_from(ODD + WORDS)),
        min_size=1,
        max_size=3,
    ),
)
def test_text_replaced_anywhere(stages, text, edits) -> None:
    for position, length, insert in edits:
        text = text[:position] + insert + text[position + length :]
    _check(text, stages)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.sampled_from(FILES), rng=st.randoms(use_true_random=False))
def test_values_exchanged_and_lines_moved(stages, text, rng) -> None:
    """Keeps the file parseable most of the time, so that the later checks are reached."""
    lines = text.splitlines()
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        words = [word for word in WORDS if word in lines[at]]
        kind = rng.randrange(4)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(rng.randrange(len(lines)), lines[at])
        elif words:
            lines[at] = lines[at].replace(rng.choice(words), rng.choice(WORDS + ODD[:20]), 1)
    _check("\n".join(lines), stages)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text) -> None:
    _check(text, None)


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes(tmp_path_factory, data) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError):
        load_system(path, stages=None)


def test_two_thousand_tasks_load(stages) -> None:
    stage = 'stage: "stages:Detect", runs_on: orin-1.gpu, inputs: {image: front}'
    tasks = "".join(
        f"  task_{n}: {{{stage}, execution: {{bcet: 1ms, wcet: 3ms, profile: [1ms, 2ms, 3ms]}}, deadline: 20ms}}\n"
        for n in range(2000)
    )
    text = VALID.replace("tasks:\n", "tasks:\n" + tasks)
    started = time.perf_counter()
    system = load_system_text(text, file_name="large.yaml", base_dir=".", stages=stages)
    print(f"2 006 tasks loaded in {time.perf_counter() - started:.2f} s")
    assert len(system.tasks) == 2006
