"""What the tasks of a recording are to run on, and how long they may take there: guesses, all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.app.init.topics import ChosenTopics, FoundSensor
from rt_sched.ports import TopicKind
from rt_sched.units import NS_PER_MS, NS_PER_S, parse_time

#: Share of one GPU that detectors may use before a further device is assumed.
_GPU_SHARE = Fraction(6, 10)
#: Modelled execution times on an Orin-class device: (bcet, wcet), in the file's own notation. The detector's figure is
#: that of INT8 networks of its size on Orin; the others leave room over what the stages need on a desktop core.
_ORIN_TIMES = {
    "pre": ("1ms", "4ms"),
    "infer": ("6ms", "9ms"),
    "post": ("200us", "1.5ms"),
    "lidar_pre": ("4ms", "12ms"),
    "cluster": ("1ms", "8ms"),
    "imu": ("20us", "100us"),
    "fuse": ("300us", "4ms"),
    "understand": ("50us", "500us"),
    "plan": ("20us", "300us"),
    "control": ("20us", "200us"),
    "backup": ("1ms", "8ms"),
    "camera_backup": ("3ms", "18ms"),
    "arbiter": ("20us", "100us"),
}
#: Of a core of a small virtual machine, in a process of its own for each task, with room.
_HOST_TIMES = {
    "pre": ("0.1ms", "10ms"),
    "infer": ("4ms", "60ms"),
    "post": ("0.1ms", "6ms"),
    "lidar_pre": ("1ms", "20ms"),
    "cluster": ("0.5ms", "10ms"),
    "imu": ("20us", "2.5ms"),
    "fuse": ("0.1ms", "35ms"),
    "understand": ("20us", "5ms"),
    "plan": ("20us", "4ms"),
    "control": ("20us", "3ms"),
    "backup": ("0.2ms", "7ms"),
    "camera_backup": ("1ms", "30ms"),
    "arbiter": ("20us", "3.5ms"),
}
#: What works on a picture or a sweep, beside what decides.
_HEAVY = ("infer", "lidar_pre", "cluster")


@dataclass(frozen=True, slots=True)
class Target:
    """`lines`: of the system file, that declare it. `times`: of each kind of work, (bcet, wcet). `whose`: they are.

    `rates`: of what runs on the clock. `attached`: sensor -> device. `places`: (kind of work, sensor or "") -> element;
    what is not in it runs on `elsewhere`. `overloaded`: cameras of which an element is asked for more than all it has.
    `late_ns`: by how much later than recorded messages may come.
    """

    lines: tuple[str, ...]
    times: Mapping[str, tuple[str, str]]
    whose: str
    rates: Mapping[str, str]
    attached: Mapping[str, str]
    places: Mapping[tuple[str, str], str]
    elsewhere: str
    overloaded: frozenset[str]
    late_ns: int

    def place(self, kind: str, sensor: str = "") -> str:
        """The element of a task."""
        return self.places.get((kind, sensor), self.elsewhere)


def orin_class(chosen: ChosenTopics) -> Target:
    """Devices of one make; cameras are spread so that no GPU is asked for more than its share by several of them."""
    attached, share = {}, {}
    device, used = 1, Fraction(0)
    for sensor in chosen.sensors:
        share[sensor.name] = asked = _share(sensor, _ORIN_TIMES)
        if used and asked and used + asked > _GPU_SHARE:
            device, used = device + 1, Fraction(0)
        used += asked
        attached[sensor.name] = f"orin-{device if asked else 1}"
    places: dict[tuple[str, str], str] = {}
    for sensor in chosen.of_kind(TopicKind.CAMERA):
        name, on = sensor.name, attached[sensor.name]
        places |= {("pre", name): f"{on}.cpu", ("infer", name): f"{on}.gpu", ("post", name): f"{on}.cpu"}
    lines = ["devices:  # guess: the recording does not say on what it will run"]
    lines += [f"  {name}: {{soc: agx-orin, power_mode: MAXN}}" for name in sorted({*attached.values()})]
    if chosen.decides:
        lines.append("  gateway: {soc: safety-mcu}")
        places["arbiter", ""] = "gateway.mcu"
    return Target(
        tuple(lines),
        _ORIN_TIMES,
        "an Orin-class device",
        {"fuse": "30Hz", "arbiter": "100Hz"},
        attached,
        places,
        "orin-1.cpu",
        frozenset(name for name, asked in share.items() if asked > 1),
        late_ns=0,
    )


def this_host(chosen: ChosenTopics, cores: Sequence[int]) -> Target:
    """Cores of this host, each an element of its own: the first decides, the others take networks and sweeps in turn.

    `cores`: at least one; no more are taken than have work.
    """
    heavy = [sensor for sensor in chosen.sensors if sensor.topic.kind is not TopicKind.IMU]
    cores = sorted(cores)[: 1 + len(heavy)]
    workers = cores[1:] or cores
    places: dict[tuple[str, str], str] = {}
    load, taken = dict.fromkeys(cores, Fraction(0)), {}
    for number, sensor in enumerate(heavy):
        taken[sensor.name] = core = workers[number % len(workers)]
        load[core] += _share(sensor, _HOST_TIMES)
        places |= {(kind, sensor.name): f"host.cpu{core}" for kind in _HEAVY}
    elements = ", ".join(f"cpu{core}: {{kind: cpu, cores: 1, switch_cost: 0.2ms}}" for core in cores)
    return Target(
        (
            "devices:  # guess: cores of this host, for paced runs; the switch cost is what it may need to start a job",
            f"  host: {{processing_elements: {{{elements}}}}}",
            "",
            f"deploy: {{{', '.join(f'host.cpu{core}: {core}' for core in cores)}}}",
        ),
        _HOST_TIMES,
        "a small virtual machine; `rt-sched profile` measures those of this host",
        {"fuse": "10Hz", "arbiter": "50Hz"},
        {sensor.name: "host" for sensor in chosen.sensors},
        places,
        f"host.cpu{cores[0]}",
        frozenset(sensor.name for sensor in chosen.of_kind(TopicKind.CAMERA) if load[taken[sensor.name]] > 1),
        late_ns=2 * NS_PER_MS,
    )


def _share(sensor: FoundSensor, times: Mapping[str, tuple[str, str]]) -> Fraction:
    """Of one element, that the sensor's network asks for; 0 for other sensors than cameras."""
    if sensor.topic.kind is not TopicKind.CAMERA:
        return Fraction(0)
    return sensor.rate_hz * parse_time(times["infer"][1]) / NS_PER_S
