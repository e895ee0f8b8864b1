"""What the arbiter takes from the reports of the sensors' monitors, and from their absence."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.messages.e2e import COUNTER_MODULUS, E2EMemory, E2EState, check
from rt_sched.messages.health import SensorHealth, TrustState

#: The arbiter's input that reports come in at.
HEALTH_INPUT = "health"
#: Good samples in a row that give the trust in a sensor back, unless told otherwise.
GOOD_SAMPLES, MOST_GOOD_SAMPLES = 5, 1000
#: Reports come more often than they are read: only a step back is a wrong sequence.
_ANY_STEP_AHEAD = COUNTER_MODULUS // 2 - 1


class Vouching:
    """The last good report of `source`, and what follows from its age. Nothing here raises for any message.

    A report counts when it is intact and in sequence (E2E), and for `age_limit_ns` from its stamp on; one that is more
    than `future_ns` ahead of the clock does not. From the first look on nothing is missed for `grace_ns`. `expected`:
    sensors that a first report has to name.
    """

    def __init__(self, source: str, age_limit_ns: int, grace_ns: int, future_ns: int, expected: Sequence[str]) -> None:
        self._source, self._age_limit_ns, self._grace_ns, self._future_ns = source, age_limit_ns, grace_ns, future_ns
        self._expected = frozenset(expected)
        self._received = E2EMemory()
        self._last: SensorHealth | None = None
        self._started_ns: int | None = None

    def look(self, report: object, now_ns: int) -> tuple[frozenset[str], frozenset[str]]:
        """Sensors that monitors distrust, and those that nobody vouches for, at `now_ns`."""
        if self._started_ns is None:
            self._started_ns = now_ns
        self._take(report)
        in_grace = now_ns - self._started_ns < self._grace_ns
        last = self._last
        if last is None:
            return frozenset(), frozenset() if in_grace else self._expected
        distrusted = frozenset(one.sensor for one in last.sensors if one.state is TrustState.DISTRUSTED)
        if not -self._future_ns <= now_ns - last.capture_time_ns <= self._age_limit_ns:
            return distrusted, frozenset(one.sensor for one in last.sensors)
        starting = frozenset(one.sensor for one in last.sensors if one.state is TrustState.STARTING)
        return distrusted, frozenset() if in_grace else starting

    def _take(self, report: object) -> None:
        state, self._received = check(report, self._source, self._received, is_register=True, max_step=_ANY_STEP_AHEAD)
        if state is E2EState.OK and isinstance(report, SensorHealth):
            self._last = report
