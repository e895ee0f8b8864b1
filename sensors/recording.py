"""Opening a recording, whatever its format."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from rt_sched.errors import DataError
from rt_sched.ports.source import Recording
from sensors import mcap_recording, rosbag1_recording, rosbag2_sqlite
from sensors.bag_folder import recording_files
from sensors.split_recording import SplitRecording

_FORMATS = "MCAP, ROS 1 bags (2.0) and ROS 2 bags (.db3)"


def open_recording(path: str | Path, *, salvage: bool = False) -> Recording:
    """The recording in the file, told by its first bytes, or in the folder of a ROS 2 bag or of one that was split.

    With `salvage`, damage is stepped over and told by `Recording.damage`. Errors: DataError, one line, for a file that
    is missing, empty, damaged or of another format.
    """
    file = Path(path)
    try:
        if not file.is_dir():
            return _open_file(file, path, salvage)
        parts, missing = recording_files(file)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror}") from None
    if missing and not salvage:
        raise DataError(f"{path}: {', '.join(missing)} of this recording is missing; --salvage reads the rest")
    if len(parts) == 1 and not missing:
        return _open_file(parts[0], path, salvage)
    with ExitStack() as opened:
        recordings = []
        for part in parts:
            recordings.append(_open_file(part, part, salvage))
            opened.callback(recordings[-1].close)
        opened.pop_all()
    return SplitRecording(str(file), recordings, missing)


def _open_file(file: Path, named: str | Path, salvage: bool) -> Recording:
    """`named`: as the user called it."""
    if not file.exists():
        raise DataError(f"{named}: no such file")
    if not file.is_file():
        raise DataError(f"{named}: not a file; read are {_FORMATS}")
    try:
        with file.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise DataError(f"{named}: cannot be opened: {error.strerror}") from None
    if head.startswith(mcap_recording.MAGIC):
        return mcap_recording.McapRecording(str(file), salvage=salvage)
    if head.startswith(rosbag1_recording.MAGIC):
        return rosbag1_recording.Rosbag1Recording(str(file), salvage=salvage)
    if head.startswith(rosbag2_sqlite.MAGIC):
        return rosbag2_sqlite.Rosbag2SqliteRecording(str(file), salvage=salvage)
    if not head:
        raise DataError(f"{named}: the file is empty")
    if head.startswith(b"#ROSBAG"):
        version = head.split(b"\n")[0].decode("ascii", "replace")
        raise DataError(f"{named}: a bag of the format {version!r}; of ROS 1 bags, '#ROSBAG V2.0' is read")
    raise DataError(f"{named}: not a recording; read are {_FORMATS}")
