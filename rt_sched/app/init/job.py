"""A system file for a recording: what the recording says is written down, what it cannot say is guessed and marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rt_sched.app.init.targets import Target, orin_class, this_host
from rt_sched.app.init.topics import ChosenTopics, FoundSensor, choose_topics, identifier
from rt_sched.app.inputs.shipped import resolve
from rt_sched.config.quantities import MAX_RATE_HZ, MIN_RATE_HZ
from rt_sched.errors import DeploymentError
from rt_sched.ports import Recording, TopicKind
from rt_sched.runtime.host.affinity import allowed_cores
from rt_sched.units import format_ns, format_rate
from sensors.recording import open_recording


def write_system_for(log: str, *, host: bool, salvage: bool, output: Path | None, overwrite: bool) -> str:
    """The text of the system file; also written to `output` where given. Raises RtSchedError.

    `host`: for paced runs on cores of this one, in place of Orin-class devices.
    """
    recording = open_recording(resolve(log), salvage=salvage)
    try:
        text = system_text_for(recording, host=host)
    finally:
        recording.close()
    if output is not None:
        try:
            with output.open("w" if overwrite else "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise DeploymentError(f"{output}: exists; overwrite it with --force") from None
        except OSError as error:
            raise DeploymentError(f"{output}: cannot be written ({error.strerror})") from error
    return text


def system_text_for(recording: Recording, *, host: bool = False) -> str:
    """YAML that loads and replays unedited. Raises DataError for a recording without a usable camera, LiDAR or IMU."""
    chosen = choose_topics(recording)
    target = this_host(chosen, sorted(allowed_cores())) if host else orin_class(chosen)
    return "\n".join(_lines(identifier(Path(recording.path).stem), recording.path, chosen, target)) + "\n"


def _lines(name: str, path: str, chosen: ChosenTopics, target: Target) -> Iterable[str]:
    cameras, lidars, imus = (chosen.of_kind(kind) for kind in (TopicKind.CAMERA, TopicKind.LIDAR, TopicKind.IMU))
    yield f"# Made by `rt-sched init` from {_one_line(Path(path).name)}. Topics, rates, jitter and sizes are measured;"
    yield "# every line with `guess` is not in the recording: look at it before you rely on a verdict."
    for topic, reason in chosen.left_out.items():
        yield f"# {_one_line(topic)}: left out, {_one_line(reason)}"
    yield "rt_sched: 1"
    yield f"name: {name}"
    yield "policy: rms  # guess"
    yield ""
    yield from target.lines
    yield ""
    yield "sensors:"
    for sensor in chosen.sensors:
        yield from _sensor_lines(sensor, target)
    yield ""
    yield f"tasks:  # guess: stages, placement and execution times (of {target.whose})"
    for sensor in cameras:
        yield from _camera_tasks(sensor, target)
    for sensor in lidars:
        yield from _lidar_tasks(sensor, imus, target)
    for sensor in imus:
        yield from _task(
            target,
            f"imu_{sensor.name}",
            "pipelines.imu:Integrate",
            "imu",
            [("imu", sensor.name)],
            parameters=f"sensor: {sensor.name}",
        )
    if chosen.decides:
        yield from _decision_tasks(cameras, lidars, imus, target)
    yield ""
    yield "chains:  # without limits: measured, not judged"
    for chain, members in _chains(cameras, lidars, imus):
        yield f"  {chain}: {{path: [{', '.join(members)}]}}"
    if chosen.decides:
        yield ""
        yield "safety: {arbiter: arbiter, primary: control, backup: backup}"


def _sensor_lines(sensor: FoundSensor, target: Target) -> Iterable[str]:
    topic = sensor.topic
    yield f"  {sensor.name}:"
    yield f"    kind: {topic.kind.value}"
    measured_hz = topic.rate_hz or float(sensor.rate_hz)
    measured = f"measured {measured_hz:.3f} Hz"
    if not MIN_RATE_HZ <= measured_hz <= MAX_RATE_HZ:
        measured = f"measured {measured_hz:.3g} Hz, this is the nearest that can be stated"
    yield f"    rate: {format_rate(sensor.rate_hz)}  # {measured}"
    if sensor.drift_ppm:
        yield f"    drift: {float(sensor.drift_ppm):.2f}ppm"
    yield f"    capture_jitter: {format_ns(sensor.capture_jitter_ns)}  # of the capture stamps, pauses not counted"
    if topic.latency is None:
        yield "    latency: 0ns  # guess: capture and log stamps are on different clocks"
    elif topic.latency.max_ns <= 0:
        yield "    latency: 0ns  # guess: log times equal the capture stamps"
    else:
        yield f"    latency: {format_ns(max(0, topic.latency.median_ns))}"
    jitter_ns = (topic.jitter_ns or 0) + target.late_ns
    remark = (
        f"  # guess: {format_ns(target.late_ns)} of it for this host, which plays them back" if target.late_ns else ""
    )
    yield f"    jitter: {format_ns(jitter_ns)}{remark}"
    yield f"    attached_to: [{target.attached[sensor.name]}]  # guess"
    yield f"    topic: {_quoted(topic.name)}"
    if topic.image_width and topic.image_height:
        yield f"    calibration: {{image_size: [{topic.image_width}, {topic.image_height}]}}"


def _camera_tasks(sensor: FoundSensor, target: Target) -> Iterable[str]:
    name = sensor.name
    yield from _task(target, f"pre_{name}", "pipelines.camera:Preprocess", "pre", [("image", name)], sensor=name)
    yield from _task(
        target,
        f"infer_{name}",
        "pipelines.detector:Infer",
        "infer",
        [("tensor", f"pre_{name}")],
        sensor=name,
        remark="  # guess: more than its element can do; expect misses" if name in target.overloaded else "",
    )
    yield from _task(
        target,
        f"post_{name}",
        "pipelines.detector:Postprocess",
        "post",
        [("raw", f"infer_{name}")],
        sensor=name,
        parameters=f"camera: {name}",
    )


def _lidar_tasks(sensor: FoundSensor, imus: Sequence[FoundSensor], target: Target) -> Iterable[str]:
    name = sensor.name
    yield from _task(
        target,
        f"pre_{name}",
        "pipelines.lidar:Preprocess",
        "lidar_pre",
        [("points", name)],
        sensor=name,
        activation="{on: points}" if imus else None,
        looked_at=[("ego", f"imu_{imus[0].name}")] if imus else [],
        parameters=f"sensor: {name}",
    )
    yield from _task(
        target,
        f"cluster_{name}",
        "pipelines.lidar:Cluster",
        "cluster",
        [("obstacles", f"pre_{name}")],
        sensor=name,
    )


def _decision_tasks(
    cameras: Sequence[FoundSensor], lidars: Sequence[FoundSensor], imus: Sequence[FoundSensor], target: Target
) -> Iterable[str]:
    inputs = [(f"detections_{camera.name}", f"post_{camera.name}") for camera in cameras]
    parameters = []
    if lidars:
        inputs.append(("boxes", f"cluster_{lidars[0].name}"))
        parameters.append(f"lidar: {lidars[0].name}")
    if imus:
        inputs.append(("ego", f"imu_{imus[0].name}"))
        parameters.append(f"imu: {imus[0].name}")
    yield from _task(
        target,
        "fuse",
        "pipelines.fusion:Fuse",
        "fuse",
        inputs,
        activation=f"{{rate: {target.rates['fuse']}}}",
        read=True,
        parameters=", ".join(parameters),
    )
    yield from _task(
        target,
        "understand",
        "pipelines.understanding:Understand",
        "understand",
        [("objects", "fuse")],
        activation="{on: objects}" if imus else None,
        looked_at=[("ego", f"imu_{imus[0].name}")] if imus else [],
    )
    yield from _task(target, "plan", "pipelines.planning:Plan", "plan", [("situation", "understand")])
    yield from _task(target, "control", "pipelines.control:Control", "control", [("plan", "plan")])
    commands = [("primary", "control")]
    if lidars:
        yield from _task(
            target,
            "backup",
            "safety.backup:LidarCorridor",
            "backup",
            [("points", lidars[0].name)],
            parameters=f"lidar: {lidars[0].name}",
        )
    else:
        ahead = _looks_ahead(cameras)
        yield from _task(
            target,
            "backup",
            "safety.camera_corridor:CameraCorridor",
            "camera_backup",
            [("image", ahead.name)],
            parameters=f"camera: {ahead.name}",
            remark="  # guess: warns only, until the camera's intrinsics and sensor_to_vehicle are stated",
        )
    commands.append(("backup", "backup"))
    yield from _task(
        target,
        "arbiter",
        "safety.arbiter_stage:Arbiter",
        "arbiter",
        commands,
        activation=f"{{rate: {target.rates['arbiter']}}}",
        read=True,
    )


def _looks_ahead(cameras: Sequence[FoundSensor]) -> FoundSensor:
    """The camera that by its name looks ahead; the first where none says so."""
    return next((camera for camera in cameras if "front" in camera.name.lower()), cameras[0])


def _task(
    target: Target,
    name: str,
    stage: str,
    kind: str,
    inputs: Sequence[tuple[str, str]],
    *,
    sensor: str = "",
    activation: str | None = None,
    read: bool = False,
    looked_at: Sequence[tuple[str, str]] = (),
    parameters: str = "",
    remark: str = "",
) -> Iterable[str]:
    """`kind`: of work, on `sensor` where it works on one alone.

    `looked_at`: inputs that are only read, and may be empty, when something else activates the task. `read`: all
    `inputs` are like that.
    """
    bcet, wcet = target.times[kind]
    yield f"  {name}:"
    yield f"    stage: {stage}"
    yield f"    runs_on: {target.place(kind, sensor)}"
    if activation:
        yield f"    activation: {activation}"
    yield "    inputs:"
    for port, source in () if read else inputs:
        yield f"      {port}: {source}"
    for port, source in (*inputs, *looked_at) if read else looked_at:
        yield f"      {port}: {{from: {source}, edge: latest, required: false}}"
    yield f"    execution: {{bcet: {bcet}, wcet: {wcet}}}{remark}"
    if parameters:
        yield f"    parameters: {{{parameters}}}"


def _chains(
    cameras: Sequence[FoundSensor], lidars: Sequence[FoundSensor], imus: Sequence[FoundSensor]
) -> Iterable[tuple[str, tuple[str, ...]]]:
    end = ("fuse", "understand", "plan", "control", "arbiter")
    for camera in cameras:
        name = camera.name
        yield f"brake_from_{name}", (name, f"pre_{name}", f"infer_{name}", f"post_{name}", *end)
    for index, lidar in enumerate(lidars):
        name = lidar.name
        path = (name, f"pre_{name}", f"cluster_{name}")
        yield f"brake_from_{name}", (*path, *end) if index == 0 else path
        if index == 0:
            yield f"backup_from_{name}", (name, "backup", "arbiter")
    if cameras and not lidars:
        ahead = _looks_ahead(cameras)
        yield f"backup_from_{ahead.name}", (ahead.name, "backup", "arbiter")
    for imu in imus:
        yield f"motion_from_{imu.name}", (imu.name, f"imu_{imu.name}")


def _quoted(text: str) -> str:
    """A YAML string for any topic name, taken literally by glob matching where it has no glob characters."""
    escaped = "".join(f"[{c}]" if c in "*?[" else c for c in text)
    plain = re.fullmatch(r"/[A-Za-z0-9_/.-]+", escaped) is not None
    return escaped if plain else '"' + _one_line(escaped.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _one_line(text: str) -> str:
    """What cannot be printed, line ends above all, as YAML escapes."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
