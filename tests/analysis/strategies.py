"""Random task sets for hypothesis: small numbers, so that the plain oracles stay quick, and often a load near 1."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from textbook import Task


@st.composite
def task_sets(draw, most_tasks: int = 5, jitter: bool = True, blocking: bool = True, constrained: bool = False):
    """Tasks in priority order; loads up to a little above 1."""
    count = draw(st.integers(1, most_tasks))
    left = draw(st.sampled_from([0.5, 0.8, 0.95, 1.0, 1.0, 1.05]))
    tasks = []
    for position in range(count):
        period = draw(st.integers(1, 30))
        share = left if position == count - 1 else draw(st.floats(0.0, 1.0)) * left
        wcet = max(1, int(share * period))
        left = max(left - wcet / period, 0.02)
        deadline = draw(st.integers(wcet, max(wcet, period) if constrained else 3 * period + wcet))
        tasks.append(
            Task(
                wcet,
                period,
                deadline,
                draw(st.integers(0, 2 * period)) if jitter and draw(st.booleans()) else 0,
                draw(st.integers(0, 12)) if blocking and draw(st.booleans()) else 0,
            )
        )
    return tasks


def arrays(tasks: list[Task], scale: int = 1) -> dict[str, np.ndarray]:
    """Keyword arguments of the batch functions for one set."""
    return {
        "wcet_ns": np.array([[t.C for t in tasks]]) * scale,
        "period_ns": np.array([[t.T for t in tasks]]) * scale,
        "deadline_ns": np.array([[t.D for t in tasks]]) * scale,
        "jitter_ns": np.array([[t.J for t in tasks]]) * scale,
        "blocking_ns": np.array([[t.B for t in tasks]]) * scale,
    }
