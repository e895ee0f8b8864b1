"""The command `profile`: execution times of a system's stages on this host, as a file that system files can name."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from rt_sched import kernels
from rt_sched.app.inputs.decoding import decoder
from rt_sched.app.inputs.log_inputs import horizon_of, map_topics, pixels_needed
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context, system_for
from rt_sched.app.profile.measure import Measured, measure
from rt_sched.app.progress import Progress
from rt_sched.app.runs.manifest import file_sha256, machine, versions
from rt_sched.errors import DataError
from rt_sched.lowering import lower
from rt_sched.ports import Stage
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.jobs.rehearsal import Example, rehearse
from rt_sched.runtime.timeline import build_timeline
from rt_sched.units import NS_PER_MS, ceil_int, floor_int
from sensors.recording import open_recording

PROFILE_SCHEMA = "rt-sched/profile/1"
#: Steps between the quantiles of a profile, and bins of a histogram.
_STEPS, _BINS = 16, 24
#: Budgets are rounded up to a multiple of this, best cases down to one of a tenth.
_GRAIN_NS = NS_PER_MS // 10


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What the user asked for. `margin`: by which the highest time is multiplied. `jobs`: of each task, at most."""

    system: str
    log: str
    duration_ns: int
    jobs: int = 200
    margin: Fraction = Fraction(6, 5)
    contention: bool = True
    salvage: bool = False
    command: str = "rt-sched profile"


def profile(request: ProfileRequest, progress: Progress) -> dict[str, Any]:
    """The document. Raises RtSchedError for anything the user can mend."""
    log = resolve(request.log)
    with ExitStack() as stack:
        progress.step("reading the recording")
        recording = open_recording(log, salvage=request.salvage)
        stack.callback(recording.close)
        catalogue = ImportedStages()
        system, system_path = system_for(request.system, recording, catalogue)
        mapping = map_topics(system, recording)
        plan, _ = plan_for(system, None, None)
        timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
        given = lower(system, plan, timeline.samples, horizon_ns=min(request.duration_ns, horizon_of(system, timeline)))
        kernels.warm_up()
        authenticator = authenticator_of(system)

        def make_stage(index: int) -> Stage:
            stage = catalogue.create(system.tasks[index])
            stage.start(stage_context(system, system.tasks[index], authenticator=authenticator))
            return stage

        progress.step("replaying once, for what the jobs read")
        stages = [make_stage(index) for index in range(len(system.tasks))]
        needs = pixels_needed(system, stages, mapping)
        rehearsal = rehearse(
            system,
            stages,
            given,
            timeline.samples,
            SampleFeed(recording, list(mapping.sensor_to_topic.values()), timeline),
            decoder(recording, needs),
        )
        for stage in stages:
            stage.stop()
        jobs: dict[str, list[Example]] = {
            name: list(examples[: request.jobs]) for name, examples in rehearsal.jobs.items()
        }
        if not jobs:
            raise DataError(f"{request.log}: no job of {system.name} ran in its first {request.duration_ns} ns")
        measured = measure(
            system,
            given.setup,
            jobs,
            make_stage,
            contention=request.contention,
            progress=lambda task: progress.step(f"measuring {task}"),
        )
    rows = [_row(one, request.margin) for one in measured]
    return {
        "schema": PROFILE_SCHEMA,
        "system": system.name,
        "system_sha256": None if system_path is None else file_sha256(system_path),
        "log": request.log,
        "log_sha256": file_sha256(*map(Path, recording.files)),
        "measured_on": machine()["cpu"],
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "command": request.command,
        "rule": _rule(request.margin, contention=any(row["contended"] is not None for row in rows)),
        "tasks": rows,
        "not_measured": [task.name for task in system.tasks if task.name not in jobs],
    }


def _rule(margin: Fraction, *, contention: bool) -> str:
    where = "alone or beside busy cores" if contention else "alone"
    return (
        f"wcet: the highest CPU time seen {where}, times {float(margin):g}, rounded up to 0.1 ms; "
        "bcet: half of the lowest, rounded down to 0.01 ms; measured, not proven"
    )


def _row(one: Measured, margin: Fraction) -> dict[str, Any]:
    every_ns = one.alone_ns if one.contended_ns is None else np.concatenate((one.alone_ns, one.contended_ns))
    wcet_ns = ceil_int(Fraction(int(every_ns.max())) * margin / _GRAIN_NS) * _GRAIN_NS
    fine_ns = _GRAIN_NS // 10
    bcet_ns = max(1, floor_int(Fraction(int(every_ns.min()), 2 * fine_ns)) * fine_ns)
    quantiles = np.sort(every_ns)[np.linspace(0, len(every_ns) - 1, _STEPS + 1).round().astype(int)]
    counts, edges = np.histogram(every_ns, bins=_BINS)
    return {
        "name": one.task,
        "jobs": len(one.alone_ns),
        "alone": _figures(one.alone_ns),
        "contended": None if one.contended_ns is None else _figures(one.contended_ns),
        "bcet_ns": bcet_ns,
        "wcet_ns": wcet_ns,
        "profile_ns": [bcet_ns, *quantiles[1:].tolist()],
        "histogram": {"from_ns": int(edges[0]), "to_ns": int(edges[-1]), "counts": counts.tolist()},
    }


def _figures(times_ns: np.ndarray) -> dict[str, int]:
    ordered = np.sort(times_ns)

    def at(share: float) -> int:
        return int(ordered[min(len(ordered) - 1, int(np.ceil(share * len(ordered))) - 1)])

    return {
        "min_ns": int(ordered[0]),
        "p50_ns": at(0.5),
        "p99_ns": at(0.99),
        "p999_ns": at(0.999),
        "max_ns": int(ordered[-1]),
    }
