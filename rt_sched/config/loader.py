"""A system file becomes a System, or a ConfigError that tells every mistake at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hw.soc_catalogue import SOC_CATALOGUE, SocModel
from rt_sched.config import fields
from rt_sched.config.chains import read_chains
from rt_sched.config.fields import Table
from rt_sched.config.platform import read_devices
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.safety import read_safety
from rt_sched.config.sensors import read_sensors, sensor_producers
from rt_sched.config.tasks import connect_tasks, read_tasks, task_producers
from rt_sched.config.yaml_nodes import MAX_FILE_BYTES, Node, parse
from rt_sched.model import System
from rt_sched.ports import StageCatalogue

FORMAT_VERSION = 1
POLICIES = ("rms", "dm", "edf")

_TOP_KEYS = ("rt_sched", "name", "policy", "devices", "sensors", "tasks", "chains", "safety")


def load_system(path: str | Path, *, stages: StageCatalogue, socs: Mapping[str, SocModel] = SOC_CATALOGUE) -> System:
    """Read and check the system file at `path`. `stages` knows the stages, `socs` the chips, that the file may name.

    Raises ConfigError with every problem found, each with line, column, value and valid choices.
    """
    file = Path(path)
    problems = Problems(str(path))
    data = _read_file(file, problems)
    problems.raise_if_any()
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
    return _load(text.encode("utf-8", "surrogatepass"), Problems(file_name), Path(base_dir), stages, socs)


def _load(
    data: bytes, problems: Problems, base_dir: Path, stages: StageCatalogue, socs: Mapping[str, SocModel]
) -> System:
    root = parse(data, problems)
    if root is None:
        raise problems.error()
    top = _read_top(root, problems)
    devices = read_devices(top.need("devices", "devices: {orin-1: {soc: agx-orin}}"), socs, problems)
    sensors_node = top.need("sensors", "sensors: {front: {kind: camera, rate: 30Hz, ...}}")
    sensor_drafts = read_sensors(sensors_node, devices, problems)
    sensors = {name: draft.sensor for name, draft in sensor_drafts.items()}
    drafts = read_tasks(top.need("tasks", "tasks: {detect: {stage: ..., runs_on: ...}}"), devices, stages, problems)
    for name in drafts.keys() & sensors.keys():
        problems.add(drafts[name].key, f"{name!r} is a sensor too, in line {sensor_drafts[name].key.line}")
    producers = task_producers(drafts) | sensor_producers(sensor_drafts)
    tasks = connect_tasks(drafts, sensors, producers, problems)
    chains = read_chains(top.get("chains"), sensors, drafts, problems)
    safety = read_safety(top.get("safety"), drafts, problems)
    name = top.read("name", fields.name, "")
    policy = top.read("policy", fields.one_of(POLICIES, "policy"), POLICIES[0])
    problems.raise_if_any()
    return System(name, tuple(devices.values()), tuple(sensors.values()), tasks, chains, safety, policy, str(base_dir))


def _read_top(root: Node, problems: Problems) -> Table:
    known = [*_TOP_KEYS, *(key for key in root.entries if key.startswith("x-"))]
    for key, entry in root.entries.items():
        if key not in known:
            problems.add(entry.key, f"{unknown('section', key, _TOP_KEYS)}, and x-... for anchors")
    top = Table(root, "a system file", list(root.entries), problems)
    version = top.need("rt_sched", f"rt_sched: {FORMAT_VERSION}, the version of the file format")
    if version is not None and fields.plain_number(version) != FORMAT_VERSION:
        problems.add(version, f"this program reads version {FORMAT_VERSION} of the file format, not {version.shown}")
    top.need("name", "name: quad_orin")
    return top


def _read_file(file: Path, problems: Problems) -> bytes:
    """The file's bytes, at most one more than allowed; a file that cannot be read becomes a problem."""
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        problems.add_at(0, 0, "", _missing_file_message(file))
    except IsADirectoryError:
        problems.add_at(0, 0, "", "this is a folder, not a system file")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problems.add_at(0, 0, "", f"the file cannot be read: {reason}")
    return b""


def _missing_file_message(file: Path) -> str:
    try:
        nearby = sorted(entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml"))
    except OSError:
        return f"there is no such file, and no folder {file.parent} that can be read"
    if not nearby:
        return "there is no such file"
    return f"there is no such file; {unknown('name', file.name, nearby)}"
