"""Quality of the decision: time to collision against the truth, and whether the reaction was the right one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from detections import ratio
from outputs import Decision
from tracks import spread
from truth import Truth

from rt_sched.units import NS_PER_S
from sensors.scene.outcome import drive
from sensors.scene.world import World

#: Times to collision are compared below this, where they decide.
DECISIVE_TTC_S = 3.0
#: A firmer request than this, without an emergency, is braking all the same.
FIRM_M_S2 = 3.0
#: A softer request than this is none.
SOFT_M_S2 = 0.2


def time_to_collision(truth: Truth, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Error of the time to collision in the commands, while the true one is below 3 s, at the instant of each."""
    errors: list[float] = []
    decisive = told = 0
    for decision in decisions:
        if not truth.epoch_ns <= decision.time_ns < truth.end_ns:
            continue
        threat = truth.threat(decision.time_ns)
        if threat is None or threat.ttc_s is None or threat.ttc_s > DECISIVE_TTC_S or threat.closing_m_s < 0.5:
            continue
        decisive += 1
        if decision.ttc_s < 1e6:
            told += 1
            errors.append(decision.ttc_s - threat.ttc_s)
    return {"decisive": decisive, "told": ratio(told, decisive), "error_s": spread(errors)}


def reaction(truth: Truth, world: World, decisions: Sequence[Decision]) -> dict[str, Any]:
    """When and how firmly was braked, what a car that obeys would have met, and whether all that is right.

    The driver of the modelled car does nothing. From the first emergency on the firmest request so far is held to
    standstill: what the recording shows after that is its own driver's braking, and no reason to let go.
    """
    wanted = truth.expected
    commands: list[tuple[int, float]] = []
    emergency_ns: int | None = None
    for decision in decisions:
        time_ns, asked = decision.time_ns - truth.epoch_ns, decision.acceleration_m_s2
        if decision.emergency and emergency_ns is None:
            emergency_ns = time_ns
        if emergency_ns is not None and commands:
            asked = min(asked, commands[-1][1])
        commands.append((time_ns, asked))
    braked = next((time_ns for time_ns, asked in commands if asked < -SOFT_M_S2), None)
    hardest = -min((asked for _, asked in commands), default=0.0)
    hazard_ns = wanted["hazard_ns"] or 0
    outcome = drive(world, commands, truth.end_ns - truth.epoch_ns + 5 * NS_PER_S, hazard_ns=hazard_ns)
    at_emergency = None if emergency_ns is None else truth.threat(truth.epoch_ns + emergency_ns)
    document = {
        "wanted": wanted["reaction"],
        "hazard_ns": wanted["hazard_ns"],
        "last_chance_ns": wanted["last_chance_ns"],
        "braked_ns": braked,
        "emergency_ns": emergency_ns,
        "ttc_at_emergency_s": None
        if at_emergency is None or at_emergency.ttc_s is None
        else round(at_emergency.ttc_s, 2),
        "hardest_m_s2": round(hardest, 2),
    }
    if wanted["reaction"] == "brake":
        document |= {
            "contact": outcome.contact_ns is not None,
            "impact_m_s": None if outcome.impact_m_s is None else round(outcome.impact_m_s, 2),
            "least_gap_m": None if outcome.least_gap_m is None else round(outcome.least_gap_m, 2),
        }
        document["right"] = emergency_ns is not None and emergency_ns >= hazard_ns and outcome.contact_ns is None
    elif wanted["reaction"] == "warn":
        document["right"] = braked is not None and emergency_ns is None
    else:
        document["right"] = emergency_ns is None and hardest <= FIRM_M_S2
    return document
