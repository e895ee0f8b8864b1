"""The section `requirements`: which requirement sets which limit of the file, and from what it follows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, lacking, quoted, unknown
from rt_sched.config.table import Key, Spec, Table, mapping_of, named_entries
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import BrakingCase, LimitName, Requirement

_LEVELS = ("QM", "A", "B", "C", "D")
#: Levels, and those that a decomposition of another one leaves (ISO 26262-9, clause 5), such as B(D).
ASILS = (*_LEVELS, *(f"{low}({high})" for low, high in combinations(_LEVELS, 2)), *(f"{one}({one})" for one in "ABCD"))

#: The keys of each section that are limits.
LIMITS: Mapping[str, tuple[str, ...]] = {
    "chains": ("max_reaction", "max_latency", "max_data_age"),
    "tasks": ("deadline", "max_disparity"),
    "faults": ("detection", "reaction", "margin"),
    "safety": ("command_deadline", "recovery_limit"),
}
#: The section that is one mapping; the others name their members.
_UNNAMED = "safety"

BRAKING = Spec(
    "braking_case",
    "a braking case",
    (
        Key(
            "closing_speed",
            quantities.speed_m_s,
            "Towards the obstacle when it is first seen.",
            required=True,
            example="closing_speed: 50km/h",
        ),
        Key(
            "range",
            quantities.length_m,
            "At which the obstacle is first seen.",
            required=True,
            example="range: 40m",
        ),
        Key(
            "deceleration",
            quantities.acceleration_m_s2,
            "By which the speed falls once the brakes act.",
            required=True,
            example="deceleration: 6m/s2",
        ),
        Key("actuation", quantities.time_up_or_zero, "From the command to the deceleration.", 0, "0ns"),
    ),
)

REQUIREMENT = Spec(
    "requirement",
    "a requirement",
    (
        Key(
            "limits",
            fields.texts,
            "What it sets: chains.NAME.max_latency, tasks.NAME.deadline, faults.NAME.detection, safety.recovery_limit "
            "and the like.",
            default_text="none",
        ),
        Key("asil", fields.one_of(ASILS, "level"), "Level of integrity, also of a decomposition.", default_text="none"),
        Key("source", fields.text, "Where it stands."),
        Key("rationale", fields.text, "Why the limit is what it is."),
        Key("braking", {"$spec": BRAKING}, "The situation that leaves no more time than its limits allow."),
    ),
)

REQUIREMENTS = mapping_of({"$spec": REQUIREMENT})


def read_requirements(
    node: Node | None, sections: Mapping[str, Node | None], problems: Problems
) -> tuple[Requirement, ...]:
    """The requirements in file order. `sections`: the sections of the file that hold limits."""
    found = []
    for name, entry in [] if node is None else named_entries(node, "requirements", problems):
        table = Table(entry.value, REQUIREMENT, problems)
        limits_node = table.get("limits")
        texts = table.read("limits") or ()
        limits = [] if limits_node is None else [_read_limit(limits_node, text, sections, problems) for text in texts]
        braking = table.get("braking")
        found.append(
            Requirement(
                name,
                tuple(limit for limit in limits if limit is not None),
                asil=table.read("asil"),
                source=table.read("source"),
                rationale=table.read("rationale"),
                braking=None if braking is None else _read_braking(braking, problems),
            )
        )
    return tuple(found)


def _read_limit(node: Node, text: str, sections: Mapping[str, Node | None], problems: Problems) -> LimitName | None:
    place = next((item for item in node.items if item.text == text), node) if node.is_sequence else node
    section, *rest = text.split(".")
    if section not in LIMITS:
        problems.add(place, unknown("kind of limit", section, LIMITS))
        return None
    if len(rest) != (1 if section == _UNNAMED else 2):
        form = section if section == _UNNAMED else f"{section}.NAME"
        problems.add(place, f"{quoted(text)} names no limit; write one such as {form}.{LIMITS[section][0]}")
        return None
    limit = LimitName(section, "" if section == _UNNAMED else rest[0], rest[-1])
    if limit.key not in LIMITS[section]:
        problems.add(place, lacking(f"{section}.NAME" if limit.owner else section, "limit", limit.key, LIMITS[section]))
        return None
    holder = sections.get(section)
    if limit.owner:
        names = holder.entries if holder is not None and holder.is_mapping else {}
        if limit.owner not in names:
            problems.add(place, unknown(section.removesuffix("s"), limit.owner, names))
            return None
        holder = names[limit.owner].value
    is_stated = holder is not None and holder.is_mapping and limit.key in holder.entries
    # A task without a deadline has its period as one.
    if not is_stated and limit.key != "deadline":
        owner = ".".join(part for part in (section, limit.owner) if part)
        problems.add(place, f"{owner} states no {limit.key}; state it there, or leave it out here")
        return None
    return limit


def _read_braking(node: Node, problems: Problems) -> BrakingCase | None:
    table = Table(node, BRAKING, problems)
    speed, distance, deceleration = (table.read(key) for key in ("closing_speed", "range", "deceleration"))
    if speed is None or distance is None or deceleration is None:
        return None
    if distance * 2 * deceleration <= speed**2:
        problems.add(
            node,
            f"braking from {float(speed):.6g} m/s takes {float(speed**2 / (2 * deceleration)):.6g} m, "
            f"which the range of {float(distance):.6g} m does not leave",
        )
        return None
    return BrakingCase(speed, distance, deceleration, table.read("actuation"))
