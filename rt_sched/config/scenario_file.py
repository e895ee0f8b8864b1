"""Scenario files: text in, a Scenario for a system out, or every mistake with line and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeVar

from rt_sched.config import fields, quantities
from rt_sched.config.plan_text import system_sha256
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.scenario_text import SCENARIO_VERSION
from rt_sched.config.table import Key, Spec, Table, mapping_entries, mapping_of
from rt_sched.config.value import list_of, value
from rt_sched.config.yaml_file import root_of_file
from rt_sched.config.yaml_nodes import Node
from rt_sched.errors import ConfigError
from rt_sched.model import JobChoice, SampleChoice, Scenario, Shown, System

T = TypeVar("T")


class Quantity(str, Enum):
    """Of which time a scenario shows a large one."""

    RESPONSE = "response"
    REACTION = "reaction"
    LATENCY = "latency"
    DATA_AGE = "data_age"


@value(quantities.TIME)
def whole_lateness(node: Node, problems: Problems) -> int | None:
    """A time in whole nanoseconds, negative for a clock that is early; a part of one would not run as it is written."""
    found = quantities.exact_time(node, problems)
    if found is None or found.denominator == 1:
        return None if found is None else int(found)
    problems.add(node, f"{node.shown} is no number of whole nanoseconds")
    return None


@value(quantities.NON_NEGATIVE_TIME)
def whole_time(node: Node, problems: Problems) -> int | None:
    """A time of zero or more in whole nanoseconds."""
    found = whole_lateness(node, problems)
    if found is None or found >= 0:
        return found
    problems.add(node, f"{node.shown} must not be negative")
    return None


@value(list_of(quantities.NON_NEGATIVE_TIME))
def whole_times(node: Node, problems: Problems) -> tuple[int, ...] | None:
    """A list of times."""
    items = fields.elements(node, "suspensions", problems)
    found = None if items is None else [whole_time(item, problems) for item in items]
    return None if found is None or None in found else tuple(one for one in found if one is not None)


SHOWS = Spec(
    "shows",
    "what a scenario shows",
    (
        Key("target", fields.text, "The task or chain.", "", required=True, example="target: detect"),
        Key(
            "quantity",
            fields.choice(Quantity, "quantity"),
            "Which of its times.",
            required=True,
            example="quantity: response",
        ),
        Key("value", whole_time, "How long it is.", 0, required=True, example="value: 12ms"),
    ),
)
SAMPLE = Spec(
    "sample",
    "a sample",
    (
        Key("capture", whole_time, "When it is captured.", 0, required=True, example="capture: 33ms"),
        Key("arrival", whole_time, "When it is at its device.", 0, required=True, example="arrival: 38ms"),
    ),
)
JOB = Spec(
    "job",
    "a job",
    (
        Key("arrival", whole_time, "When it arrives; of sporadic tasks only."),
        Key("jitter", whole_time, "By how much its release is later.", 0, "0ns"),
        Key("demand", whole_time, "Execution time on its element, at the first frequency.", default_text="the longest"),
        Key("suspensions", whole_times, "How long it waits inside.", default_text="the longest"),
    ),
)
SCENARIO = Spec(
    "scenario",
    "a scenario file",
    (
        Key(
            "rt_sched_scenario",
            {"const": SCENARIO_VERSION},
            "Version of the format of scenario files.",
            required=True,
            example=f"rt_sched_scenario: {SCENARIO_VERSION}",
        ),
        Key("system", fields.name, "The system it is a run of.", "", required=True, example="system: quad_orin"),
        Key("system_sha256", fields.text, "Hash of that system, to tell whether it has changed since.", ""),
        Key("plan_sha256", fields.text, "Hash of the plan under which it was found.", ""),
        Key("shows", {"$spec": SHOWS}, "What it was kept for."),
        Key("duration", quantities.time_down, "How long it is.", 1, required=True, example="duration: 250ms"),
        Key("clocks", mapping_of(quantities.TIME), "By how much the clocks of devices are late."),
        Key("samples", mapping_of(list_of({"$spec": SAMPLE}, 0)), "All samples of sensors."),
        Key("tasks", mapping_of(list_of({"$spec": JOB}, 0)), "The first jobs of tasks."),
    ),
    other="x-",
)


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario as read. `made_for_another`: whether the system has changed since it was found.

    `places`: where the parts of the scenario stand, by the words with which a problem names them.
    """

    file: str
    scenario: Scenario
    made_for_another: bool
    places: Mapping[str, Node]

    def refusal(self, reasons: Sequence[tuple[str, str]]) -> ConfigError:
        """What of it the system does not allow, each reason at its line."""
        problems = Problems(self.file)
        for where, reason in reasons:
            node = self.places.get(where) or self.places.get(where.rpartition(".")[0])
            if node is None:
                problems.add_at(0, 0, where, reason)
            else:
                problems.add(node, reason)
        return problems.error()


def load_scenario_file(path: str | Path, system: System) -> ScenarioFile:
    """The scenario in the file at `path`, for `system`; whether that allows it is for `scenario_problems` to say.

    Raises ConfigError with every problem found, each with line, column, value and valid choices.
    """
    problems = Problems(str(path))
    root = root_of_file(Path(path), "scenario file", problems)
    found = _Reader(system, str(path), problems).read(root)
    problems.raise_if_any()
    return found


@dataclass
class _Reader:
    system: System
    file: str
    problems: Problems
    places: dict[str, Node] = field(default_factory=dict)

    def read(self, root: Node) -> ScenarioFile:
        top = Table(root, SCENARIO, self.problems)
        version = top.get("rt_sched_scenario")
        if version is not None and fields.plain_number(version) != SCENARIO_VERSION:
            text = f"this program reads version {SCENARIO_VERSION} of scenario files, not {version.shown}"
            self.problems.add(version, text)
        name, digest, system_node = top.read("system"), top.read("system_sha256"), top.get("system")
        if system_node is not None and name and name != self.system.name:
            self.problems.add(system_node, f"the scenario is one of system {name}, not of {self.system.name}")
        devices, sensors, tasks = (
            [one.name for one in part] for part in (self.system.devices, self.system.sensors, self.system.tasks)
        )
        scenario = Scenario(
            system=self.system.name,
            horizon_ns=top.read("duration"),
            clocks=tuple(self._named(top, "clocks", "device", devices, self._lateness).items()),
            samples=tuple(self._named(top, "samples", "sensor", sensors, self._samples).items()),
            tasks=tuple(self._named(top, "tasks", "task", tasks, self._jobs).items()),
            shown=self._shown(top.get("shows")),
            system_sha256=digest,
            plan_sha256=top.read("plan_sha256"),
        )
        return ScenarioFile(self.file, scenario, digest != system_sha256(self.system), self.places)

    def _named(
        self, top: Table, key: str, what: str, known: Sequence[str], read: Callable[[str, Node], T | None]
    ) -> dict[str, T]:
        """Name -> what stands there, for names that the system has."""
        node, found = top.get(key), {}
        for name, entry in mapping_entries(node, key, self.problems).items() if node is not None else ():
            if name not in known:
                self.problems.add(entry.key, unknown(what, name, known))
                continue
            self.places[f"{key}.{name}"] = entry.key
            one = read(name, entry.value)
            if one is not None:
                found[name] = one
        return found

    def _lateness(self, _name: str, node: Node) -> int | None:
        return whole_lateness(node, self.problems)

    def _samples(self, name: str, node: Node) -> tuple[SampleChoice, ...]:
        found = []
        for number, item in enumerate(fields.elements(node, "samples", self.problems) or ()):
            table = Table(item, SAMPLE, self.problems)
            self.places[f"samples.{name}[{number}]"] = item
            found.append(SampleChoice(table.read("capture"), table.read("arrival")))
        return tuple(found)

    def _jobs(self, name: str, node: Node) -> tuple[JobChoice, ...]:
        found = []
        for number, item in enumerate(fields.elements(node, "tasks", self.problems) or ()):
            table = Table(item, JOB, self.problems)
            where = f"tasks.{name}[{number}]"
            self.places[where] = item
            for key in JOB.names:
                if (at := table.get(key)) is not None:
                    self.places[f"{where}.{key}"] = at
            found.append(JobChoice(*(table.read(key) for key in ("arrival", "jitter", "demand", "suspensions"))))
        return tuple(found)

    def _shown(self, node: Node | None) -> Shown | None:
        if node is None:
            return None
        table = Table(node, SHOWS, self.problems)
        target, quantity = table.read("target"), table.read("quantity")
        known = [*(task.name for task in self.system.tasks), *(chain.name for chain in self.system.chains)]
        if target and target not in known:
            self.problems.add(table.get("target") or node, unknown("task or chain", target, known))
        return Shown(target, "" if quantity is None else quantity.value, table.read("value"))
