"""How often a thousand random systems must have met each feature, so that agreement on them means something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

#: Least count over 1 000 random systems, about half of what they meet.
LEAST_PER_1000: dict[str, dict[str, int]] = {
    "ends of jobs": {
        "COMPLETED": 5300,
        "SKIPPED": 830,
        "ABORTED": 1300,
        "LOST": 340,
        "LOST on arrival": 900,
        "SUPPRESS": 380,
        "missed": 3100,
        "at deadline": 170,
        "at budget": 460,
        "backlog": 300,
    },
    "order": {
        "preemption": 500,
        "preemption at a point": 20,
        "preemption inside a section": 60,
        "deferred to a preemption point": 170,
        "deferred by switch cost": 20,
        "deferred by msrp": 100,
        "tie": 2700,
        "tick of switching": 1800,
        "migration": 30,
    },
    "time slices and tables": {
        "SLICE": 1800,
        "slice ends with work left": 580,
        "switch cut off": 60,
        "slack used": 260,
        "slack given back": 15,
        "ENTRY": 970,
        "entry empty": 500,
        "entry ends with work left": 200,
        "entry ends inside a section": 20,
    },
    "arrivals": {
        "jitter": 1200,
        "SEPARATION": 880,
        "missed before release": 120,
    },
    "messages": {
        "FULL_OLDEST": 2300,
        "FULL_NEWEST": 2500,
        "UNMATCHED": 200,
        "INACTIVE": 380,
        "activated by latest": 1400,
        "activated by queue": 1200,
        "paired": 210,
        "queue read": 3500,
        "LET_PUBLISH": 440,
        "LET_UNFINISHED": 660,
        "transfer": 3700,
        "transfer waits": 2900,
        "transfer on a lost link": 350,
    },
    "locks": {
        "PRIORITY_INHERITANCE lock": 1600,
        "PRIORITY_CEILING lock": 70,
        "NONE lock": 210,
        "MSRP lock": 1200,
        "PRIORITY_INHERITANCE wait": 230,
        "NONE wait": 18,
        "MSRP wait": 70,
        "nested lock": 1200,
        "tick of spinning": 260,
        "spin ends in dispatch": 9,
        "lock released in the dispatch that granted it": 7,
        "inherited over 1": 100,
        "inherited over 2": 18,
        "inherited across processors": 11,
        "kept from starting by the ceiling": 30,
        "several waiters": 60,
        "waiter overtakes": 20,
        "ended while waiting for a lock": 20,
        "abort waits for unlock": 70,
        "lock owner lost": 17,
    },
    "suspension": {
        "SUSPEND": 310,
        "WAKE": 270,
        "suspension of no length": 70,
        "suspension of a given length": 100,
    },
    "budgets": {
        "OVERRUN": 1600,
        "overrun ABORT": 80,
        "overrun SKIP_NEXT": 40,
        "overrun DEGRADE": 40,
        "overrun FAIL_OVER": 60,
        "degraded": 20,
        "enforcement waits for unlock": 1000,
        "THROTTLE": 130,
        "REPLENISH": 220,
        "CBS postponed": 150,
        "CBS goes on": 90,
        "a later arrival pays": 110,
        "pay of before goes on": 60,
        "throttling waits for unlock": 250,
        "deadline ABORT": 920,
        "deadline SKIP_NEXT": 200,
    },
    "criticality, modes, frequency, faults": {
        "HIGH": 200,
        "LOW": 160,
        "LO job aborted": 70,
        "TASK_REMOVED": 500,
        "TASK_ADDED": 510,
        "removed while running": 70,
        "FREQUENCY": 390,
        "RESCALE": 1300,
        "rescaled inside a section": 20,
        "PROCESSOR lost": 110,
        "SENSOR lost": 90,
        "LINK lost": 30,
        "sample LOST": 670,
    },
}

#: The same over 1 000 systems with takeovers, of what these add.
LEAST_PER_1000_TAKEOVERS: dict[str, dict[str, int]] = {
    "takeovers": {
        "TASK_MOVED": 1700,
        "TASK_VARIED": 1400,
        "moved with a job": 420,
        "moved from a core": 210,
        "moved with a lock": 60,
        "moved while waiting for a lock": 11,
        "moved off a lost processor": 340,
        "moved to another policy": 450,
        "varied with a job": 410,
        "left out by every": 1000,
        "additional arrival": 890,
        "message done again": 180,
        "pair done again": 55,
        "no pair to do again": 11,
        "one of several done again": 8,
        "forgotten by a move": 8,
        "rescaled as declared before": 8,
        "lost before a return": 70,
        "free as it has returned": 60,
        "PROCESSOR returned": 290,
        "SENSOR returned": 220,
        "LINK returned": 65,
    },
}

Least = Mapping[str, Mapping[str, int]]


def shares(systems: int, least: Least = LEAST_PER_1000) -> dict[str, int]:
    """Least count of every feature over so many systems."""
    return {name: count * systems // 1000 for names in least.values() for name, count in names.items()}


def lacking(met: Counter[str], systems: int, least: Least = LEAST_PER_1000) -> dict[str, tuple[int, int]]:
    """Features met too rarely: count and least count by name."""
    return {name: (met[name], count) for name, count in shares(systems, least).items() if met[name] < count}


def as_table(met: Counter[str], systems: int, counted: Least = LEAST_PER_1000) -> str:
    """Counts and least counts, a line each."""
    least = shares(systems, counted)
    lines = [f"{'met in ' + str(systems) + ' systems':<44}{'count':>9}{'least':>9}"]
    for group, names in counted.items():
        lines.append(group)
        lines += [f"  {name:<42}{met[name]:>9}{least[name]:>9}" for name in names]
    return "\n".join(lines)
