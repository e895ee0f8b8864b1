"""The arbiter with a key: whatever is sent without it, or was sent before, never becomes a command."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path

import pytest

from rt_sched.messages import ArbiterDecision, ArbiterState, Authenticator, Command, ReleaseRequest
from rt_sched.messages.e2e import E2EState, protect
from rt_sched.ports import JobContext, StageContext
from safety.arbiter_stage import Arbiter

MS = 1_000_000
CYCLE_NS = 10 * MS
SOURCES = {"primary": "control.command", "backup": "backup.command", "release": "panel.release"}
KEYED = Authenticator(bytes(32), frozenset({"Command", "ReleaseRequest"}))
OTHER = Authenticator(bytes(31) + b"x", KEYED.protects)
CALM, HARD = -0.5, -8.0


def command(number: int, path: str, acceleration: float, by: Authenticator | None = KEYED) -> Command:
    made = Command(number * CYCLE_NS, path, number, acceleration, acceleration == HARD, None, True)
    return protect(made, source=SOURCES[path], counter=number, stamp_ns=number * CYCLE_NS, authenticator=by)


def attacks(number: int, path: str, kept: list[Command]) -> dict[str, Command]:
    """What one who can send anything, and has heard everything, but has no key, may put in place of a command."""
    good = kept[-1]
    bare = dataclasses.replace(good, acceleration_m_s2=HARD, emergency=True, header=None)
    forged = protect(bare, source=SOURCES[path], counter=number, stamp_ns=number * CYCLE_NS)
    other_path = "backup" if path == "primary" else "primary"
    return {
        "of another key": command(number, path, HARD, OTHER),
        "without a tag": command(number, path, HARD, None),
        "with a tag that was heard": dataclasses.replace(
            forged, header=dataclasses.replace(forged.header, tag=good.header.tag)
        ),
        "heard before": kept[max(0, len(kept) - 3)],
        "of the other path": command(number, other_path, HARD),
        "altered on its way": dataclasses.replace(command(number, path, CALM), acceleration_m_s2=HARD, emergency=True),
    }


def started(authenticator: Authenticator | None = KEYED) -> Arbiter:
    stage = Arbiter(startup_grace_ms=50, minimal_risk_after_ms=50, command_age_limit_ms=200, backup_age_limit_ms=200)
    stage.start(StageContext("arbiter", Path(), sources=SOURCES, authenticator=authenticator))
    return stage


def decide(stage: Arbiter, number: int, **inputs: object) -> ArbiterDecision:
    now_ns = number * CYCLE_NS
    job = JobContext("arbiter", number, now_ns, now_ns, now_ns, now_ns + CYCLE_NS)
    decision = stage.process(job, inputs)["decision"]
    assert isinstance(decision, ArbiterDecision)
    return decision


@pytest.mark.parametrize("name", attacks(5, "primary", [command(4, "primary", CALM)]))
@pytest.mark.parametrize("path", ["primary", "backup"])
def test_no_attack_is_selected_and_the_other_path_drives_on(name: str, path: str) -> None:
    stage, kept = started(), []
    other = "backup" if path == "primary" else "primary"
    for number in range(1, 6):
        kept.append(command(number, path, CALM))
        decision = decide(stage, number, **{path: kept[-1], other: command(number, other, CALM)})
    assert decision.selected == "primary"
    for number in range(6, 12):
        attack = attacks(number, path, kept)[name]
        decision = decide(stage, number, **{path: attack, other: command(number, other, CALM)})
        assert decision.selected == other
        assert (decision.command.acceleration_m_s2, decision.command.emergency) == (CALM, False)
        assert {check.input: check.state for check in decision.checks}[path] is E2EState.ERROR


def test_no_sequence_of_attacks_alone_is_ever_selected() -> None:
    names = list(attacks(5, "primary", [command(4, "primary", CALM)]))
    for chosen in product(names, repeat=3):
        stage, kept = started(), [command(k, "primary", CALM) for k in range(1, 4)]
        for one in kept:
            decide(stage, one.counter, primary=one)
        for number, name in enumerate(chosen, 4):
            decision = decide(stage, number, primary=attacks(number, "primary", kept)[name])
            assert decision.selected == "hold"
            assert decision.command.acceleration_m_s2 <= 0.0
            assert not decision.command.emergency


def test_without_a_key_the_same_forgery_is_carried_out() -> None:
    """What the key is for: a checksum alone finds no forgery."""
    stage = started(None)
    for number in range(1, 5):
        decide(stage, number, primary=command(number, "primary", CALM, None))
    assert decide(
        stage, 5, primary=attacks(5, "primary", [command(4, "primary", CALM)])["without a tag"]
    ).command.emergency


def test_a_release_without_the_key_ends_nothing() -> None:
    def release(number: int, by: Authenticator | None) -> ReleaseRequest:
        request = ReleaseRequest(number * CYCLE_NS, "panel")
        return protect(request, source=SOURCES["release"], counter=number, stamp_ns=number * CYCLE_NS, authenticator=by)

    stage, number = started(), 0
    while decide(stage, number).state is not ArbiterState.MINIMAL_RISK:
        number += 1
    for _ in range(5):
        number += 1
        given = command(number, "primary", CALM)
        assert decide(stage, number, primary=given, release=release(number, None)).state is ArbiterState.MINIMAL_RISK
        number += 1
        given = command(number, "primary", CALM)
        assert decide(stage, number, primary=given, release=release(number, OTHER)).state is ArbiterState.MINIMAL_RISK
    number += 1
    given = command(number, "primary", CALM)
    assert decide(stage, number, primary=given, release=release(number, KEYED)).state is ArbiterState.DEGRADED
