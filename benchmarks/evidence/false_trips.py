"""Does any monitor trip where nothing is wrong, and does each trip where something is?

    python benchmarks/evidence/false_trips.py [--minutes N] [--scenes DIR] [--recordings DIR] [--output FILE]

Every scene of `rt-sched scene` (front camera, LiDAR, IMU; made in --scenes, where it is not there already) is watched
by all monitors, again and again until N minutes of virtual time have passed; each time the arrivals are drawn anew
within the latency and jitter that the system file declares. Nothing may be found. Then every recording in the folder
--recordings (or RT_SCHED_RECORDINGS) is watched under the system file that `rt-sched init` writes for it. What is found
there is held against the messages themselves: it must be an irregularity of the recording, which is listed. Each kind
of fault injected into each sensor must be found. Exit status 1 otherwise. Results go to
benchmarks/results/false_trips.json, in which recordings and their sensors have numbers in place of names.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from machine import describe_run
from redrawn_arrivals import RedrawnArrivals

from rt_sched.app.faults.all_findings import all_findings
from rt_sched.app.faults.prepared import Drive, Struck, drive_of
from rt_sched.app.init.job import system_text_for
from rt_sched.app.progress import Quiet
from rt_sched.app.scene import SceneRequest, make_scene, scene_list
from rt_sched.errors import RtSchedError
from rt_sched.faults.draw import targets_of
from rt_sched.faults.kinds import KINDS, Kind, Strikes
from rt_sched.faults.outcomes import outcomes
from rt_sched.faults.script import Damage, FaultScript, Injection, Trigger
from rt_sched.faults.watching import Finding, pace_of
from rt_sched.model import SensorKind
from rt_sched.units import NS_PER_MS, NS_PER_S
from sensors.recording import open_recording

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "false_trips.json"
SYSTEM = ROOT / "examples" / "quad_orin.yaml"
SUFFIXES = (".mcap", ".bag", ".db3")
_NOTHING = FaultScript(())
_OF_SENSORS = (Strikes.CAMERA, Strikes.LIDAR, Strikes.IMU, Strikes.SENSOR)
#: What of a fault is said where a kind needs it; delays and steps are longer than any declared jitter here.
_VALUES: dict[str, dict[str, Any]] = {
    "lidar.sector": {"from_deg": Fraction(-30), "to_deg": Fraction(30)},
    "payload.corrupt": {"how": Damage.CUT},
    "message.delay": {"by_ns": 400 * NS_PER_MS},
    "clock.step": {"by_ns": 700 * NS_PER_MS},
}


# Scenes ------------------------------------------------------------------------------------------------------------


def scenes(folder: Path, seconds: float) -> Iterator[tuple[str, Path]]:
    """Every scene, made where it is not there yet."""
    for scene in scene_list()["scenes"]:
        path = folder / f"{scene['name']}.mcap"
        if not path.exists():
            duration = f"{min(seconds, scene['duration_ns'] / NS_PER_S):g}s"
            make_scene(SceneRequest(scene["name"], path, duration, cameras=("front_wide",)), Quiet())
        yield scene["name"], path


def watch_scene(path: Path, wanted_ns: int, first_seed: int) -> dict[str, Any]:
    """The scene under new draws of arrivals until `wanted_ns` have passed."""
    recording = open_recording(path)
    decoded: dict[int, Any] = {}
    watched_ns, draws, messages = 0, 0, 0
    found: list[dict[str, Any]] = []
    try:
        sensor_of = _sensors(drive_of(SYSTEM, recording, None, None, 0))
        while watched_ns < wanted_ns:
            redrawn = RedrawnArrivals(recording, sensor_of, first_seed + draws, decoded)
            drive = drive_of(SYSTEM, redrawn, None, None, 0)
            found += [{"draw": first_seed + draws, **_told(one)} for one in all_findings(Struck(drive, _NOTHING, ""))]
            watched_ns += drive.timeline.last_arrival_ns
            messages += len(drive.timeline.samples)
            draws += 1
    finally:
        recording.close()
    return {"draws": draws, "virtual_ns": watched_ns, "messages": messages, "false_trips": found}


def _sensors(drive: Drive) -> dict[str, Any]:
    topics = drive.mapping.sensor_to_topic
    return {topics[one.name]: one for one in drive.system.sensors if one.name in topics}


# Recordings --------------------------------------------------------------------------------------------------------


def watch_recording(path: Path) -> dict[str, Any]:
    """What is found in a recording as it is, and when each kind of fault is injected."""
    recording = open_recording(path)
    try:
        with tempfile.TemporaryDirectory() as folder:
            system = Path(folder) / "system.yaml"
            system.write_text(system_text_for(recording), encoding="utf-8")
            drive = drive_of(system, recording, None, None, 0)
        struck = Struck(drive, _NOTHING, "")
        found = sorted(all_findings(struck), key=lambda one: (one.time_ns, one.what))
        facts = _facts(struck)
        injected = [
            _injected(drive, kind, target, {one.monitor for one in found if one.what == target})
            for kind in KINDS
            if kind.lockstep and kind.strikes in _OF_SENSORS
            for target in targets_of(drive.system, drive.mapping.sensor_to_topic, kind)
        ]
    finally:
        recording.close()
    irregular = [{**_told(one), "shown_by": facts.get(_fact_of(one))} for one in found]
    return {
        "recording": path.name,
        "sensors": {
            one.name: one.kind.value for one in drive.system.sensors if one.name in drive.mapping.sensor_to_topic
        },
        "virtual_ns": drive.timeline.last_arrival_ns,
        "messages": len(drive.timeline.samples),
        "irregularities": irregular,
        "false_trips": [one for one in irregular if one["shown_by"] is None],
        "injected": injected,
    }


def without_names(log: dict[str, Any], number: int) -> dict[str, Any]:
    """The same with a number for the recording, and numbers by kind for its sensors."""
    kinds: Counter[str] = Counter()
    aliases = {}
    for name, kind in log["sensors"].items():
        kinds[kind] += 1
        aliases[name] = f"{kind} {kinds[kind]}"

    def renamed(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
        return [
            {**row, key: aliases[row[key]], "reason": (row.get("reason") or "").replace(row[key], aliases[row[key]])}
            for row in rows
        ]

    return {
        **log,
        "recording": number,
        "sensors": {aliases[name]: kind for name, kind in log["sensors"].items()},
        "irregularities": renamed(log["irregularities"], "sensor"),
        "false_trips": renamed(log["false_trips"], "sensor"),
        "injected": renamed(log["injected"], "target"),
    }


def _fact_of(finding: Finding) -> tuple[str, str, int]:
    # A silence is told when the timer runs out: what shows it is the message before it.
    at_ns = finding.time_ns - finding.worst_case_ns if finding.monitor == "silence" else finding.time_ns
    return finding.monitor, finding.what, at_ns


def _facts(struck: Struck) -> dict[tuple[str, str, int], str]:
    """(monitor, sensor, instant) -> the irregularity that the messages show there, worked out without the monitors."""
    drive, facts = struck.drive, {}
    topics = drive.mapping.sensor_to_topic
    for sensor in (one for one in drive.system.sensors if one.name in topics):
        pace, name = pace_of(drive.system, sensor), sensor.name
        seen = list(struck.faulted.messages([topics[name]]))
        arrivals = [struck.faulted.arrival_ns(one) for one in seen]
        stamps = [struck.faulted.capture_ns(one) for one in seen]
        for before, after in pairwise(arrivals):
            if after - before > pace.timeout_ns:
                facts["silence", name, before] = f"nothing comes for {after - before} ns, declared {pace.timeout_ns}"
        for number, (at_ns, stamp_ns) in enumerate(zip(arrivals, stamps, strict=True)):
            earlier = [one for one in stamps[:number] if one is not None]
            if stamp_ns is None or (earlier and max(earlier) >= stamp_ns):
                facts["stamp_order", name, at_ns] = f"stamp {stamp_ns} after one of {max(earlier, default=None)}"
            if stamp_ns is not None and abs(at_ns - stamp_ns - pace.latency_ns) > pace.jitter_ns:
                facts["stamp_age", name, at_ns] = f"{at_ns - stamp_ns} ns old, declared {pace.latency_ns}"
            if seen[number].problem:
                facts["payload", name, at_ns] = str(seen[number].problem)
            if number >= 5:
                mean_hz = 5 * NS_PER_S / max(at_ns - arrivals[number - 5], 1)
                if not 0.9 <= mean_hz / float(sensor.rate_hz) <= 1.1:
                    facts["rate", name, at_ns] = f"{mean_hz:.2f} Hz, declared {float(sensor.rate_hz):.2f} Hz"
    return facts


def _injected(drive: Drive, kind: Kind, target: str, usual: set[str]) -> dict[str, Any]:
    """One fault from the middle of the recording on; `usual`: monitors of the target that find something anyway."""
    fault = Injection(
        "fault", kind.name, target, Trigger(drive.timeline.last_arrival_ns // 2), **_VALUES.get(kind.name, {})
    )
    row: dict[str, Any] = {"kind": kind.name, "target": target}
    try:
        struck = Struck(drive, FaultScript((fault,)), "")
    except RtSchedError as error:
        return {**row, "verdict": "refused", "reason": str(error)}
    (outcome,) = outcomes(struck.strikes, list(all_findings(struck, [target])), None, None)
    finding = outcome.finding
    return {
        **row,
        "verdict": outcome.verdict.value,
        "monitor": None if finding is None else finding.monitor,
        "after_ns": outcome.detected_after_ns,
        "worst_case_ns": outcome.declared_ns,
        "also_without_fault": finding is not None and finding.monitor in usual,
    }


def _told(finding: Finding) -> dict[str, Any]:
    return {
        "time_ns": finding.time_ns,
        "monitor": finding.monitor,
        "sensor": finding.what,
        "reason": finding.reason,
    }


def main() -> int:
    """Scenes, then recordings; 1 where a monitor trips falsely, or not where it must."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=12.0, help="longest scene that is made")
    parser.add_argument("--scenes", type=Path, help="folder of scenes; left out: made in a temporary one")
    parser.add_argument("--recordings", type=Path, default=os.environ.get("RT_SCHED_RECORDINGS"))
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.scenes or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        kinds = len(scene_list()["scenes"])
        wanted_ns = int(arguments.minutes * 60 * NS_PER_S / kinds)
        rows = []
        for number, (name, path) in enumerate(scenes(folder, arguments.seconds)):
            rows.append({"scene": name, **watch_scene(path, wanted_ns, 1000 * number)})
            told = f"{rows[-1]['virtual_ns'] / NS_PER_S:.1f} s in {rows[-1]['draws']} draws"
            print(f"{name}: {told}, {len(rows[-1]['false_trips'])} false trips", file=sys.stderr)
    logs = []
    for path in sorted(Path(arguments.recordings).iterdir()) if arguments.recordings else ():
        if path.suffix in SUFFIXES:
            logs.append(without_names(watch_recording(path), len(logs) + 1))
            print(f"{path.name}: {_summary(logs[-1])}", file=sys.stderr)
    trips = [
        {"of": one.get("scene") or f"recording {one['recording']}", **trip}
        for one in (*rows, *logs)
        for trip in one["false_trips"]
    ]
    missed = [
        {"recording": log["recording"], **one}
        for log in logs
        for one in log["injected"]
        if one["verdict"] not in ("detected", "refused")
    ]
    result = {
        "schema": "rt-sched-false-trips/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
        "arrivals": "stamp + declared latency + a draw from the declared jitter, a tenth of them at either end of it",
        "sensors": [kind.value for kind in SensorKind],
        "virtual_ns": sum(row["virtual_ns"] for row in rows),
        "false_trips": trips,
        "missed": missed,
        "scenes": rows,
        "recordings": logs,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{result['virtual_ns'] / NS_PER_S:.0f} s of scenes; false trips: {trips}; missed: {missed}", file=sys.stderr)
    return 1 if trips or missed else 0


def _summary(log: dict[str, Any]) -> str:
    monitors = Counter(one["monitor"] for one in log["irregularities"])
    verdicts = Counter(one["verdict"] for one in log["injected"])
    return f"irregularities {dict(monitors)}, false trips {len(log['false_trips'])}, injected {dict(verdicts)}"


if __name__ == "__main__":
    sys.exit(main())
