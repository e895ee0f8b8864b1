"""ROS 2 bags in SQLite storage: one .db3 file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages.sensor import SensorMessage
from rt_sched.ports.source import RecordedMessage, TopicInfo
from rt_sched.units import MAX_TIME_NS
from sensors.ros_decode import decode_message
from sensors.ros_types import RosChannel, make_channel, recorded_message

MAGIC = b"SQLite format 3\x00"
#: The module cannot even decode the text of some errors that a damaged database causes.
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_ROWS = "SELECT id, topic_id, timestamp FROM messages"


class Rosbag2SqliteRecording:
    """One database of a ROS 2 bag. Rows are served one at a time; only their times and ids are kept in memory.

    Errors: DataError naming --salvage for a damaged database; with `salvage`, rows that cannot be read are counted.
    """

    def __init__(self, path: str, *, salvage: bool = False) -> None:
        self._path = path
        self._salvage = salvage
        self._damage: str | None = None
        self._lock = threading.Lock()
        uri = Path(path).absolute().as_uri()
        # A finished recording has no writer, so nothing needs locking, and read-only folders stay untouched.
        self._database: sqlite3.Connection | None = sqlite3.connect(
            f"{uri}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        try:
            self._channels = self._read_channels()
            self._ids, self._topic_ids, self._times_ns = self._read_rows()
            if salvage:
                self._drop_unreadable()
        except _ERRORS as error:
            self.close()
            raise DataError(f"{path}: not a readable ROS 2 bag: {error}") from None
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> str:
        return self._path

    @property
    def files(self) -> Sequence[str]:
        return (self._path,)

    @property
    def damage(self) -> str | None:
        return self._damage

    @property
    def topics(self) -> Sequence[TopicInfo]:
        """By name."""
        counts = dict(zip(*(part.tolist() for part in np.unique(self._topic_ids, return_counts=True)), strict=True))
        by_topic: dict[str, tuple[RosChannel, int]] = {}
        for topic_id, channel in self._channels.items():
            first, total = by_topic.get(channel.topic, (channel, 0))
            by_topic[channel.topic] = (first, total + counts.get(topic_id, 0))
        return tuple(TopicInfo(n, c.schema, c.kind, total) for n, (c, total) in sorted(by_topic.items()))

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """Messages in order of (log_time_ns, index); only the named topics where given. Raises DataError."""
        if not self._salvage:
            self._check()
        order = np.argsort(self._times_ns, kind="stable")
        if topics is not None:
            wanted = [i for i, channel in self._channels.items() if channel.topic in set(topics)]
            order = order[np.isin(self._topic_ids[order], wanted)]
        for position in order.tolist():
            channel = self._channels[int(self._topic_ids[position])]
            data = self._data(int(self._ids[position]))
            yield recorded_message(channel, position, int(self._times_ns[position]), data)

    def decode(self, message: RecordedMessage) -> SensorMessage:
        """The message as EncodedImage, PointCloud or ImuSample, stamps as recorded; raises DataError."""
        return decode_message(message)

    def close(self) -> None:
        """Give the file back. Messages already handed out stay valid."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _query(self, statement: str, parameters: tuple[int, ...] = ()) -> sqlite3.Cursor:
        if self._database is None:
            raise DataError(f"{self._path}: the recording was closed")
        return self._database.execute(statement, parameters)

    def _read_channels(self) -> dict[int, RosChannel]:
        tables = {name for (name,) in self._query("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"topics", "messages"} <= tables:
            raise DataError(f"{self._path}: an SQLite database, but not a ROS 2 bag (no tables topics and messages)")
        definitions: dict[str, tuple[str, str]] = {}
        if "message_definitions" in tables:
            rows = self._query("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
            definitions = {name: (text, text_format) for name, text_format, text in rows}
        channels = {}
        for topic_id, name, schema, encoding in self._query("SELECT id, name, type, serialization_format FROM topics"):
            text, text_format = definitions.get(schema, ("", ""))
            channels[topic_id] = make_channel(str(name), str(schema), str(encoding), str(text), str(text_format))
        return channels

    def _read_rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        rows: list[tuple[int, int, int]] = []
        try:
            # extend() keeps what came before an error.
            rows.extend(map(self._checked, self._query(f"{_ROWS} ORDER BY id")))
        except _ERRORS as error:
            self._damaged(f"{error} after message {len(rows)}")
            rows.extend(reversed(self._rows_from_the_end(after=rows[-1][0] if rows else -1)))
        table = np.array(rows, np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def _checked(self, row: tuple[object, object, object]) -> tuple[int, int, int]:
        row_id, topic_id, time_ns = row
        if not (isinstance(row_id, int) and isinstance(topic_id, int) and isinstance(time_ns, int)):
            raise sqlite3.DatabaseError("a message row that holds no numbers")
        if topic_id not in self._channels or not 0 <= time_ns <= MAX_TIME_NS:
            raise sqlite3.DatabaseError(f"message {row_id} has the topic {topic_id} and the time {time_ns} ns")
        return row_id, topic_id, time_ns

    def _rows_from_the_end(self, after: int) -> list[tuple[int, int, int]]:
        rows: list[tuple[int, int, int]] = []
        try:
            rows.extend(map(self._checked, self._query(f"{_ROWS} WHERE id > ? ORDER BY id DESC", (after,))))
        except _ERRORS:
            # The same damage from its other side; what lies between the two is lost and already noted.
            return rows
        return rows

    def _damaged(self, reason: str) -> None:
        if not self._salvage:
            raise DataError(f"{self._path}: damaged: {reason}; --salvage reads what is intact")
        self._damage = reason if self._damage is None else f"{self._damage}; {reason}"

    def _check(self) -> None:
        try:
            (verdict,) = self._query("PRAGMA quick_check(1)").fetchone()
        except _ERRORS as error:
            verdict = str(error)
        if verdict != "ok":
            self._damaged(" ".join(str(verdict).split()))

    def _data(self, row_id: int) -> memoryview:
        with self._lock:
            try:
                row = self._query("SELECT data FROM messages WHERE id = ?", (row_id,)).fetchone()
            except _ERRORS as error:
                raise DataError(f"{self._path}: message {row_id} cannot be read: {error}") from None
        if row is None or not isinstance(row[0], bytes):
            raise DataError(f"{self._path}: message {row_id} has no data")
        return memoryview(row[0])

    def _drop_unreadable(self) -> None:
        readable = np.ones(len(self._ids), bool)
        for position, row_id in enumerate(self._ids.tolist()):
            try:
                self._data(row_id)
            except DataError:
                readable[position] = False
        if not readable.all():
            lost = int(np.count_nonzero(~readable))
            self._damaged(f"{lost} of {len(readable)} messages cannot be read")
            self._ids, self._topic_ids = self._ids[readable], self._topic_ids[readable]
            self._times_ns = self._times_ns[readable]
