"""Priority inversion in real processes: bounded by the section with a protocol, unbounded without."""

from __future__ import annotations

import pytest
from inversion import measured

from rt_sched.runtime.host.measure import quantile
from rt_sched.units import NS_PER_MS

SECTION_NS, HOG_NS = 20 * NS_PER_MS, 100 * NS_PER_MS


@pytest.mark.usefixtures("fifo")
def test_with_a_protocol_the_highest_waits_for_the_section_alone():
    found = measured(SECTION_NS, HOG_NS, 3)
    waits = {name: quantile(times, 0.5) for name, times in found.items()}
    assert waits["none"] > SECTION_NS + 0.9 * HOG_NS
    for name in ("inheritance", "ceiling"):
        assert waits[name] < 1.5 * SECTION_NS
        assert waits["none"] > 3 * waits[name]
