"""A small system: two devices, a dual-homed camera, a LiDAR, four tasks."""

from fractions import Fraction

import pytest

from rt_sched.model import (
    DeadlineAction,
    Device,
    Edge,
    EdgeKind,
    ExecutionTime,
    Input,
    Join,
    OnMessage,
    Overflow,
    PEKind,
    Periodic,
    Placement,
    Plan,
    Policy,
    ProcessingElement,
    Processor,
    Sensor,
    SensorKind,
    System,
    Task,
)

QUEUE = Edge(EdgeKind.QUEUE, depth=3, overflow=Overflow.DROP_NEWEST)
LATEST = Edge(EdgeKind.LATEST)
TIMES = ExecutionTime(bcet_ns=100, wcet_ns=400, profile_ns=(100, 200, 400))


def make_task(name: str, pe: tuple[str, str], activation: Periodic | OnMessage, *inputs: Input, **more: object) -> Task:
    values: dict = {"deadline_ns": 1000, "separation_ns": 1000, **more}
    return Task(name, "module:Stage", (), pe, activation, inputs, TIMES, **values)


@pytest.fixture
def system() -> System:
    cpu = ProcessingElement("cpu", PEKind.CPU, 2, Policy.FIXED_PRIORITY, True)
    gpu = ProcessingElement("gpu", PEKind.GPU, 1, Policy.FIFO, False)
    camera = Sensor("front", SensorKind.CAMERA, Fraction(30), ("orin-1", "orin-2"), ())
    lidar = Sensor("top", SensorKind.LIDAR, Fraction(10), ("orin-2",), ())
    any_queued = OnMessage(Join.ANY)
    return System(
        name="small",
        devices=(Device("orin-1", (cpu, gpu)), Device("orin-2", (cpu,))),
        sensors=(camera, lidar),
        tasks=(
            make_task("decode", ("orin-1", "cpu"), any_queued, Input("image", "front", None, QUEUE), core=1),
            make_task("detect", ("orin-1", "gpu"), any_queued, Input("frame", "decode", "frame", QUEUE)),
            make_task(
                "pair",
                ("orin-2", "cpu"),
                OnMessage(Join.ALL, tolerance_ns=7),
                Input("boxes", "detect", "boxes", QUEUE),
                Input("cloud", "top", None, QUEUE),
                Input("image", "front", None, LATEST, required=False),
                budget_ns=300,
                deadline_action=DeadlineAction.ABORT,
            ),
            make_task(
                "fuse", ("orin-2", "cpu"), Periodic(Fraction(30), offset_ns=5), Input("in", "pair", "out", LATEST)
            ),
            make_task(
                "watch",
                ("orin-2", "cpu"),
                OnMessage(Join.LATEST, primary="cloud"),
                Input("cloud", "top", None, LATEST),
                Input("boxes", "pair", "out", LATEST),
            ),
        ),
        chains=(),
        safety=None,
        policy="rms",
        base_dir=".",
    )


@pytest.fixture
def plan() -> Plan:
    return Plan(
        "small",
        "rms",
        (
            Processor("orin-1", "cpu", 0, Policy.FIXED_PRIORITY, True),
            Processor("orin-1", "cpu", 1, Policy.FIXED_PRIORITY, True),
            Processor("orin-1", "gpu", 0, Policy.FIFO, False),
            Processor("orin-2", "cpu", 0, Policy.FIXED_PRIORITY, True),
        ),
        (
            Placement("decode", 1, 0),
            Placement("detect", 2, 0),
            Placement("pair", 3, 1),
            Placement("fuse", 3, 0),
            Placement("watch", 3, 2),
        ),
    )
