"""With a key the processes of a paced run take nothing that lacks it: jobs and the actuators' side alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rt_sched.messages import ArbiterDecision, ArbiterState, Authenticator, Command, ReleaseRequest
from rt_sched.messages.e2e import E2EState, protect
from rt_sched.runtime.paced.actuator import ActuatorOrder, ActuatorSide
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.stage_graph import Outputs
from rt_sched.units import NS_PER_MS
from safety.actuator import ActuatorPolicy

KEYED = Authenticator(bytes(32), frozenset({"ArbiterDecision", "ReleaseRequest"}))
OTHER = Authenticator(b"another key of the same length..", KEYED.protects)


def decision(number: int, by: Authenticator | None) -> ArbiterDecision:
    command = Command(number, "primary", number, -1.0, False, None, True)
    made = ArbiterDecision(number, number, ArbiterState.NOMINAL, "primary", command, "")
    return protect(made, source="arbiter.decision", counter=number, stamp_ns=number, authenticator=by)


@pytest.fixture
def seen() -> Callable[[ArbiterDecision], E2EState]:
    """What the actuators' side says of a decision that is published."""
    policy = ActuatorPolicy(5 * NS_PER_MS, 300 * NS_PER_MS)
    order = ActuatorOrder("arbiter", "decision", policy)
    side = ActuatorSide(order, 0, PacedClock(), 100 * NS_PER_MS, KEYED)
    side.inlets[0].open()
    publish = side.published_too(lambda _parcels, _number, _capture_ns, finished_ns: finished_ns() and None, "arbiter")

    def published(one: ArbiterDecision) -> E2EState:
        publish({"decision": Encoded(Outputs({"decision": one}))}, one.command.counter, 0, lambda: 1)
        return side.look().e2e

    return published


def test_the_actuators_side_follows_none_but_the_arbiter(seen: Callable[[ArbiterDecision], E2EState]) -> None:
    first = decision(1, KEYED)
    sent = (first, decision(2, None), decision(3, OTHER), decision(4, KEYED), first, decision(5, KEYED))
    good, bad = E2EState.OK, E2EState.ERROR
    assert [seen(one) for one in sent] == [good, bad, bad, good, bad, good]


def test_a_release_needs_the_key() -> None:
    policy = ActuatorPolicy(5 * NS_PER_MS, 300 * NS_PER_MS)
    order = ActuatorOrder("arbiter", "decision", policy, ("panel", "release"))
    side = ActuatorSide(order, 0, PacedClock(), 100 * NS_PER_MS, KEYED)
    for inlet in side.inlets:
        inlet.open()
    publish = side.published_too(lambda _parcels, _number, _capture_ns, finished_ns: finished_ns() and None, "panel")

    def said_of(number: int, by: Authenticator | None) -> E2EState:
        request = ReleaseRequest(number, "somebody")
        request = protect(request, source="panel.release", counter=number, stamp_ns=number, authenticator=by)
        publish({"release": Encoded(Outputs({"release": request}))}, number, 0, lambda: 1)
        return side.look().release_e2e

    good, bad = E2EState.OK, E2EState.ERROR
    assert [said_of(1, None), said_of(2, OTHER), said_of(3, KEYED), said_of(2, KEYED)] == [bad, bad, good, bad]
