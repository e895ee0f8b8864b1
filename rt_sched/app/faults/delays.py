"""By how much the monitors of messages may be later in a paced run of a recording than they declare."""

from __future__ import annotations

from pathlib import Path

from rt_sched.app.faults.prepared import drive_of
from rt_sched.app.replay.health import watch_delay_ns
from sensors.recording import open_recording


def delay_of(system: Path, log: Path) -> int | None:
    """None where no sensor of the recording is read. Raises ConfigError and DataError for what is wrong with a file."""
    recording = open_recording(log)
    try:
        drive = drive_of(system, recording, None, None, 0)
        return watch_delay_ns(drive.system, drive.plan, recording, drive.mapping, drive.timeline)
    finally:
        recording.close()
