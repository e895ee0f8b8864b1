"""Whether a person's request to leave MINIMAL_RISK is good: the same words for the arbiter and the actuators' side."""

from __future__ import annotations

from typing import Any

from rt_sched.messages.e2e import COUNTER_MODULUS, E2EState
from rt_sched.units import NS_PER_MS
from safety.plausibility import malformed_release

#: How old a request may be, unless the arbiter's parameters say otherwise.
RELEASE_AGE_LIMIT_NS = 500 * NS_PER_MS
#: Requests are rare, and jobs that ask for nothing are counted, too: only a step back is a wrong sequence.
ANY_STEP_AHEAD = COUNTER_MODULUS // 2 - 1


def refused_release(request: Any, e2e: E2EState, now_ns: int, age_limit_ns: int) -> str | None:
    """Why `request`, just come, releases nothing; None where it does. `e2e`: what its check said. Never raises."""
    if e2e is not E2EState.OK:
        return f"E2E: {e2e.value}"
    if malformed_release(request):
        return "it is no request for a release"
    age_ns = now_ns - int(request.capture_time_ns)
    if age_ns < 0:
        return "it was given later than now"
    return "it is too old" if age_ns > age_limit_ns else None
