"""What a valid file means: units, rounding, defaults and derived rates."""

from __future__ import annotations

from fractions import Fraction

from rt_sched.config import system_notes
from rt_sched.config.fields import plain_value
from rt_sched.config.problems import Problems
from rt_sched.config.yaml_nodes import parse
from rt_sched.model import (
    ArrivalClock,
    Criticality,
    DeadlineAction,
    Edge,
    EdgeKind,
    ExecutionTime,
    Input,
    Join,
    OnMessage,
    Overflow,
    PEKind,
    Periodic,
    Policy,
    SensorKind,
)


def _task(system, name):
    return next(task for task in system.tasks if task.name == name)


def _sensor(system, name):
    return next(sensor for sensor in system.sensors if sensor.name == name)


def test_top_level(load) -> None:
    system = load()
    assert (system.name, system.policy, system.base_dir) == ("small", "dm", "/somewhere")
    assert [task.name for task in system.tasks] == ["detect", "cluster", "fuse", "decide", "backup", "arbiter"]
    assert load(("policy: dm\n", "")).policy == "rms"


def test_sensor(load) -> None:
    front, top = load().sensors
    assert front.kind is SensorKind.CAMERA
    assert front.rate_hz == 30
    assert (front.offset_ns, front.latency_ns, front.jitter_ns) == (0, 5_000_000, 500_000)
    assert (front.attached_to, front.topics) == (("orin-1",), ("/camera/front/*",))
    assert front.arrival_clock is ArrivalClock.LOG
    assert top.topics == ("/lidar/top/*", "/velodyne")


def test_devices_from_catalogue_and_written_out(load) -> None:
    orin, gateway = load().devices
    assert [(pe.name, pe.kind, pe.cores, pe.preemptive) for pe in orin.processing_elements] == [
        ("cpu", PEKind.CPU, 8, True),
        ("gpu", PEKind.GPU, 1, False),
        ("dla0", PEKind.DLA, 1, False),
        ("dla1", PEKind.DLA, 1, False),
    ]
    assert (orin.soc, orin.power_mode) == ("agx-orin", "30W")
    (mcu,) = gateway.processing_elements
    assert (mcu.kind, mcu.cores, mcu.policy, mcu.preemptive) == (PEKind.MCU, 1, Policy.FIXED_PRIORITY, True)
    assert (gateway.soc, gateway.power_mode) == (None, None)


def test_gpu_and_fifo_run_to_the_end_by_default(load) -> None:
    elements = "{mcu: {kind: mcu}, gpu: {kind: gpu}, q: {kind: cpu, policy: fifo}}"
    _, gateway = load(("{mcu: {kind: mcu, cores: 1}}", elements)).devices
    assert [pe.preemptive for pe in gateway.processing_elements] == [True, False, False]


def test_power_mode_defaults_to_the_chips_own(load) -> None:
    orin, _ = load((", power_mode: 30W", "")).devices
    assert (orin.power_mode, orin.processing_elements[0].cores) == ("MAXN", 12)


def test_execution_time_rounds_outwards(load) -> None:
    written = "{bcet: 1.0009us, wcet: 3.0001us, profile: [1.0009us, 2.0001us, 3.0001us]}"
    system = load(("{bcet: 1ms, wcet: 3ms, profile: [1ms, 2ms, 3ms], origin: measured}", written))
    assert _task(system, "detect").execution == ExecutionTime(1000, 3001, (1000, 2001, 3001), "declared")


def test_execution_time_defaults(load) -> None:
    system = load()
    assert _task(system, "detect").execution.origin == "measured"
    assert _task(system, "fuse").execution.profile_ns == (1_000_000, 5_000_000)
    assert _task(system, "cluster").execution == ExecutionTime(8_000_000, 8_000_000, (8_000_000, 8_000_000))
    without_bcet = load(("{bcet: 1ms, wcet: 3ms, profile", "{wcet: 3ms, profile"))
    assert _task(without_bcet, "detect").execution.bcet_ns == 1_000_000


def test_deadline_rounds_down_and_defaults_to_the_separation(load) -> None:
    system = load(("deadline: 20ms", "deadline: 20.0000009ms"))
    assert _task(system, "detect").deadline_ns == 20_000_000
    assert _task(system, "cluster").deadline_ns == _task(system, "cluster").separation_ns == 100_000_000


def test_separation_follows_activation(load) -> None:
    system = load()
    assert _task(system, "detect").separation_ns == 33_333_333
    assert _task(system, "decide").separation_ns == 33_333_333
    assert _task(system, "backup").separation_ns == 100_000_000
    # Messages of both inputs: 30 + 10 Hz.
    assert _task(system, "arbiter").separation_ns == 25_000_000


def test_join_all_is_as_slow_as_its_slowest_input(load) -> None:
    system = load(
        ("{join: any}", "{join: all, tolerance: 20ms}"),
        ("{from: decide, required: false}", "decide"),
        ("{from: backup.command, required: false}", "backup.command"),
    )
    arbiter = _task(system, "arbiter")
    assert arbiter.activation == OnMessage(Join.ALL, None, 20_000_000)
    assert arbiter.separation_ns == 100_000_000


def test_rates_stay_exact(load) -> None:
    system = load(("{rate: 30Hz, offset: 26ms}", "{rate: 30000/1001 Hz}"))
    assert _task(system, "fuse").activation == Periodic(Fraction(30000, 1001), 0)
    assert _task(system, "fuse").separation_ns == 33_366_666
    by_period = load(("{rate: 30Hz, offset: 26ms}", "{period: 30ms, offset: 2us}"))
    assert _task(by_period, "fuse").activation == Periodic(Fraction(100, 3), 2000)


def test_inputs_and_edges(load) -> None:
    system = load()
    assert _task(system, "detect").inputs == (Input("image", "front", None, Edge(EdgeKind.QUEUE, 1)),)
    assert _task(system, "fuse").inputs == (
        Input("boxes", "cluster", "boxes", Edge(EdgeKind.LATEST), required=False),
        Input("detections_front", "detect", "detections", Edge(EdgeKind.QUEUE, 2, Overflow.DROP_NEWEST)),
    )
    assert [item.edge.kind for item in _task(system, "arbiter").inputs] == [EdgeKind.QUEUE, EdgeKind.QUEUE]
    assert _task(system, "decide").activation == OnMessage(Join.LATEST, "objects")


def test_register_in_a_join_is_only_read(load) -> None:
    system = load(("primary: {from: decide, required", "primary: {from: decide, edge: latest, required"))
    arbiter = _task(system, "arbiter")
    assert [item.edge.kind for item in arbiter.inputs] == [EdgeKind.LATEST, EdgeKind.QUEUE]
    assert arbiter.separation_ns == 100_000_000


def test_remaining_task_fields(load) -> None:
    system = load()
    arbiter = _task(system, "arbiter")
    assert (arbiter.budget_ns, arbiter.deadline_action, arbiter.criticality) == (
        400_000,
        DeadlineAction.ABORT,
        Criticality.D,
    )
    assert (_task(system, "cluster").core, _task(system, "decide").core) == (2, None)
    assert (_task(system, "decide").priority, arbiter.priority) == (0, None)
    assert _task(system, "detect").parameters == (("threshold", 0.4),)
    assert _task(system, "detect").pe == ("orin-1", "gpu")


def test_parameters_keep_their_yaml_types() -> None:
    problems = Problems("x")
    root = parse(
        b"{a: 1, b: 1.5, c: 'yes', d: true, e: ~, f: [1, {g: x}], h: 0x1F, i: -.inf, j: 1e3, k: 010}", problems
    )
    assert root is not None
    assert plain_value(root, problems) == {
        "a": 1,
        "b": 1.5,
        "c": "yes",
        "d": True,
        "e": None,
        "f": (1, {"g": "x"}),
        "h": 31,
        "i": float("-inf"),
        "j": 1000.0,
        "k": 10,
    }
    problems.raise_if_any()


def test_calibration(load) -> None:
    written = (
        "{image_size: [640, 400], intrinsics: {fx: 300, fy: 301.5, cx: 320, cy: 200}, "
        "sensor_to_vehicle: [[0, 0, 1, 1.9], [-1, 0, 0, 0], [0, -1, 0, 1.4]]}"
    )
    system = load(("topic: /camera/front/*}", f"topic: /camera/front/*, calibration: {written}}}"))
    calibration = _sensor(system, "front").calibration
    assert (calibration.image_width, calibration.image_height) == (640, 400)
    assert calibration.intrinsics == (300.0, 301.5, 320.0, 200.0)
    assert calibration.sensor_to_vehicle == ((0, 0, 1, 1.9), (-1, 0, 0, 0), (0, -1, 0, 1.4))
    assert _sensor(system, "top").calibration.sensor_to_vehicle is None


def test_chains_and_safety(load) -> None:
    system = load()
    (chain,) = system.chains
    assert chain.path == ("front", "detect", "fuse", "decide", "arbiter")
    assert (chain.max_reaction_ns, chain.max_latency_ns, chain.max_data_age_ns) == (200_000_000, 100_000_000, None)
    assert system.safety is not None
    assert (system.safety.arbiter, system.safety.primary, system.safety.backup) == ("arbiter", "decide", "backup")
    assert (system.safety.command_deadline_ns, system.safety.recovery_limit_ns) == (100_000_000, None)


def test_chains_and_safety_may_be_absent(load, valid_text) -> None:
    system = load(text=valid_text[: valid_text.index("chains:")])
    assert (system.chains, system.safety) == ((), None)


def test_anchors_and_merges(load) -> None:
    system = load(
        ("devices:", "x-times: {eight: &eight {wcet: 8ms, bcet: 1ms}}\ndevices:"),
        ("execution: {wcet: 8ms}", "execution: {<<: *eight, bcet: 2ms}"),
    )
    execution = _task(system, "cluster").execution
    assert (execution.bcet_ns, execution.wcet_ns) == (2_000_000, 8_000_000)


def test_earlier_merge_wins(load) -> None:
    system = load(
        ("devices:", "x-a: &a {wcet: 8ms}\nx-b: &b {wcet: 9ms, bcet: 3ms}\ndevices:"),
        ("execution: {wcet: 8ms}", "execution: {<<: [*a, *b]}"),
    )
    execution = _task(system, "cluster").execution
    assert (execution.bcet_ns, execution.wcet_ns) == (3_000_000, 8_000_000)


def test_notes_tell_what_is_legal_but_odd(load) -> None:
    assert system_notes(load()) == ()
    odd = load(
        ("deadline: 20ms", "deadline: 40ms"),
        ("execution: {wcet: 8ms}", "execution: {wcet: 120ms}"),
        ("sensors:", "sensors:\n  idle: {kind: imu, rate: 1Hz, attached_to: orin-1, topic: /imu}"),
        ("attached_to: [orin-1]", "attached_to: [gateway]"),
    )
    assert system_notes(odd) == (
        "sensor idle: no task reads it",
        "task detect: the deadline 40ms is above the period 33.333333ms; jobs may queue up",
        "task cluster: even the best case 120ms is above the deadline 100ms; every job misses",
        "task cluster: the worst case 120ms is above the period 100ms; one core cannot keep up",
        "task cluster: runs on orin-1, but top is attached to gateway only",
    )


def test_note_on_a_task_that_nobody_reads(load, valid_text) -> None:
    notes = system_notes(load(text=valid_text[: valid_text.index("chains:")]))
    assert notes == ("task arbiter: no task reads its output and no chain ends there",)


def test_loading_twice_gives_equal_systems(load) -> None:
    assert load() == load()
