"""A system file becomes a System, or a ConfigError that tells every mistake at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hw.soc_catalogue import SOC_CATALOGUE, SocModel
from rt_sched.config import fields
from rt_sched.config.chains import CHAIN, read_chains
from rt_sched.config.deploy import DEPLOY, read_deployments
from rt_sched.config.faults import FAULT, read_faults
from rt_sched.config.links import LINK, check_link_use, read_links
from rt_sched.config.modes import MODE, read_modes
from rt_sched.config.placement import check_cycles
from rt_sched.config.platform import DEVICE, read_devices
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.profile_file import read_profile
from rt_sched.config.requirements import LIMITS, REQUIREMENTS, read_requirements
from rt_sched.config.resources import RESOURCE, check_uses, read_resources
from rt_sched.config.safety import SAFETY, read_safety
from rt_sched.config.sensors import SENSOR, TRIGGER, read_sensors, read_triggers, sensor_producers
from rt_sched.config.table import Key, Spec, Table, mapping_of
from rt_sched.config.tasks import TASK, Surroundings, connect_tasks, read_tasks, task_producers
from rt_sched.config.yaml_file import file_bytes, why_unreadable
from rt_sched.config.yaml_nodes import Node, parse
from rt_sched.model import ExecutionTime, System, Task
from rt_sched.ports import StageCatalogue

FORMAT_VERSION = 1
POLICIES = ("rms", "dm", "opa", "edf")

SYSTEM = Spec(
    "system",
    "a system file",
    (
        Key(
            "rt_sched",
            {"const": FORMAT_VERSION},
            "Version of the file format.",
            required=True,
            example=f"rt_sched: {FORMAT_VERSION}, the version of the file format",
        ),
        Key("name", fields.name, "What the system is called.", "", required=True, example="name: quad_orin"),
        Key("policy", fields.one_of(POLICIES, "policy"), "How priorities are assigned.", POLICIES[0], POLICIES[0]),
        Key(
            "devices",
            mapping_of({"$spec": DEVICE}, 1),
            "The computers.",
            required=True,
            example="devices: {orin-1: {soc: agx-orin}}",
        ),
        Key("links", mapping_of({"$spec": LINK}), "What connects devices."),
        Key("triggers", mapping_of({"$spec": TRIGGER}), "Hardware signals that make sensors sample together."),
        Key("sensors", mapping_of({"$spec": SENSOR}), "The sensors.", default_text="none"),
        Key("resources", mapping_of({"$spec": RESOURCE}), "What only one job at a time may hold."),
        Key(
            "tasks",
            mapping_of({"$spec": TASK}, 1),
            "The tasks.",
            required=True,
            example="tasks: {detect: {stage: ..., runs_on: ...}}",
        ),
        Key("chains", mapping_of({"$spec": CHAIN}), "Paths through tasks, from a sensor or a timed task, with limits."),
        Key("modes", mapping_of({"$spec": MODE}, 1), "Ways to operate; a run begins in the first."),
        Key("faults", mapping_of({"$spec": FAULT}), "Single faults that the system must survive."),
        Key("safety", {"$spec": SAFETY}, "Which task commands, and what stands behind it."),
        Key("profile", fields.WORD, "A profile file, whose execution times replace those of its tasks."),
        Key("deploy", DEPLOY, "The host cores that stand for elements in a paced run."),
        Key("requirements", REQUIREMENTS, "What sets the limits of the file, for the report."),
    ),
    other="x-",
)


def load_system(path: str | Path, *, stages: StageCatalogue, socs: Mapping[str, SocModel] = SOC_CATALOGUE) -> System:
    """Read and check the system file at `path`. `stages` knows the stages, `socs` the chips, that the file may name.

    Raises ConfigError with every problem found, each with line, column, value and valid choices.
    """
    file = Path(path)
    problems = Problems(str(path))
    data = _read_file(file, problems)
    problems.raise_if_any()
    with _cycle_collection_paused():
        return _load(data, problems, file.resolve().parent, stages, socs)


def load_system_text(
    text: str,
    *,
    file_name: str,
    base_dir: str | Path,
    stages: StageCatalogue,
    socs: Mapping[str, SocModel] = SOC_CATALOGUE,
) -> System:
    """As `load_system`, from text. `file_name` appears in messages; relative paths in it refer to `base_dir`."""
    data = text.encode("utf-8", "surrogatepass")
    with _cycle_collection_paused():
        return _load(data, Problems(file_name), Path(base_dir), stages, socs)


@contextmanager
def _cycle_collection_paused() -> Iterator[None]:
    """All nodes of a file live until it is read, so looking for garbage among them takes time and finds none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def system_tree(path: Path) -> Node:
    """The root of the system file at `path`, parsed but not read; raises ConfigError where it is none."""
    problems = Problems(str(path))
    data = _read_file(path, problems)
    problems.raise_if_any()
    root = parse(data, problems)
    if root is None:
        raise problems.error()
    return root


def _load(
    data: bytes, problems: Problems, base_dir: Path, stages: StageCatalogue, socs: Mapping[str, SocModel]
) -> System:
    root = parse(data, problems)
    if root is None:
        raise problems.error()
    return load_system_tree(root, problems, base_dir, stages, socs)


def load_system_tree(
    root: Node, problems: Problems, base_dir: Path, stages: StageCatalogue, socs: Mapping[str, SocModel] = SOC_CATALOGUE
) -> System:
    """As `load_system`, from the root of a tree that has been parsed; `problems` may hold mistakes already."""
    top = _read_top(root, problems)
    devices = read_devices(top.get("devices"), socs, problems)
    links = read_links(top.get("links"), devices, problems)
    triggers = read_triggers(top.get("triggers"), problems)
    sensor_drafts = read_sensors(top.get("sensors"), devices, triggers, problems)
    sensors = {name: draft.sensor for name, draft in sensor_drafts.items()}
    resources = read_resources(top.get("resources"), problems)
    kinds = {name: draft.sensor.kind.value if draft.kind_known else None for name, draft in sensor_drafts.items()}
    drafts = read_tasks(top.get("tasks"), Surroundings(devices, resources, stages, kinds), problems)
    for name in drafts.keys() & sensors.keys():
        problems.add(drafts[name].key, f"{name!r} is a sensor too, in line {sensor_drafts[name].key.line}")
    producers = task_producers(drafts) | sensor_producers(sensor_drafts)
    tasks = connect_tasks(drafts, sensors, producers, problems)
    check_link_use(drafts, sensors, links, problems)
    check_uses([use for draft in drafts.values() for use in draft.uses], resources, problems)
    places = {name: (draft.pe, draft.key) for name, draft in drafts.items()}
    check_cycles(top.get("devices"), devices, places, problems)
    chains = read_chains(top.get("chains"), sensors, drafts, problems)
    modes = read_modes(top.get("modes"), drafts, devices, socs, problems)
    faults = read_faults(top.get("faults"), sensors, devices, links, drafts, modes, problems)
    safety = read_safety(top.get("safety"), drafts, problems)
    requirements = read_requirements(top.get("requirements"), {name: top.get(name) for name in LIMITS}, problems)
    measured = read_profile(top.get("profile"), base_dir, drafts, problems)
    deployments = read_deployments(top.get("deploy"), devices, problems)
    problems.raise_if_any()
    return System(
        name=top.read("name"),
        devices=tuple(devices.values()),
        sensors=tuple(sensors.values()),
        tasks=tuple(_with_measured(task, measured.get(task.name)) for task in tasks),
        chains=chains,
        safety=safety,
        policy=top.read("policy"),
        base_dir=str(base_dir),
        resources=tuple(resources.values()),
        links=tuple(links.values()),
        triggers=tuple(triggers.values()),
        modes=tuple(modes.values()),
        fault_scenarios=faults,
        requirements=requirements,
        deployments=deployments,
    )


def _with_measured(task: Task, measured: ExecutionTime | None) -> Task:
    """The task with measured times, which hold wherever it may run."""
    return task if measured is None else replace(task, execution=measured, execution_by_kind=())


def _read_top(root: Node, problems: Problems) -> Table:
    top = Table(root, SYSTEM, problems)
    version = top.get("rt_sched")
    if version is not None and fields.plain_number(version) != FORMAT_VERSION:
        problems.add(version, f"this program reads version {FORMAT_VERSION} of the file format, not {version.shown}")
    for key in ("name", "policy"):
        top.read(key)
    return top


def _read_file(file: Path, problems: Problems) -> bytes:
    """The file's bytes, at most one more than allowed; a file that cannot be read becomes a problem."""
    try:
        return file_bytes(file)
    except FileNotFoundError:
        problems.add_at(0, 0, "", _missing_file_message(file))
    except IsADirectoryError:
        problems.add_at(0, 0, "", "this is a folder, not a system file")
    except (OSError, ValueError) as error:
        problems.add_at(0, 0, "", f"the file cannot be read: {why_unreadable(error)}")
    return b""


def _missing_file_message(file: Path) -> str:
    try:
        nearby = sorted(entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml"))
    except OSError:
        return f"there is no such file, and no folder {file.parent} that can be read"
    if not nearby:
        return "there is no such file"
    return f"there is no such file; {unknown('name', file.name, nearby)}"
