"""What a fault script may say: one table of keys per kind of mapping, and the readers of single values."""

from __future__ import annotations

import re
from fractions import Fraction

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems
from rt_sched.config.scenario_file import whole_lateness, whole_time
from rt_sched.config.table import Choice, Key, Spec, mapping_of
from rt_sched.config.value import list_of, value
from rt_sched.config.yaml_nodes import Node
from rt_sched.faults.kinds import BY_NAME
from rt_sched.faults.script import Damage, Event

SCRIPT_VERSION = 1
MAX_NUMBER = 10**9
MAX_JOBS, MAX_RADIUS_PX = 10_000, 100
EVENTS = tuple(event.value for event in Event)
_ANGLE = r"\s*[+-]?[0-9]+(\.[0-9]+)?\s*deg\s*"


@value({"type": "string", "pattern": f"^{_ANGLE}$"})
def angle_deg(node: Node, problems: Problems) -> Fraction | None:
    """A direction from -180 to 180 degrees, counter-clockwise from straight ahead."""
    if node.is_scalar and re.fullmatch(_ANGLE, node.text):
        found = Fraction(node.text.strip().removesuffix("deg").strip())
        if -180 <= found <= 180:
            return found
        problems.add(node, f"{node.shown} is outside the valid directions, -180deg to 180deg")
    else:
        problems.add(node, f"expected a direction such as 30deg, found {node.shown}")
    return None


@value({"type": "number", "exclusiveMinimum": 0, "maximum": 1})
def share(node: Node, problems: Problems) -> Fraction | None:
    """A share of more than 0 and at most 1, exactly as written."""
    number = fields.plain_number(node)
    if number is not None and 0 < number <= 1:
        found = Fraction(number) if isinstance(number, int) else Fraction(node.text.replace("_", ""))
        if found <= 1:
            return found
    problems.add(node, f"expected a share of more than 0 and at most 1, such as 0.3, found {node.shown}")
    return None


@value(list_of({"type": "integer", "minimum": 0, "maximum": MAX_JOBS}))
def job_numbers(node: Node, problems: Problems) -> tuple[int, ...] | None:
    """Numbers of jobs, counted from 0."""
    reader = fields.integer(0, MAX_JOBS)
    found = [reader(item, problems) for item in fields.elements(node, "jobs", problems) or ()]
    if node.is_sequence and not found:
        problems.add(node, "the list is empty; write at least one job number, counted from 0")
    return tuple(sorted({one for one in found if one is not None})) or None


EVENT = Spec(
    "event",
    "an event",
    (
        Key("sample", fields.integer(0, MAX_NUMBER), "Message with this number, counted from 0, of the sensor `of`."),
        Key("job", fields.integer(0, MAX_NUMBER), "Job with this number, counted from 0, of the task `of`."),
        Key("fault", fields.WORD, "When this fault begins."),
        Key("of", fields.WORD, "The sensor or task."),
        Key("after", whole_time, "So long after the event.", 0, "0ns"),
    ),
    (Choice(EVENTS, required=True),),
)
FAULT = Spec(
    "injection",
    "a fault",
    (
        Key(
            "kind",
            fields.one_of(tuple(BY_NAME), "kind of fault"),
            "What happens.",
            required=True,
            example="kind: camera.black",
        ),
        Key("target", fields.WORD, "To which sensor, task, device or link, or rt-health; arbiter.kill has none."),
        Key("at", whole_time, "When, from the start of the run."),
        Key("on", {"$spec": EVENT}, "Which event sets it off."),
        Key("for", quantities.time_down, "How long it lasts.", default_text="to the end of the run"),
        Key("share", share, "Share of the messages that it strikes.", Fraction(1), "1"),
        Key("by", whole_lateness, "Length of a delay or a hold; by how much a clock steps, negative for back.", 0),
        Key("from", angle_deg, "First direction of a sector, counter-clockwise from ahead.", Fraction(0)),
        Key("to", angle_deg, "Last direction of a sector.", Fraction(0)),
        Key("radius", fields.integer(1, MAX_RADIUS_PX), "Radius of a blur in pixels.", 8, "8"),
        Key("how", fields.choice(Damage, "damage"), "What becomes of the bytes.", Damage.CUT, "cut"),
        Key("restart", quantities.time_down, "Until the process is there again.", default_text="never"),
        Key("stall", quantities.time_down, "By how much the next job is longer.", 0),
        Key("jobs", job_numbers, "Which jobs overrun, counted from 0.", (0,), "[0]"),
        Key("demand", quantities.time_down, "What they need then.", 0),
    ),
    (Choice(("at", "on")),),
)
SCRIPT = Spec(
    "script",
    "a fault script",
    (
        Key(
            "rt_sched_faults",
            {"const": SCRIPT_VERSION},
            "Version of the format of fault scripts.",
            required=True,
            example=f"rt_sched_faults: {SCRIPT_VERSION}",
        ),
        Key("system", fields.name, "The system that it is made for.", ""),
        Key("seed", fields.integer(0, 2**63 - 1), "Seed of what is drawn message by message.", 0, "0"),
        Key("faults", mapping_of({"$spec": FAULT}, 1), "The faults by name.", required=True, example="faults: {...}"),
    ),
    other="x-",
)
