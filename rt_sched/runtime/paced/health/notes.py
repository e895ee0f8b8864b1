"""What the process that watches sensors writes down while it does, in memory that outlives it."""

from __future__ import annotations

import numpy as np

from rt_sched.messages.health import TrustState
from rt_sched.runtime.health_order import Change, HealthOrder, HealthRecord, Noticed, WatchLoss
from rt_sched.runtime.paced.shared import shared_array

#: Of each, that are told one by one; further ones are dropped.
_MOST = 4096
_MOST_LOSSES = 64
_NONE = np.iinfo(np.int64).min
_TEXT_BYTES = 128
_FOUND = np.dtype(
    [
        ("time_ns", np.int64),
        ("arrival_ns", np.int64),
        ("sensor", np.int64),
        ("worst_case_ns", np.int64),
        ("monitor", "S16"),
        ("reason", f"S{_TEXT_BYTES}"),
    ]
)
_CHANGED = np.dtype([("time_ns", np.int64), ("sensor", np.int64), ("state", np.int64), ("monitor", "S16")])
_LOST = np.dtype([("noticed_ns", np.int64), ("still", np.int64), ("back_ns", np.int64), ("last_ns", np.int64)])
_SUMS = (
    "found",
    "changed",
    "lost",
    "cycles",
    "late",
    "samples",
    "missed",
    "cpu_ns",
    "cycle_cpu_max_ns",
    "cycle_max_ns",
)
_LIFE = np.dtype([("pid", np.int64), ("ready", np.int64), ("beat_ns", np.int64), ("report_ns", np.int64)])
_STATES = tuple(TrustState)


class HealthNotes:
    """Made before forks. Losses are written by the supervisor that watches the process, all else by the process."""

    def __init__(self, order: HealthOrder) -> None:
        self._order = order
        self._found, self._changed = shared_array(_FOUND, _MOST), shared_array(_CHANGED, _MOST)
        self._lost = shared_array(_LOST, _MOST_LOSSES)
        self._stands = shared_array(np.int64, len(order.sensors))
        self._sums = shared_array(np.dtype([(name, np.int64) for name in _SUMS]), 1)[0]
        self.life = shared_array(_LIFE, 1)[0]

    @property
    def cycles(self) -> int:
        """How many there were, whoever did them."""
        return int(self._sums["cycles"])

    def found(self, sensor: int, one: Noticed) -> None:
        """A monitor has found something."""
        texts = one.monitor.encode(), one.reason.encode("utf-8", "replace")[:_TEXT_BYTES]
        self._add("found", self._found, (one.time_ns, one.arrival_ns, sensor, one.worst_case_ns, *texts))

    def stands(self, sensor: int, state: TrustState, monitor: str | None, time_ns: int) -> None:
        """How the trust in a sensor stands; written down where it is another one than before."""
        now = _STATES.index(state)
        if now != self._stands[sensor]:
            self._stands[sensor] = now
            self._add("changed", self._changed, (time_ns, sensor, now, (monitor or "").encode()))

    def cycle(self, samples: int, cpu_ns: int, lasted_ns: int, *, host_ns: int) -> None:
        """One more is over, which is also a sign of life; `host_ns`: now, by the clock of the host."""
        sums = self._sums
        sums["samples"] += samples
        sums["late"] += lasted_ns > self._order.period_ns
        sums["cpu_ns"] += cpu_ns
        sums["cycle_cpu_max_ns"] = max(int(sums["cycle_cpu_max_ns"]), cpu_ns)
        sums["cycle_max_ns"] = max(int(sums["cycle_max_ns"]), lasted_ns)
        sums["cycles"] += 1
        self.life["beat_ns"] = host_ns

    def missed(self, samples: int) -> None:
        """So many came that it never saw."""
        self._sums["missed"] += samples

    def lost(self, noticed_ns: int, *, still: bool) -> None:
        """The process has ended, or stands still."""
        self._add("lost", self._lost, (noticed_ns, still, _NONE, int(self.life["report_ns"])))

    def back(self, time_ns: int) -> None:
        """It reports, again if it did not."""
        self.life["report_ns"] = time_ns
        latest = min(int(self._sums["lost"]), len(self._lost)) - 1
        if latest >= 0 and self._lost[latest]["back_ns"] == _NONE:
            self._lost[latest]["back_ns"] = time_ns

    def read(self) -> HealthRecord:
        """All of it."""
        sums, names = self._sums, [one.name for one in self._order.sensors]
        noticed = [
            Noticed(
                int(row["time_ns"]),
                int(row["arrival_ns"]),
                names[row["sensor"]],
                row["monitor"].decode(),
                int(row["worst_case_ns"]),
                row["reason"].decode("utf-8", "replace"),
            )
            for row in self._found[: int(sums["found"])]
        ]
        changes = [
            Change(
                int(row["time_ns"]),
                names[row["sensor"]],
                _STATES[row["state"]] is TrustState.TRUSTED,
                row["monitor"].decode() or None,
            )
            for row in self._changed[: int(sums["changed"])]
        ]
        losses = [
            WatchLoss(
                int(row["noticed_ns"]),
                bool(row["still"]),
                None if row["back_ns"] == _NONE else int(row["back_ns"]),
                int(row["last_ns"]),
            )
            for row in self._lost[: int(sums["lost"])]
        ]
        told = {name: int(sums[name]) for name in _SUMS[3:]}
        return HealthRecord(self._order, tuple(noticed), tuple(changes), tuple(losses), **told)

    def _add(self, kind: str, rows: np.ndarray, row: tuple[object, ...]) -> None:
        count = int(self._sums[kind])
        if count < len(rows):
            rows[count] = row
            self._sums[kind] = count + 1
