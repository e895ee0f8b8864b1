"""What the watch over sensors is told before a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from rt_sched.analysis.faults.takeover_detection import silence_timeout_ns
from rt_sched.analysis.system.propagation import sensor_gap_ns
from rt_sched.errors import DeploymentError
from rt_sched.faults.declared import health_age_limit_ns
from rt_sched.faults.watching import monitors_of
from rt_sched.model import Plan, Sensor, SensorKind, System, Task
from rt_sched.ports import StageContext
from rt_sched.runtime.health_order import HEALTH_SOURCE, HealthOrder, WatchedSensor
from rt_sched.runtime.paced.deployment import core_mates
from rt_sched.units import NS_PER_MS, NS_PER_US, floor_int, format_ns
from safety.monitors.silence import Silence
from safety.vouching import GOOD_SAMPLES, HEALTH_INPUT

#: CPU time of a report, and of one sample by kind of sensor: at least twice of what slow virtual machines need.
_REPORT_NS = 500 * NS_PER_US
_SAMPLE_NS = {SensorKind.CAMERA: NS_PER_MS, SensorKind.LIDAR: NS_PER_MS // 2, SensorKind.IMU: 200 * NS_PER_US}
#: For each pixel of a picture, and for each byte of a sweep.
_PIXEL_NS, _BYTE_NS = 12, 1
#: A cycle is to need no more than a quarter of its period, which is a multiple of this one.
_PERIODS_OF_CYCLE = 4
_PERIOD_NS, _LONGEST_NS = 10 * NS_PER_MS, 200 * NS_PER_MS
#: An age limit has to bear this many periods: a report that is made late, and one that is lost. And where nobody has
#: set one, the watch stands still after so many.
_PERIODS_OF_AGE, _PERIODS_OF_STANDSTILL = 3, 10


def asks_for_reports(system: System) -> bool:
    """Whether the arbiter does."""
    return health_age_limit_ns(system) is not None


def health_order(
    system: System,
    plan: Plan,
    recorded: Collection[str],
    bytes_of: Mapping[tuple[str, str | None], int],
    until_ns: int,
    *,
    always: bool,
) -> HealthOrder | None:
    """None where nobody asks for a watch, or there is nothing to watch.

    `recorded`: sensors that the recording holds. `bytes_of`: largest message of each sensor, port None. `until_ns`:
    when the last message would come. `always`: also where the arbiter does not ask for it. Raises DeploymentError for
    an age limit that reports cannot keep.
    """
    read = {port.source for task in system.tasks for port in task.inputs}
    sensors = [one for one in system.sensors if one.name in read and one.name in recorded]
    arbiter = _arbiter(system)
    limit_ns = health_age_limit_ns(system)
    if not sensors or (limit_ns is None and not always):
        return None
    sizes = {one.name: bytes_of.get((one.name, None), 0) for one in sensors}
    period_ns = _PERIOD_NS
    while period_ns < _LONGEST_NS and _PERIODS_OF_CYCLE * _cycle_ns(sensors, sizes, period_ns) > period_ns:
        period_ns += _PERIOD_NS
    least_ns = _PERIODS_OF_AGE * period_ns
    age_ns = _PERIODS_OF_STANDSTILL * period_ns if limit_ns is None else limit_ns
    if age_ns < least_ns and arbiter is not None:
        raise DeploymentError(
            f"task {arbiter.name}: health_age_limit_ms: {age_ns / NS_PER_MS:g} is too short; sensors are reported "
            f"on every {format_ns(period_ns)}, and a limit has to bear {_PERIODS_OF_AGE} of these: "
            f"{format_ns(least_ns)}"
        )
    given = {} if arbiter is None else dict(arbiter.parameters)
    return HealthOrder(
        sensors=[_watched(system, one, until_ns) for one in sensors],
        device=(system.tasks[0] if arbiter is None else arbiter).pe[0],
        period_ns=period_ns,
        cycle_wcet_ns=_cycle_ns(sensors, sizes, period_ns),
        processor=_idlest(system, plan),
        age_limit_ns=age_ns,
        good_samples=int(given.get("recovery_samples", GOOD_SAMPLES)),
        reader=None if arbiter is None or limit_ns is None else arbiter.name,
    )


def fed_context(context: StageContext, order: HealthOrder | None) -> StageContext:
    """What a stage is told at start, where reports are for it."""
    if order is None or order.reader != context.task:
        return context
    return replace(context, sources={**context.sources, HEALTH_INPUT: HEALTH_SOURCE})


def _arbiter(system: System) -> Task | None:
    name = None if system.safety is None else system.safety.arbiter
    return next((task for task in system.tasks if task.name == name), None)


def _watched(system: System, sensor: Sensor, until_ns: int) -> WatchedSensor:
    timeout_ns = silence_timeout_ns(system, sensor)
    first_ns = sensor.latency_ns + sensor.jitter_ns  # what is captured just when the run begins is this long on its way
    return WatchedSensor(
        sensor.name,
        partial(monitors_of, system, sensor),
        lambda begin_ns: Silence(timeout_ns, max(begin_ns, first_ns), until_ns),
    )


def _cycle_ns(sensors: Collection[Sensor], sizes: Mapping[str, int], period_ns: int) -> int:
    """What a cycle may need, with all samples that can come in a period."""
    return _REPORT_NS + sum(
        (period_ns // max(_least_gap_ns(one), 1) + 1) * _sample_ns(one, sizes[one.name]) for one in sensors
    )


def _least_gap_ns(sensor: Sensor) -> int:
    """Between two captures: what the largest is beyond the nominal one, the smallest is below."""
    nominal_ns = floor_int(1_000_000_000 / sensor.rate_hz)
    return 2 * nominal_ns - sensor_gap_ns(sensor)


def _sample_ns(sensor: Sensor, size: int) -> int:
    if sensor.kind is SensorKind.CAMERA:
        rows, columns = sensor.calibration.image_height, sensor.calibration.image_width
        return _SAMPLE_NS[sensor.kind] + _PIXEL_NS * (rows * columns if rows and columns else size)
    return _SAMPLE_NS[sensor.kind] + (_BYTE_NS * size if sensor.kind is SensorKind.LIDAR else 0)


def _idlest(system: System, plan: Plan) -> int:
    """The processor with the smallest load on its core, by its index."""
    load = [0.0] * len(plan.processors)
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        load[placement.processor] += task.execution.wcet_ns / max(task.separation_ns, 1)
    of_core = [sum(load[mate] for mate in mates) for mates in core_mates(system, plan)]
    return of_core.index(min(of_core))
