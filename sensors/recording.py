"""Opening a recording, whatever its format."""

from __future__ import annotations

from pathlib import Path

from rt_sched.errors import DataError
from rt_sched.ports.source import Recording
from sensors import mcap_recording, rosbag1_recording, rosbag2_sqlite

_FORMATS = "MCAP, ROS 1 bags (2.0) and ROS 2 bags (.db3)"
_STORAGE_SUFFIXES = (".mcap", ".db3")


def open_recording(path: str | Path, *, salvage: bool = False) -> Recording:
    """The recording in the file, or in a ROS 2 bag folder with one storage file; told by its first bytes.

    With `salvage`, damage is stepped over and told by `Recording.damage`. Errors: DataError, one line, for a file that
    is missing, empty, damaged or of another format.
    """
    file = Path(path)
    try:
        if file.is_dir():
            file = _storage_file(file)
        if not file.exists():
            raise DataError(f"{path}: no such file")
        if not file.is_file():
            raise DataError(f"{path}: not a file; read are {_FORMATS}")
        with file.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror}") from None
    if head.startswith(mcap_recording.MAGIC):
        return mcap_recording.McapRecording(str(file), salvage=salvage)
    if head.startswith(rosbag1_recording.MAGIC):
        return rosbag1_recording.Rosbag1Recording(str(file), salvage=salvage)
    if head.startswith(rosbag2_sqlite.MAGIC):
        return rosbag2_sqlite.Rosbag2SqliteRecording(str(file), salvage=salvage)
    if not head:
        raise DataError(f"{path}: the file is empty")
    if head.startswith(b"#ROSBAG"):
        version = head.split(b"\n")[0].decode("ascii", "replace")
        raise DataError(f"{path}: a bag of the format {version!r}; of ROS 1 bags, '#ROSBAG V2.0' is read")
    raise DataError(f"{path}: not a recording; read are {_FORMATS}")


def _storage_file(folder: Path) -> Path:
    files = sorted(entry for entry in folder.iterdir() if entry.suffix in _STORAGE_SUFFIXES and entry.is_file())
    if len(files) == 1:
        return files[0]
    if files:
        raise DataError(
            f"{folder}: a folder with {len(files)} recordings; name one: {', '.join(f.name for f in files)}"
        )
    raise DataError(f"{folder}: a folder without a recording; read are {_FORMATS}")
