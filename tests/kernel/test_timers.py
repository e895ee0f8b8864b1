"""Timers in blocks, and in groups of blocks, beside a plain list of them."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.kernels import timers
from rt_sched.kernels.codes import NEVER_NS
from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow
from rt_sched.sim import timer_sections
from rt_sched.sim.build import build_machine

#: Small blocks, and groups from few timers on, so that few timers fill many.
BITS, BLOCK, FEW = 2, 4, 12
#: Around every number of tasks at which there is one more block or group.
COUNTS = sorted({1, 2, *(size + more for size in (4, 8, 12, 16, 32, 48, 64) for more in (-1, 0, 1)), 1000})


@pytest.fixture(autouse=True)
def small_and_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions as Python runs them: compiled ones stand inside the state machine only."""
    for module in (timers, timer_sections):
        monkeypatch.setattr(module, "BLOCK_BITS", BITS)
    monkeypatch.setattr(timer_sections, "BLOCK", BLOCK)
    monkeypatch.setattr(timer_sections, "FEW", FEW)
    for name in ("set_timer", "_renew_group", "earliest", "next_due"):
        monkeypatch.setattr(timers, name, getattr(timers, name).py_func)


def machine_of(count: int) -> SimpleNamespace:
    """What timers need of a machine with so many tasks, as it is built; no timer is set."""
    rows = tuple(TaskRow(f"t{number}", 0, 10, 1, jitter_ns=1) for number in range(count))
    given = MachineInput((ProcessorRow("cpu", Policy.EDF, True),), (), rows, (), horizon_ns=100)
    built = build_machine(given, np.zeros(0, np.int64), 1)
    clock = {name: built.clock[0][name].item() for name in built.clock.dtype.names}
    return SimpleNamespace(clock=[clock], timers=built.timers.copy(), soonest=built.soonest.copy())


def sections(clock: dict[str, int]) -> list[tuple[int, int]]:
    bounds = [0, clock["deadline_timers"], clock["arrival_timers"], clock["rest_timers"], clock["last_timer"]]
    return list(pairwise(bounds))


@settings(max_examples=60, deadline=None)
@given(
    count=st.sampled_from(COUNTS),
    steps=st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.sampled_from([*range(6), NEVER_NS])), max_size=60),
)
def test_blocks_and_groups_tell_what_the_list_does(count: int, steps: list[tuple[int, float, int]]) -> None:
    m = machine_of(count)
    for section, share, due_ns in steps:
        first = sections(m.clock[0])[section][0]
        timers.set_timer(m, first + min(int(share * count), count - 1), due_ns)
    blocks = m.timers.reshape(-1, BLOCK).min(axis=1)
    groups = blocks.reshape(-1, BLOCK).min(axis=1) if count > FEW else blocks[:0]
    assert m.soonest.tolist() == [*blocks, *groups]
    m.clock[0]["now_ns"] = int(m.timers.min())
    for first, last in sections(m.clock[0]):
        assert timers.earliest(m, first, last) == int(m.timers[first:last].min())
        found, timer = [], timers.next_due(m, first, first + count)
        while timer < first + count:
            found.append(timer)
            timer = timers.next_due(m, timer + 1, first + count)
        assert timer == first + count
        assert found == [t for t in range(first, first + count) if m.timers[t] == m.clock[0]["now_ns"]]


@pytest.mark.parametrize("count", COUNTS)
def test_sections_begin_with_whole_blocks_or_groups(count: int) -> None:
    m = machine_of(count)
    under_top = 1 << m.clock[0]["top_bits"]
    assert under_top == (BLOCK**2 if count > FEW else BLOCK)
    for first, last in sections(m.clock[0]):
        assert first % under_top == last % under_top == 0
        assert count <= last - first < count + under_top


def test_no_task_has_no_timer() -> None:
    m = machine_of(0)
    assert [timers.earliest(m, first, last) for first, last in sections(m.clock[0])] == [NEVER_NS] * 4
