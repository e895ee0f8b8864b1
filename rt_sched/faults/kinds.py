"""Every kind of fault that a script may name: what it strikes, what it does, where it is carried out, who finds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from rt_sched.units import ceil_int


class Strikes(str, Enum):
    """What a kind of fault has for its target."""

    CAMERA = "camera"
    LIDAR = "lidar"
    IMU = "imu"
    SENSOR = "sensor"
    TASK = "task"
    DEVICE = "device"
    LINK = "link"
    RESOURCE = "resource"
    ARBITER = "arbiter"


#: The process of a paced run that watches sensors; a fault may name it like a task.
WATCH = "rt-health"
#: Keys of a fault that every kind has, besides those of its own.
LASTS = "for"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault.

    `keys`: those of a fault that belong to this kind; `needs`: those among them that must be there. `monitors`: which
    find it; one is enough. `paced_monitors`: those of paced runs where they are others. `not_lockstep`, `not_paced`:
    why such a run does not carry it out, empty where it does. `processes`: of a paced run itself, which it may strike.
    """

    name: str
    strikes: Strikes
    does: str
    monitors: tuple[str, ...]
    keys: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    not_lockstep: str = ""
    not_paced: str = ""
    paced_monitors: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()

    @property
    def lockstep(self) -> bool:
        """Whether lockstep runs carry it out."""
        return not self.not_lockstep

    @property
    def paced(self) -> bool:
        """Whether paced runs carry it out."""
        return not self.not_paced

    @property
    def found_by(self) -> frozenset[str]:
        """Which monitors find it, in any run."""
        return frozenset(self.monitors + self.paced_monitors)

    @property
    def found_paced_by(self) -> tuple[str, ...]:
        """Which monitors of a paced run find it."""
        return self.paced_monitors or self.monitors


_SHARE = (LASTS, "share")
_NO_LOCK = "modelled jobs hold locks for executed time only, which a hold without execution is not; use overrun"

KINDS: tuple[Kind, ...] = (
    Kind("camera.loss", Strikes.CAMERA, "falls silent", ("silence",), (LASTS,)),
    Kind("camera.freeze", Strikes.CAMERA, "repeats its last picture under new stamps", ("frozen",), (LASTS,)),
    Kind("camera.black", Strikes.CAMERA, "sends black pictures", ("black",), (LASTS,)),
    Kind("camera.saturate", Strikes.CAMERA, "sends white pictures", ("saturated",), (LASTS,)),
    Kind("camera.blur", Strikes.CAMERA, "sends pictures out of focus", ("blurred",), (LASTS, "radius")),
    Kind("lidar.loss", Strikes.LIDAR, "falls silent", ("silence",), (LASTS,)),
    Kind("lidar.freeze", Strikes.LIDAR, "repeats its last sweep under new stamps", ("frozen",), (LASTS,)),
    Kind(
        "lidar.sector",
        Strikes.LIDAR,
        "sees nothing between two directions",
        ("sector", "payload"),
        (LASTS, "from", "to"),
        ("from", "to"),
    ),
    Kind("imu.loss", Strikes.IMU, "falls silent", ("silence",), (LASTS,)),
    Kind("imu.stuck", Strikes.IMU, "repeats its last values under new stamps", ("imu_stuck",), (LASTS,)),
    Kind("imu.saturate", Strikes.IMU, "reads the end of its range", ("imu_range",), (LASTS,)),
    Kind(
        "payload.corrupt",
        Strikes.SENSOR,
        "sends messages that are cut off, or have flipped bits",
        ("payload", "imu_range"),
        (*_SHARE, "how"),
    ),
    Kind(
        "message.delay",
        Strikes.SENSOR,
        "messages arrive late",
        ("stamp_age", "stamp_order", "silence"),
        (*_SHARE, "by"),
        ("by",),
    ),
    Kind("message.duplicate", Strikes.SENSOR, "messages arrive twice", ("stamp_order", "rate"), _SHARE),
    Kind(
        "message.reorder",
        Strikes.SENSOR,
        "every second message arrives behind the one after it",
        ("stamp_order", "stamp_age", "silence"),
        (LASTS,),
    ),
    Kind("message.drop", Strikes.SENSOR, "messages are lost", ("silence", "rate"), _SHARE),
    Kind(
        "process.kill",
        Strikes.TASK,
        "its jobs end, and no more arrive until it is there again",
        ("alive",),
        ("restart",),
        paced_monitors=("exit", "alive"),
        processes=(WATCH,),
    ),
    Kind(
        "process.stall",
        Strikes.TASK,
        "its next job takes that much longer",
        ("budget", "deadline", "alive"),
        ("stall",),
        ("stall",),
        paced_monitors=("stop", "deadline", "alive", "exit"),
        processes=(WATCH,),
    ),
    Kind(
        "overrun",
        Strikes.TASK,
        "jobs need more than they should",
        ("budget", "deadline"),
        ("jobs", "demand"),
        ("demand",),
    ),
    Kind(
        "device.loss",
        Strikes.DEVICE,
        "falls silent, with everything on it",
        ("heartbeat", "alive"),
        (LASTS,),
        paced_monitors=("process_end", "heartbeat"),
    ),
    Kind("link.loss", Strikes.LINK, "nothing goes over it", ("heartbeat",), (LASTS,)),
    Kind(
        "clock.step",
        Strikes.SENSOR,
        "the clock that it stamps with steps; the host's stays as it is",
        ("stamp_age", "stamp_order"),
        (LASTS, "by"),
        ("by",),
    ),
    Kind(
        "resource.hold",
        Strikes.RESOURCE,
        "a lock is held for too long",
        (),
        ("by",),
        ("by",),
        not_lockstep=_NO_LOCK,
        paced_monitors=("lock",),
    ),
    Kind(
        "arbiter.kill",
        Strikes.ARBITER,
        "no command reaches the actuators until it is there again",
        ("alive",),
        ("restart",),
        paced_monitors=("exit", "actuator", "alive"),
    ),
)

#: Kinds that show only where messages arrive by log time, and not by their stamps.
NEED_LOG_TIME = frozenset({"message.delay", "message.duplicate", "message.reorder", "clock.step"})

#: A message that is overtaken comes so many periods late.
OVERTAKEN_AFTER = Fraction(3, 2)
#: Monitors that judge a message by its arrival, and so know nothing of it before.
_AT_ARRIVAL = frozenset({"stamp_age", "stamp_order"})

BY_NAME = {kind.name: kind for kind in KINDS}


def held_back_ns(kind: str, monitor: str, worst_ns: int, by_ns: int = 0) -> int:
    """By how much later than its worst case, from the begin of the fault on, a monitor may find a fault that holds
    messages back, as these come later by so much. `by_ns`: length of a delay.

    No worst case of a monitor of messages is shorter than their period, by which the distance of two is bounded here.
    """
    if monitor not in _AT_ARRIVAL:
        return 0
    if kind == "message.reorder":
        return ceil_int(OVERTAKEN_AFTER * worst_ns)
    return max(by_ns, 0) if kind == "message.delay" else 0
