"""What a replay keeps of the outputs that pass by: the arbiter's decisions, frames to show, refused data, one hash."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from rt_sched.app.runs.actuator import release_input
from rt_sched.messages import ArbiterDecision, Detections2D, EncodedImage, ReleaseRequest
from rt_sched.messages.e2e import E2EState
from rt_sched.model import SensorKind, System
from rt_sched.runtime.stage_graph import FinishedJob, NoData, Outputs
from rt_sched.trace.records import SampleTable

#: Frames that the report shows of each camera, and cameras that it shows.
FRAMES_PER_CAMERA = 3
CAMERAS_SHOWN = 8


class ReplayWatch:
    """Feed it every `Finished` in order, then read its attributes.

    `decisions`: (finish_ns, decision) of the arbiter; `releases`: the requests for a release that it gets, likewise.
    `images`: (camera, capture_ns) -> recorded frame, for the frames
    chosen in advance; `detections`: the same keys -> boxes. `refused_samples`: rows of the sample table whose data was
    refused; `undecodable`: how many per sensor. `refused_rows`: rows of the job table of completed jobs that published
    nothing because a stage refused its input or had none; `refused_jobs`: how many per task; `refusals`: those among
    them whose stage refused the output of another task, so that no other count tells of it. `frames`: per camera,
    those that a detector looked at; `frames_with`, `boxes`: per camera and class, frames with a box, and boxes.
    `reasons`: per sensor or task the first reason given. `e2e`: how often each check of an input ended how, by task,
    input and state.
    """

    def __init__(self, system: System, samples: SampleTable) -> None:
        self._system = system
        self._samples = samples
        self._wanted = _chosen_frames(system, samples)
        self._arbiter = system.safety.arbiter if system.safety else None
        self._hash = hashlib.sha256()
        self._released_by = release_input(system)
        self.decisions: list[tuple[int, ArbiterDecision]] = []
        self.releases: list[tuple[int, ReleaseRequest]] = []
        self.images: dict[tuple[str, int], EncodedImage] = {}
        self.detections: dict[tuple[str, int], Detections2D] = {}
        self.refused_samples: set[int] = set()
        self.refused_rows: list[int] = []
        self.undecodable: Counter[str] = Counter()
        self.frames: Counter[str] = Counter()
        self.frames_with: dict[str, Counter[str]] = {}
        self.boxes: dict[str, Counter[str]] = {}
        self.refused_jobs: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        self.e2e: Counter[tuple[str, str, E2EState]] = Counter()

    @property
    def chosen_samples(self) -> list[int]:
        """Rows of the frames that the report may show."""
        names = [sensor.name for sensor in self._system.sensors]
        keys = zip(self._samples.sensor.tolist(), self._samples.capture_ns.tolist(), strict=True)
        return [row for row, (sensor, capture_ns) in enumerate(keys) if (names[sensor], capture_ns) in self._wanted]

    @property
    def outputs_sha256(self) -> str:
        """Over task name, job number and output digest of every completed job, in the order of the schedule."""
        return self._hash.hexdigest()

    def see_sample(self, sample: int, result: Outputs | NoData) -> None:
        """A decoded sample, or the reason why it could not be decoded."""
        sensor = self._system.sensors[int(self._samples.sensor[sample])].name
        if isinstance(result, NoData):
            self._refuse_sample(sample, result.reason)
            return
        key = (sensor, int(self._samples.capture_ns[sample]))
        message = result.ports[None]
        if key in self._wanted and isinstance(message, EncodedImage):
            self.images[key] = message

    def see_job(self, finished: FinishedJob, sensor_samples: Sequence[int]) -> None:
        """A computed job; `sensor_samples`: the samples that it read directly."""
        task, context, result = self._system.tasks[finished.task].name, finished.context, finished.result
        self._hash.update(f"{task}#{context.number}:".encode())
        self.e2e.update((task, check.input, check.state) for check in result.checks)
        if isinstance(result, NoData):
            self._hash.update(f"no data from {result.source};".encode())
            self.refused_jobs[task] += 1
            self.refused_rows.append(finished.job)
            if result.source == "stage":
                if not sensor_samples:
                    self.refusals[task] += 1
                    self.reasons.setdefault(task, result.reason)
                for sample in sensor_samples:
                    self._refuse_sample(sample, result.reason)
            return
        self._hash.update(result.digest)
        for port, message in result.ports.items():
            if isinstance(message, ArbiterDecision) and task == self._arbiter:
                self.decisions.append((context.finish_ns, message))
                self.e2e.update((task, check.input, check.state) for check in message.checks)
            elif isinstance(message, ReleaseRequest):
                if self._released_by and (task, port) == (self._released_by.source, self._released_by.port):
                    self.releases.append((context.finish_ns, message))
            elif isinstance(message, Detections2D):
                if message.tracks is None:  # followed detections are those of the detector once more
                    self._count(message)
                key = (message.camera, message.capture_time_ns)
                if key in self._wanted:
                    self.detections[key] = message

    def _count(self, detections: Detections2D) -> None:
        camera = detections.camera
        self.frames[camera] += 1
        self.boxes.setdefault(camera, Counter()).update(detections.class_names)
        self.frames_with.setdefault(camera, Counter()).update(set(detections.class_names))

    def _refuse_sample(self, sample: int, reason: str) -> None:
        if sample in self.refused_samples:
            return
        self.refused_samples.add(sample)
        sensor = self._system.sensors[int(self._samples.sensor[sample])].name
        self.undecodable[sensor] += 1
        self.reasons.setdefault(sensor, reason)


def _chosen_frames(system: System, samples: SampleTable) -> frozenset[tuple[str, int]]:
    """Evenly spaced frames of each camera, by (camera, capture_ns)."""
    chosen: set[tuple[str, int]] = set()
    cameras = [i for i, sensor in enumerate(system.sensors) if sensor.kind is SensorKind.CAMERA][:CAMERAS_SHOWN]
    for index in cameras:
        captures = samples.capture_ns[samples.sensor == index]
        for part in range(FRAMES_PER_CAMERA):
            if len(captures):
                position = (2 * part + 1) * len(captures) // (2 * FRAMES_PER_CAMERA)
                chosen.add((system.sensors[index].name, int(captures[position])))
    return frozenset(chosen)
