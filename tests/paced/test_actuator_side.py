"""The process of the actuators' side: follows what the arbiter's worker publishes, and brakes when that ends."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from rt_sched.messages import ArbiterDecision, ArbiterState, Command, ReleaseRequest
from rt_sched.messages.e2e import protect
from rt_sched.runtime.host.child import fork
from rt_sched.runtime.paced.actuator import ActuatorOrder, ActuatorSide
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.units import NS_PER_MS
from safety.actuator import ActuatorPolicy, ActuatorState

MS = NS_PER_MS
PERIOD_NS = 20 * MS
#: Wide enough for a host that is busy otherwise.
POLICY = ActuatorPolicy(5 * MS, 300 * MS)


def begin(side: ActuatorSide, clock: PacedClock) -> None:
    until = time.monotonic() + 20
    while not side.ready and time.monotonic() < until:
        time.sleep(0.01)
    clock.begin(time.monotonic_ns() + 50 * MS)


def decision(number: int, source: str, now_ns: int) -> dict[str, Encoded]:
    command = Command(now_ns, "primary", number, -1.0 - number / 100, False, None, True)
    made = ArbiterDecision(now_ns, now_ns, ArbiterState.NOMINAL, "primary", command, "")
    made = protect(made, source=source, counter=number, stamp_ns=now_ns)
    return {"decision": Encoded(Outputs({"decision": made}))}


def test_it_follows_and_brakes_by_itself_after_the_last_command() -> None:
    clock = PacedClock()
    side = ActuatorSide(ActuatorOrder("arbiter", "decision", POLICY), 0, clock, 1200 * MS)
    process = fork(lambda: side.run(None, real_time=False))
    sent: list[int] = []
    others: list[int] = []

    def to_others(parcels: Mapping[str, Encoded], number: int, _capture_ns: int, finished_ns) -> None:
        others.append(number)
        finished_ns()

    publish = side.published_too(to_others, "arbiter")

    def send(number: int, source: str) -> None:
        sent.append(clock.now_ns())
        publish(decision(number, source, sent[-1]), number, sent[-1], clock.now_ns)

    begin(side, clock)
    for number in range(20):
        clock.sleep_until(number * PERIOD_NS)
        send(number, "arbiter.decision")
    last_ns = sent[-1]
    clock.sleep_until(420 * MS)
    send(99, "somebody.decision")  # a message that is not the arbiter's keeps nothing alive
    clock.sleep_until(1200 * MS)
    assert os.waitpid(process, 0)[1] == 0
    applied, record = side.applied(), side.record()
    assert others == [*range(20), 99]
    assert 0 < record.commands <= 20 and record.doubts == ["E2E: ERROR"]
    (risk,) = record.risks
    assert risk.since_ns - risk.after_ns == last_ns
    assert risk.after_ns > POLICY.command_age_limit_ns
    assert applied[-1].state is ActuatorState.MINIMAL_RISK
    assert applied[-1].acceleration_m_s2 == -POLICY.minimal_risk_deceleration_m_s2
    followed = [one for one in applied if one.state is ActuatorState.FOLLOWING]
    assert followed[-1].acceleration_m_s2 == -1.19
    assert all(one.age_ns is not None and one.age_ns <= POLICY.command_age_limit_ns for one in followed)
    assert [one.time_ns for one in applied] == sorted(one.time_ns for one in applied)
    assert side.cpu_ns > 0


def test_it_follows_again_after_a_request_that_is_meant_for_it_and_after_no_other() -> None:
    clock = PacedClock()
    order = ActuatorOrder("arbiter", "decision", POLICY, ("panel", "release"))
    side = ActuatorSide(order, 0, clock, 1600 * MS)
    process = fork(lambda: side.run(None, real_time=False))

    def nowhere(_parcels: Mapping[str, Encoded], _number: int, _capture_ns: int, finished_ns) -> None:
        finished_ns()

    publish, ask = side.published_too(nowhere, "arbiter"), side.published_too(nowhere, "panel")
    assert side.published_too(nowhere, "control") is nowhere
    begin(side, clock)
    for number in (*range(10), *range(40, 70)):  # silent from 200 to 800 ms
        clock.sleep_until(number * PERIOD_NS)
        publish(decision(number, "arbiter.decision", clock.now_ns()), number, 0, clock.now_ns)
        nobody = {"release": Encoded(NoData("stage", "nobody asks"))}
        ask(nobody, number, 0, clock.now_ns)
        if number in (50, 60):
            request = ReleaseRequest(clock.now_ns(), "somebody")
            source = "panel.release" if number == 60 else "door.release"
            request = protect(request, source=source, counter=number, stamp_ns=clock.now_ns())
            ask({"release": Encoded(Outputs({"release": request}))}, number, 0, clock.now_ns)
            ask(nobody, number, 0, clock.now_ns)
    clock.sleep_until(1600 * MS)
    assert os.waitpid(process, 0)[1] == 0
    record = side.record()
    first = record.risks[0]
    assert first.released_ns is not None and first.released_ns >= 60 * PERIOD_NS
    assert (record.releases_refused, record.release_doubts) == (1, ["E2E: ERROR"])
