"""The actuators' side: every sequence of events, its bound, and what it makes of the arbiter's decisions in a run."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest
from actuator_exploration import POLICY, explore
from hypothesis import given
from hypothesis import strategies as st

import safety.actuator
from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, ReleaseRequest
from rt_sched.messages.e2e import E2EState
from rt_sched.model import SafetyConcept
from rt_sched.model.safety import Actuator
from rt_sched.units import NS_PER_MS
from safety.actuator import ActuatorInput, ActuatorMemory, ActuatorPolicy, ActuatorState, actuate
from safety.actuator_record import Risk, cycles_over, recorded

MS = NS_PER_MS


def decision(sent_ns: int, acceleration: float = 1.0) -> tuple[int, ArbiterDecision]:
    command = Command(sent_ns, "primary", 0, acceleration, False, None, True)
    return sent_ns, ArbiterDecision(sent_ns, sent_ns, ArbiterState.NOMINAL, "primary", command, "")


def test_no_sequence_of_events_violates_an_invariant() -> None:
    found = explore()
    assert found.violated == []
    assert found.states > 15
    assert found.steps == found.states * 11 * 9 * 2


#: Of each comparison and choice of the function: what it might be by mistake.
MUTANTS = (
    ("age_ns <= policy.command_age_limit_ns", "age_ns < policy.command_age_limit_ns"),
    ("age_ns <= policy.command_age_limit_ns", "age_ns <= policy.command_age_limit_ns + policy.cycle_ns"),
    ("MINIMAL_RISK and not release:", "MINIMAL_RISK and not is_young:"),
    ("MINIMAL_RISK and not release:", "MINIMAL_RISK:"),
    ("MINIMAL_RISK and not release:", "WAITING and not release:"),
    ("MINIMAL_RISK if has_command else ActuatorState.WAITING", "WAITING"),
    ("MINIMAL_RISK if has_command else ActuatorState.WAITING", "MINIMAL_RISK"),
    ("commanded_m_s2 if state is ActuatorState.FOLLOWING else min", "commanded_m_s2 if True else min"),
    ("min(commanded_m_s2, braking)", "braking"),
    ("        return braking", "        return 0.0"),
    ("accepted = doubt is None and", "accepted ="),
    ("given.e2e is not E2EState.OK", "given.e2e is E2EState.ERROR"),
    ("given.sent_ns > now_ns", "False"),
    ("now_ns >= memory.applied_at_ns", "True"),
    ("MINIMAL_RISK if latched else ActuatorState.WAITING", "WAITING"),
    ("sent_ns=given.sent_ns)", "sent_ns=now_ns)"),
    ("malformed(command) or impossible", "malformed(command) and impossible"),
    ("given.release_e2e is not E2EState.NO_NEW_DATA and refused is None", "refused is None"),
    ("given.release_e2e is not E2EState.NO_NEW_DATA and refused is None", "True"),
    ("given.release, given.release_e2e, now_ns", "given.release, E2EState.OK, now_ns"),
    ("policy.release_age_limit_ns)", "policy.release_age_limit_ns + policy.cycle_ns)"),
    ("policy.release_age_limit_ns)", "policy.release_age_limit_ns - policy.cycle_ns)"),
    ("state is not ActuatorState.MINIMAL_RISK or given", "given"),
    ("refused or (None if is_young else", "refused or (None if True else"),
)


@pytest.mark.parametrize(("words", "others"), MUTANTS)
def test_a_change_of_any_rule_is_noticed(words: str, others: str) -> None:
    source = inspect.getsource(safety.actuator)
    assert source.count(words) == 1
    namespace = {"__name__": "safety.actuator"}
    exec(compile(source.replace(words, others), "mutant", "exec"), namespace)  # noqa: S102  # our own source
    changed, known = namespace["actuate"], namespace["ActuatorState"]

    def function(memory, given, now_ns, policy):
        after, applied = changed(replace(memory, state=known(memory.state.value)), given, now_ns, policy)
        return tuple(replace(one, state=ActuatorState(one.state.value)) for one in (after, applied))

    try:
        noticed = bool(explore(function).violated)
    except AttributeError:  # it looked into what is no command
        noticed = True
    assert noticed


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(1, 7), st.integers(8, 40))
def test_silence_leads_to_minimal_risk_within_the_bound(gaps: list[int], cycle: int, limit: int) -> None:
    policy = ActuatorPolicy(cycle * MS, limit * MS)
    sent, now_ns = [], 0
    for gap in gaps:
        now_ns += gap * MS
        sent.append(decision(now_ns))
    end_ns = now_ns + 200 * MS
    record = recorded(cycles_over(sent, policy, end_ns), end_ns)
    assert sum(record.state_time_ns.values()) == end_ns
    if not sent:
        assert record.risks == [] and record.state_time_ns[ActuatorState.WAITING] == end_ns
        return
    (risk,) = record.risks  # latched
    before = [at_ns for at_ns, _ in sent if at_ns <= risk.since_ns]
    assert risk.after_ns == risk.since_ns - before[-1]
    assert policy.command_age_limit_ns < risk.after_ns <= policy.bound_ns
    seen = [at_ns for at_ns in before if any(at_ns <= at <= risk.since_ns for at in range(0, end_ns, policy.cycle_ns))]
    assert record.oldest_ns is None or record.oldest_ns <= policy.command_age_limit_ns
    assert record.commands <= len(sent) and record.commands >= bool(seen)


def test_a_run_with_a_command_in_every_period_follows_all_along() -> None:
    sent = [decision(at * 10 * MS + MS) for at in range(100)]
    record = recorded(cycles_over(sent, ActuatorPolicy(), 1000 * MS), 1000 * MS)
    assert (record.cycles, record.commands, record.refused) == (200, 100, 0)
    assert (record.longest_gap_ns, record.oldest_ns, record.risks) == (10 * MS, 9 * MS, [])
    assert record.state_time_ns[ActuatorState.WAITING] == 5 * MS
    assert record.looks_apart_ns == 5 * MS


def test_a_gap_is_minimal_risk_from_its_first_cycle_beyond_the_limit_and_stays() -> None:
    sent = [decision(at * MS) for at in (0, 10, 20, 30, 90, 100)]
    record = recorded(cycles_over(sent, ActuatorPolicy(), 200 * MS), 200 * MS)
    assert record.risks == [Risk(65 * MS, 35 * MS)]
    assert record.state_time_ns[ActuatorState.MINIMAL_RISK] == 135 * MS
    assert record.longest_gap_ns == 60 * MS


def test_only_a_request_while_a_command_is_young_ends_the_risk_and_the_next_gap_is_another_one() -> None:
    sent = [decision(at * MS) for at in (0, 10, 20, 30, 90, 100, 110, 120)]
    asked = [(at * MS, ReleaseRequest(given * MS, "panel")) for at, given in ((70, 70), (91, 91), (96, 96), (97, 97))]
    record = recorded(cycles_over(sent, ActuatorPolicy(), 200 * MS, asked), 200 * MS)
    assert record.risks == [Risk(65 * MS, 35 * MS, 95 * MS), Risk(155 * MS, 35 * MS)]
    assert (record.releases_refused, record.release_doubts) == (1, ["no command is young enough"])
    assert record.state_time_ns[ActuatorState.MINIMAL_RISK] == 75 * MS
    late = [(95 * MS, ReleaseRequest(0, "panel"))]
    held = recorded(cycles_over(sent, ActuatorPolicy(release_age_limit_ns=94 * MS), 200 * MS, late), 200 * MS)
    assert (held.risks, held.release_doubts) == ([Risk(65 * MS, 35 * MS)], ["it is too old"])


@pytest.mark.parametrize("wrong", [None, "brake", 3, float("nan"), object(), ("a",), True, [1]])
@pytest.mark.parametrize("state", list(E2EState))
def test_nothing_raises_and_nothing_wrong_is_applied(wrong: object, state: E2EState) -> None:
    memory, applied = actuate(ActuatorMemory(), ActuatorInput(wrong, state, 0), 5 * MS, POLICY)  # type: ignore[arg-type]
    assert applied.acceleration_m_s2 == -POLICY.minimal_risk_deceleration_m_s2
    assert (memory.state, applied.accepted) == (ActuatorState.WAITING, False)
    latched = ActuatorMemory(ActuatorState.MINIMAL_RISK, 1.0, 5 * MS, 5 * MS)
    asked = ActuatorInput(None, E2EState.NO_NEW_DATA, 0, wrong, state)  # type: ignore[arg-type]
    memory, applied = actuate(latched, asked, 10 * MS, POLICY)
    assert memory.state is ActuatorState.MINIMAL_RISK
    assert (applied.refused is None) == (state is E2EState.NO_NEW_DATA)


def test_the_limit_follows_the_arbiter_unless_it_is_declared() -> None:
    concept = SafetyConcept("arbiter", "primary", None)
    assert ActuatorPolicy.of(concept, 10 * MS) == ActuatorPolicy(5 * MS, 30 * MS)
    assert ActuatorPolicy.of(concept, 20 * MS).command_age_limit_ns == 60 * MS
    declared = SafetyConcept("arbiter", "primary", None, actuator=Actuator(2 * MS, 25 * MS))
    assert ActuatorPolicy.of(declared, 20 * MS).bound_ns == 27 * MS
