"""The end of a replay, in lockstep or paced: its outputs, its summary, and the other files of its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rt_sched.app.inputs.log_inputs import sensor_poses
from rt_sched.app.runs.bounds import RunBounds
from rt_sched.app.runs.documents import write_documents
from rt_sched.app.runs.judged_chains import JudgedChain
from rt_sched.app.runs.manifest import make_manifest, run_inputs
from rt_sched.app.runs.summary import make_summary
from rt_sched.app.runs.takeover_runs import TakeoverRun
from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.lowering.routes import as_placed
from rt_sched.model import Fault, Plan, System
from rt_sched.ports import Recording
from rt_sched.record.mcap_writer import OutputRecorder
from rt_sched.runtime.detection import Detection
from rt_sched.runtime.signs_of_life import Notice
from rt_sched.runtime.timeline import Timeline
from rt_sched.trace.records import Trace, schedule_sha256
from sensors.mapping import TopicMapping


class Asked(Protocol):
    """What the user asked for, in the words of the call."""

    @property
    def log(self) -> str: ...
    @property
    def system(self) -> str | None: ...
    @property
    def plan(self) -> Path | None: ...
    @property
    def command(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was replayed. `system`: as it runs under `plan`; `plan_note`: about the plan's file, None for nothing.

    `recording`, `timeline`: with the faults of a script, where there are any.
    """

    asked: Asked
    system: System
    system_path: Path | None
    plan: Plan
    plan_note: str | None
    recording: Recording
    mapping: TopicMapping
    timeline: Timeline

    @contextmanager
    def outputs(self, folder: Path) -> Iterator[OutputRecorder]:
        """The file in `folder` that keeps what jobs publish, with the poses of sensors in it."""
        # A recording that counts from 0 may have been captured before that, where the file format has no times.
        with OutputRecorder(folder / "output.mcap", time_zero_ns=max(self.timeline.origin_ns, 0)) as recorder:
            if poses := sensor_poses(self.system, self.recording, self.mapping):
                recorder.add_static_transforms("vehicle", poses)
            yield recorder


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of it, and what is said of that. `faults`: losses; `noticed`: of those that no takeover follows.

    `trace_check`: what the checker of traces says of it.
    """

    trace: Trace
    trace_check: dict[str, Any]
    watch: ReplayWatch
    faults: Sequence[Fault]
    chains: Sequence[JudgedChain]
    bounds: RunBounds
    detection: Detection
    takeovers: Sequence[TakeoverRun]
    noticed: Sequence[Notice] = ()


def write_run(
    folder: Path,
    replayed: Replayed,
    judged: Judged,
    recorder: OutputRecorder,
    options: Mapping[str, Any],
    further: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Writes all that is still missing in `folder`; gives its summary and its manifest.

    `options`: of the manifest. `further`: what more the summary says, given that which every run
    says. Raises DeploymentError where something cannot be written.
    """
    asked, system, plan, recording = replayed.asked, replayed.system, replayed.plan, replayed.recording
    summary = make_summary(
        system=as_placed(system, plan),
        plan=plan,
        trace=judged.trace,
        chains=judged.chains,
        recording=recording,
        recording_name=asked.log,
        mapping=replayed.mapping,
        timeline=replayed.timeline,
        faults=judged.faults,
        watch=judged.watch,
        trace_check=judged.trace_check,
        bounds=judged.bounds,
        detection=judged.detection,
        takeovers=judged.takeovers,
        noticed=judged.noticed,
    )
    summary |= further(summary)
    if replayed.plan_note is not None:
        summary["notes"] = [*summary["notes"], replayed.plan_note]
    manifest = make_manifest(
        inputs=run_inputs(asked.log, recording, asked.system, replayed.system_path, asked.plan),
        command=asked.command,
        options=options,
        schedule_sha256=schedule_sha256(judged.trace),
        outputs_sha256=judged.watch.outputs_sha256,
    )
    recorder.close()
    write_documents(folder, system, judged.trace, judged.chains, judged.faults, summary, manifest, judged.watch)
    return summary, manifest
