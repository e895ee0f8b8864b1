"""What a replay costs beside the stage computations that it contains.

Both sides work on the same recording, job by job in the same order, on one thread, alternating in one process:

    bare    reads and decodes the recording and calls the stages, each result dropped after its last reader
    replay  `rt-sched replay`: the same, under the schedule, with digests, recorded outputs, traces and the report

Start-up is outside both: imports, compilation of kernels, loading of models. Run it from the root of a checkout:

    python benchmarks/replay_overhead.py [LOG] [--system FILE] [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rt_sched.app.inputs.stages import ImportedStages  # noqa: E402
from rt_sched.app.inputs.systems import stage_context, system_for  # noqa: E402
from rt_sched.app.replay.job import ReplayRequest, run_replay  # noqa: E402
from rt_sched.errors import DataError  # noqa: E402
from rt_sched.lowering import lower  # noqa: E402
from rt_sched.messages import canonical_digest  # noqa: E402
from rt_sched.planner import make_plan  # noqa: E402
from rt_sched.ports import JobContext, Recording, Stage, TopicKind  # noqa: E402
from rt_sched.runtime.timeline import build_timeline  # noqa: E402
from rt_sched.sim import Simulation  # noqa: E402
from rt_sched.trace.records import JobStatus, schedule_sha256  # noqa: E402
from sensors.mapping import SensorPattern, match_topics  # noqa: E402
from sensors.recording import open_recording  # noqa: E402

SCHEMA = "rt-sched/benchmark-replay-overhead/1"
TARGET = 1.15
STARTING = "starting the stages"


@dataclass(frozen=True, slots=True)
class Job:
    """One job to compute: what to call and which messages it reads.

    `inputs`: (port, message, port of the message or None, required); message None when the schedule gave it none.
    """

    row: int
    task: int
    context: JobContext
    inputs: tuple[tuple[str, int | None, str | None, bool], ...]


@dataclass(frozen=True, slots=True)
class Work:
    """The jobs of a run in the order of their completion, and where their sensor data lies in the recording.

    `sample_of`: number of a message in the recording -> (message id, capture stamp); `readers`: message id -> jobs that
    read it; `topics`: those that are read at all.
    """

    log: Path
    system: Any
    jobs: tuple[Job, ...]
    topics: tuple[str, ...]
    sample_of: Mapping[int, tuple[int, int]]
    readers: Counter[int]
    schedule_sha256: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds by the clock on the wall, and of processor time over all threads."""

    wall_s: float
    cpu_s: float


class Stopwatch:
    """Time since it was made or asked last."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self) -> Spent:
        wall, cpu = time.perf_counter(), time.process_time()
        spent = Spent(wall - self._wall, cpu - self._cpu)
        self._wall, self._cpu = wall, cpu
        return spent


class Parts:
    """A progress display that only measures how long each step took."""

    def __init__(self) -> None:
        self._watch = Stopwatch()
        self._name = "opening"
        self.spent: dict[str, Spent] = {}

    def step(self, text: str) -> None:
        self.spent[self._name] = self._watch.lap()
        self._name = text

    def advance(self, done_ns: int, total_ns: int) -> None:
        pass


def plan_work(log: Path, system_argument: str | None) -> Work:
    """The schedule of the whole run, simulated without computing any stage."""
    recording = open_recording(log)
    system, _ = system_for(system_argument, recording, ImportedStages())
    patterns = {sensor.name: SensorPattern(TopicKind(sensor.kind.value), sensor.topics) for sensor in system.sensors}
    mapping = match_topics(recording.topics, patterns)
    timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
    recording.close()
    horizon_ns = timeline.last_arrival_ns + max(task.deadline_ns for task in system.tasks) + 1
    simulation = Simulation(
        lower(system, make_plan(system, None), timeline.samples, seed=0, faults=(), horizon_ns=horizon_ns)
    )
    simulation.run()
    trace = simulation.trace()
    table = trace.jobs
    order = np.lexsort((table.number, table.task, table.finish_ns))
    jobs = tuple(_job(system, table, int(row)) for row in order if table.status[row] == JobStatus.COMPLETED)
    readers = Counter(message for job in jobs for _, message, _, _ in job.inputs if message is not None)
    sample_of = {
        int(timeline.file_index[-2 - message]): (message, int(timeline.samples.capture_ns[-2 - message]))
        for message in readers
        if message <= -2
    }
    topics = tuple(mapping.sensor_to_topic.values())
    return Work(log, system, jobs, topics, sample_of, readers, schedule_sha256(trace))


def _job(system: Any, table: Any, row: int) -> Job:
    index = int(table.task[row])
    task = system.tasks[index]
    times = {name: int(getattr(table, name)[row]) for name in ("arrival_ns", "start_ns", "finish_ns", "deadline_ns")}
    return Job(
        row,
        index,
        JobContext(task=task.name, number=int(table.number[row]), **times),
        tuple(
            (port.name, None if message == -1 else message, port.port, port.required)
            for port, message in zip(task.inputs, table.inputs[row].tolist(), strict=False)
        ),
    )


def start_stages(system: Any) -> list[Stage]:
    """New stages, started."""
    stages = []
    for task in system.tasks:
        stage = ImportedStages().create(task)
        stage.start(stage_context(system, task, authenticator=None))
        stages.append(stage)
    return stages


def bare(work: Work, stages: list[Stage]) -> Iterator[tuple[Job, Mapping[str, Any] | None]]:
    """Computes every job and yields its outputs; None where the stage refused its input or had none."""
    recording = open_recording(work.log)
    messages = recording.messages(work.topics)
    left = Counter(work.readers)
    held: dict[int, Mapping[Any, Any] | None] = {}
    raw: dict[int, Any] = {}
    for job in work.jobs:
        values: dict[str, Any] = {}
        complete = True
        for port, message, source_port, required in job.inputs:
            value = None
            if message is not None:
                if message not in held:
                    held[message] = _decoded(recording, messages, work.sample_of, raw, message)
                found = held[message]
                value = None if found is None else found[source_port]
                left[message] -= 1
                if not left[message]:
                    del held[message]
            values[port] = value
            complete = complete and not (required and value is None)
        stage = stages[job.task]
        outputs = None
        if complete:
            try:
                outputs = stage.process(job.context, stage.preprocess(job.context, values))
                stage.postprocess(job.context, outputs)
            except DataError:
                outputs = None
        if left[job.row]:
            held[job.row] = outputs
        yield job, outputs
    recording.close()


def _decoded(
    recording: Recording,
    messages: Iterator[Any],
    sample_of: Mapping[int, tuple[int, int]],
    raw: dict[int, Any],
    message: int,
) -> Mapping[Any, Any] | None:
    """The sample `message`, read on to where it stands in the recording; samples on the way are kept in `raw`."""
    while message not in raw:
        recorded = next(messages)
        if recorded.index in sample_of:
            found, capture_ns = sample_of[recorded.index]
            raw[found] = (recorded, capture_ns)
    recorded, capture_ns = raw.pop(message)
    try:
        return {None: dataclasses.replace(recording.decode(recorded), capture_time_ns=capture_ns)}
    except DataError:
        return None


def time_bare(work: Work) -> Spent:
    stages = start_stages(work.system)
    watch = Stopwatch()
    for _ in bare(work, stages):
        pass
    spent = watch.lap()
    for stage in stages:
        stage.stop()
    return spent


def time_replay(work: Work, system_argument: str | None, folder: Path) -> tuple[dict[str, Spent], dict[str, Any]]:
    """Its parts, without the start of the stages, and its manifest."""
    parts = Parts()
    request = ReplayRequest(log=str(work.log), system=system_argument, threads=1, output=folder / "run")
    result = run_replay(request, parts)
    parts.step("done")
    del parts.spent[STARTING]
    return parts.spent, result.manifest


def check_equal(work: Work, manifest: Mapping[str, Any]) -> None:
    """Both sides compute the same jobs to the same results, else the comparison means nothing."""
    hasher = hashlib.sha256()
    for job, outputs in bare(work, start_stages(work.system)):
        if outputs is None:
            sys.exit("a job was refused its input: choose a recording without faults for this comparison")
        digest = hashlib.sha256()
        for name in sorted(outputs):
            digest.update(name.encode() + b"=" + canonical_digest(outputs[name]))
        hasher.update(f"{job.context.task}#{job.context.number}:".encode() + digest.digest())
    if (work.schedule_sha256, hasher.hexdigest()) != (manifest["schedule_sha256"], manifest["outputs_sha256"]):
        sys.exit("the bare loop and the replay did not compute the same")


def measure(log: Path, system_argument: str | None, rounds: int) -> dict[str, Any]:
    """Alternates both `rounds` times, after one round that warms up and checks."""
    work = plan_work(log, system_argument)
    bare_spent: list[Spent] = []
    replay_spent: list[dict[str, Spent]] = []
    with tempfile.TemporaryDirectory(prefix="rt-sched-benchmark-") as folder:
        _, manifest = time_replay(work, system_argument, Path(folder))
        check_equal(work, manifest)
        for number in range(rounds):
            print(f"round {number + 1} of {rounds} ...", file=sys.stderr)
            if number % 2:
                replay_spent.append(time_replay(work, system_argument, Path(folder))[0])
            bare_spent.append(time_bare(work))
            if not number % 2:
                replay_spent.append(time_replay(work, system_argument, Path(folder))[0])
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "log": str(log),
        "system": system_argument,
        "jobs": len(work.jobs),
        "rounds": rounds,
        "excluded": "imports, compilation of kernels, start of the stages with loading of models",
        "machine": manifest["machine"],
        "versions": manifest["versions"],
        "target_ratio": TARGET,
        "parts": {
            name: {kind: statistics.median(getattr(parts[name], kind) for parts in replay_spent) for kind in KINDS}
            for name in replay_spent[0]
        },
    }
    for kind in KINDS:
        alone = [getattr(spent, kind) for spent in bare_spent]
        whole = [sum(getattr(part, kind) for part in parts.values()) for parts in replay_spent]
        document[f"bare_{kind}"] = statistics.median(alone)
        document[f"replay_{kind}"] = statistics.median(whole)
        document[f"ratio_{kind.removesuffix('_s')}"] = statistics.median(
            whole_s / alone_s for whole_s, alone_s in zip(whole, alone, strict=True)
        )
    return document


KINDS = ("wall_s", "cpu_s")


def table(document: Mapping[str, Any]) -> str:
    rows = [("", "wall s", "cpu s")]
    rows.append(("bare stage computations", *(f"{document[f'bare_{kind}']:.3f}" for kind in KINDS)))
    rows.append(("whole replay", *(f"{document[f'replay_{kind}']:.3f}" for kind in KINDS)))
    rows += [(f"  {name}", *(f"{part[kind]:.3f}" for kind in KINDS)) for name, part in document["parts"].items()]
    rows.append(("ratio", *(f"{document[f'ratio_{kind}']:.3f}" for kind in ("wall", "cpu"))))
    lines = [f"{name:28}{wall:>9}{cpu:>9}" for name, wall, cpu in rows]
    lines.append(
        f"medians of {document['rounds']} rounds on one thread, {document['jobs']} jobs of {document['log']}; "
        f"target: ratio <= {document['target_ratio']}"
    )
    lines.append(f"outside both: {document['excluded']}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("log", nargs="?", type=Path, default=ROOT / "replay_data" / "hazard.mcap")
    parser.add_argument("--system", default=str(ROOT / "examples" / "quad_orin.yaml"), help="system file")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    document = measure(arguments.log, arguments.system, arguments.rounds)
    print(json.dumps(document, indent=2) if arguments.json else table(document))


if __name__ == "__main__":
    main()
