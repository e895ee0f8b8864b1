"""What jobs read, what edges dropped, which messages activated jobs (semantics 11 to 13)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque

import numpy as np

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.checker.modes import active_spans
from rt_sched.trace.checker.publishing import Stream
from rt_sched.trace.records import Bools, DropReason, Int64s, JobStatus, sample_of
from rt_sched.trace.setup import EdgeKind, EdgeRow, Overflow, Role, TaskRow

#: A dropped message: instant, edge, message, reason.
Drop = tuple[int, int, int, int]


def check_reading(history: History, streams: list[Stream], found: Findings) -> None:
    """Follow every message through the edges of every task. `streams`: what became visible on each edge."""
    inputs_of: list[list[int]] = [[] for _ in history.setup.tasks]
    for index, edge in enumerate(history.setup.edges):
        inputs_of[edge.target].append(index)
    expected_drops: list[Drop] = []
    for index, task in enumerate(history.setup.tasks):
        _Reader(history, index, task, inputs_of[index], streams, expected_drops, found).check()
    _drops(history, expected_drops, found)
    _arrival_order(history, found)


def _drops(history: History, expected: list[Drop], found: Findings) -> None:
    drops = history.trace.drops
    columns = (drops.time_ns.tolist(), drops.edge.tolist(), drops.message.tolist(), drops.reason.tolist())
    told = Counter(zip(*columns, strict=True))
    wanted = Counter(expected)
    for (time_ns, edge, message, reason), _ in sorted((told - wanted).items()):
        text = f"{history.message_name(message)} is not dropped here as {DropReason(reason).name.lower()}"
        found.add(Rule.EDGES, time_ns, history.edge_name(edge), text)
    for (time_ns, edge, message, reason), _ in sorted((wanted - told).items()):
        text = f"{history.message_name(message)} is dropped here as {DropReason(reason).name.lower()}"
        found.add(Rule.EDGES, time_ns, history.edge_name(edge), text)


def _arrival_order(history: History, found: Findings) -> None:
    """At one instant timed jobs come first, then those that messages activate, each by task."""
    arrival_ns = history.trace.jobs.arrival_ns
    by_message = history.per_job(lambda task: not task.timed)
    order = np.lexsort((np.arange(len(arrival_ns)), history.task, by_message, arrival_ns))
    for job in np.flatnonzero(order != np.arange(len(order))).tolist():
        text = "jobs that arrive together stand in the order of phases and tasks"
        found.add(Rule.ACTIVATION, int(arrival_ns[job]), history.job_name(job), text)


class _Reader:
    """One task with its input edges."""

    def __init__(
        self,
        history: History,
        index: int,
        task: TaskRow,
        edges: list[int],
        streams: list[Stream],
        drops: list[Drop],
        found: Findings,
    ) -> None:
        self._history, self._index, self._task, self._edges = history, index, task, edges
        self._streams, self._drops, self._found = streams, drops, found
        self._rows = [history.setup.edges[edge] for edge in edges]
        self._jobs = history.jobs_of_task[index]
        jobs = history.trace.jobs
        self._arrival_ns = jobs.arrival_ns[self._jobs]
        self._spans = active_spans(history.setup, index)
        #: Input slot that activated each job, -1 for timed and paired ones.
        self._activated_by = np.full(len(self._jobs), -1, np.int64)
        #: Messages bound at arrival, by slot.
        self._bound = np.full((len(self._jobs), len(edges)), -1, np.int64)
        self._registers: dict[int, Stream] = {}
        #: What went into queues, by slot: instant and message.
        self._taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
        #: Instants at which one more job arrives, with the messages that came last, unless others do.
        self._again = sorted(
            extra.time_ns
            for extra in history.setup.extra_arrivals
            if extra.task == index and extra.time_ns < history.trace.horizon_ns
        )
        self._again = [at for at in self._again if self._active(np.array([at], np.int64))[0]]

    def check(self) -> None:
        """Activation, then what was read, then the stamps that follow."""
        roles = {row.role for row in self._rows}
        if not self._task.timed:
            arrivals = self._pair() if Role.PAIRED in roles else self._activate()
            if not self._compare_arrivals(arrivals):
                return
        for slot, row in enumerate(self._rows):
            if row.role is Role.READ and row.kind is EdgeKind.QUEUE:
                self._consume(slot, row)
        self._compare_reads()

    def _active(self, time_ns: Int64s) -> Bools:
        active = np.zeros(len(time_ns), np.bool_)
        for begin_ns, end_ns, _ in self._spans:
            active |= (time_ns >= begin_ns) & (time_ns < end_ns)
        return active

    def _drop(self, time_ns: Int64s, slot: int, messages: Int64s, reason: DropReason) -> None:
        edge = self._edges[slot]
        for at_ns, message in zip(time_ns.tolist(), messages.tolist(), strict=True):
            self._drops.append((at_ns, edge, message, int(reason)))

    def _taken_in(self, slot: int, row: EdgeRow) -> Stream:
        """Messages of an activating edge that find their task active; the others are dropped from queues."""
        stream = self._streams[self._edges[slot]]
        active = self._active(stream.time_ns)
        if row.kind is EdgeKind.QUEUE:
            self._drop(stream.time_ns[~active], slot, stream.message[~active], DropReason.INACTIVE)
        return Stream(stream.time_ns[active], stream.message[active])

    def _activate(self) -> tuple[Int64s, Int64s, Int64s]:
        """Expected jobs: one per message on each activating edge; instants, slots, bound messages."""
        times, slots, bound = [], [], []
        for slot, row in enumerate(self._rows):
            if row.role is not Role.EACH:
                continue
            stream = self._taken_in(slot, row)
            if row.kind is EdgeKind.QUEUE:
                stream = self._crowded(slot, row, stream)
                self._registers[slot] = stream
            times.append(stream.time_ns)
            slots.append(np.full(len(stream.time_ns), slot, np.int64))
            bound.append(stream.message if row.kind is EdgeKind.QUEUE else np.full(len(stream.message), -1, np.int64))
        if times and self._again:
            more = self._activated_again(set(np.concatenate(times).tolist()))
            times.append(np.array([one[0] for one in more], np.int64))
            slots.append(np.array([one[1] for one in more], np.int64))
            bound.append(np.array([one[2] for one in more], np.int64))
        if not times:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        time_ns, slot_of, message = np.concatenate(times), np.concatenate(slots), np.concatenate(bound)
        order = np.lexsort((np.arange(len(time_ns)), slot_of, time_ns))
        order = order[time_ns[order] < self._history.trace.horizon_ns]
        return time_ns[order], slot_of[order], message[order]

    def _activated_again(self, taken: set[int]) -> list[tuple[int, int, int]]:
        """Jobs with the message captured last on any activating edge, the first among equals."""
        found = []
        for at_ns in self._again:
            if at_ns in taken:
                continue
            best: tuple[int, int] | None = None
            for slot, row in enumerate(self._rows):
                message = int(self._newest(slot, np.array([at_ns], np.int64))[0]) if row.role is Role.EACH else -1
                if message != -1 and (best is None or self._capture_ns(message) > self._capture_ns(best[1])):
                    best = (slot, message)
            if best is not None:
                queued = self._rows[best[0]].kind is EdgeKind.QUEUE
                found.append((at_ns, best[0], best[1] if queued else -1))
        return found

    def _crowded(self, slot: int, row: EdgeRow, stream: Stream) -> Stream:
        """Of messages that come at one instant a queue holds no more than its depth, until they activate jobs."""
        at_ns = stream.time_ns
        first = np.searchsorted(at_ns, at_ns, side="left")
        count = np.searchsorted(at_ns, at_ns, side="right") - first
        rank = np.arange(len(at_ns)) - first
        if row.overflow is Overflow.DROP_NEWEST:
            full, reason = rank >= row.depth, DropReason.FULL_NEWEST
        else:
            full, reason = rank < count - row.depth, DropReason.FULL_OLDEST
        self._drop(at_ns[full], slot, stream.message[full], reason)
        return Stream(at_ns[~full], stream.message[~full])

    def _pair(self) -> tuple[Int64s, Int64s, Int64s]:
        """Expected jobs of an `all` join; what each is bound to goes into the columns of its slots."""
        slots = [slot for slot, row in enumerate(self._rows) if row.role is Role.PAIRED]
        arriving: list[tuple[int, int, int, int]] = []
        for slot in slots:
            stream = self._taken_in(slot, self._rows[slot])
            columns = (stream.time_ns.tolist(), stream.message.tolist())
            arriving += [(at, slot, place, message) for place, (at, message) in enumerate(zip(*columns, strict=True))]
        ends = [end_ns for _, end_ns, _ in self._spans if end_ns < NEVER_NS]
        arriving += [(end_ns, -1, 0, 0) for end_ns in ends if end_ns <= self._history.trace.horizon_ns]
        arriving.sort()
        queues: dict[int, deque[int]] = {slot: deque() for slot in slots}
        times: list[int] = []
        matches: list[dict[int, int]] = []
        horizon_ns = self._history.trace.horizon_ns
        for place, (at_ns, slot, _, message) in enumerate(arriving):
            if slot == -1:
                for each, queue in queues.items():
                    self._drops += [(at_ns, self._edges[each], one, int(DropReason.INACTIVE)) for one in queue]
                    queue.clear()
                continue
            self._enqueue(queues[slot], slot, at_ns, message)
            last = place + 1 == len(arriving) or arriving[place + 1][0] != at_ns
            if last and at_ns < horizon_ns:
                for match in self._matches(queues, at_ns):
                    times.append(at_ns)
                    matches.append(match)
        self._pair_again(slots, times, matches)
        for number, match in enumerate(matches[: len(self._jobs)]):
            for slot, message in match.items():
                self._bound[number, slot] = message
        none = np.full(len(times), -1, np.int64)
        return np.array(times, np.int64), none, none

    def _pair_again(self, slots: list[int], times: list[int], matches: list[dict[int, int]]) -> None:
        """Put in the jobs with the messages that came last on all paired inputs, where those are partners."""
        for at_ns in self._again:
            place = bisect_left(times, at_ns)
            if place < len(times) and times[place] == at_ns:
                continue
            match = {slot: self._last_of(slot, at_ns) for slot in slots}
            stamps = [self._capture_ns(message) for message in match.values() if message != -1]
            if len(stamps) == len(slots) and max(stamps) - min(stamps) <= self._task.tolerance_ns:
                times.insert(place, at_ns)
                matches.insert(place, match)

    def _last_of(self, slot: int, at_ns: int) -> int:
        """The last message that a queue had taken in, up to an instant."""
        return next((message for time_ns, message in reversed(self._taken[slot]) if time_ns <= at_ns), -1)

    def _enqueue(self, queue: deque[int], slot: int, at_ns: int, message: int) -> None:
        row, edge = self._rows[slot], self._edges[slot]
        if len(queue) == row.depth:
            if row.overflow is Overflow.DROP_NEWEST:
                self._drops.append((at_ns, edge, message, int(DropReason.FULL_NEWEST)))
                return
            self._drops.append((at_ns, edge, queue.popleft(), int(DropReason.FULL_OLDEST)))
        queue.append(message)
        self._taken[slot].append((at_ns, message))

    def _matches(self, queues: dict[int, deque[int]], at_ns: int) -> list[dict[int, int]]:
        found = []
        while all(queues.values()):
            stamps = {slot: self._capture_ns(queue[0]) for slot, queue in queues.items()}
            newest_ns = max(stamps.values())
            late = [slot for slot, stamp_ns in stamps.items() if newest_ns - stamp_ns > self._task.tolerance_ns]
            if late:
                for slot in late:
                    message = queues[slot].popleft()
                    self._drops.append((at_ns, self._edges[slot], message, int(DropReason.UNMATCHED)))
            else:
                found.append({slot: queue.popleft() for slot, queue in queues.items()})
        return found

    def _capture_ns(self, message: int) -> int:
        trace = self._history.trace
        return int(trace.jobs.capture_ns[message] if message >= 0 else trace.samples.capture_ns[sample_of(message)])

    def _compare_arrivals(self, expected: tuple[Int64s, Int64s, Int64s]) -> bool:
        """Whether jobs arrived exactly when messages asked for them."""
        time_ns, slots, messages = expected
        count = min(len(time_ns), len(self._jobs))
        wrong = np.flatnonzero(time_ns[:count] != self._arrival_ns[:count])
        name = self._task.name
        if len(wrong) or len(time_ns) != len(self._jobs):
            number = int(wrong[0]) if len(wrong) else count
            is_ns = f"{int(self._arrival_ns[number])} ns" if number < len(self._jobs) else "never"
            should_ns = f"{int(time_ns[number])} ns" if number < len(time_ns) else "never"
            at_ns = int(self._arrival_ns[number] if number < len(self._jobs) else time_ns[number])
            text = f"messages activate it at {should_ns}, not {is_ns}"
            self._found.add(Rule.ACTIVATION, at_ns, f"{name} #{number}", text)
            return False
        self._activated_by = slots
        bound = np.flatnonzero(messages != -1)
        self._bound[bound, slots[bound]] = messages[bound]
        return True

    def _consume(self, slot: int, row: EdgeRow) -> None:
        """A queue that is only read: every job that arrives takes the oldest message."""
        stream = self._streams[self._edges[slot]]
        times, messages = stream.time_ns.tolist(), stream.message.tolist()
        queue: deque[int] = deque()
        place = 0
        for number, arrival_ns in enumerate(self._arrival_ns.tolist()):
            while place < len(times) and times[place] <= arrival_ns:
                self._enqueue(queue, slot, times[place], messages[place])
                place += 1
            if queue:
                self._bound[number, slot] = queue.popleft()
        for late in range(place, len(times)):
            self._enqueue(queue, slot, times[late], messages[late])

    def _compare_reads(self) -> None:
        history, jobs = self._history, self._history.trace.jobs
        mine = self._jobs
        status = jobs.status[mine]
        read_ns = np.where(status == JobStatus.SKIPPED, history.end_ns[mine], jobs.start_ns[mine])
        if self._task.let:
            read_ns = self._arrival_ns
        expected = self._bound
        for slot, row in enumerate(self._rows):
            register = row.kind is EdgeKind.LATEST or row.role is Role.EACH
            if not register:
                continue
            newest = self._newest(slot, read_ns)
            fill = (expected[:, slot] == -1) & (read_ns >= 0)
            expected[fill, slot] = newest[fill]
        width = jobs.inputs.shape[1]
        actual = jobs.inputs[mine]
        for slot in range(width):
            wanted = expected[:, slot] if slot < len(self._rows) else np.full(len(mine), -1, np.int64)
            for number in np.flatnonzero(actual[:, slot] != wanted).tolist():
                self._misread(int(mine[number]), slot, int(wanted[number]), int(read_ns[number]))
        required = [slot for slot, row in enumerate(self._rows) if row.required]
        missing = (expected[:, required] == -1).any(axis=1) if required else np.zeros(len(mine), np.bool_)
        started = jobs.start_ns[mine] >= 0
        for number in np.flatnonzero((started & missing) | ((status == JobStatus.SKIPPED) & ~missing)).tolist():
            text = (
                "skipped: a required input is empty"
                if missing[number]
                else "not skipped: every required input is there"
            )
            self._found.add(Rule.EDGES, int(read_ns[number]), history.job_name(int(mine[number])), text)
        self._compare_captures(expected, read_ns)

    def _newest(self, slot: int, at_ns: Int64s) -> Int64s:
        stream = self._registers.get(slot, self._streams[self._edges[slot]])
        if not len(stream.time_ns):
            return np.full(len(at_ns), -1, np.int64)
        place = np.searchsorted(stream.time_ns, at_ns, side="right") - 1
        return np.asarray(np.where(place >= 0, stream.message[np.maximum(place, 0)], -1), np.int64)

    def _misread(self, job: int, slot: int, wanted: int, read_ns: int) -> None:
        history = self._history
        actual = int(history.trace.jobs.inputs[job, slot])
        bound = slot < len(self._rows) and self._rows[slot].kind is EdgeKind.QUEUE
        rule = Rule.EDGES if bound else Rule.READING
        name = self._rows[slot].input if slot < len(self._rows) else f"slot {slot}"
        text = f"it reads {history.message_name(wanted)} on {name}, not {history.message_name(actual)}"
        at_ns = read_ns if read_ns >= 0 else int(history.trace.jobs.arrival_ns[job])
        self._found.add(rule, at_ns, history.job_name(job), text)

    def _compare_captures(self, expected: Int64s, read_ns: Int64s) -> None:
        """The stamp of an output: that of the activating input, the oldest of pairs, or of all a timed job has read."""
        history, jobs = self._history, self._history.trace.jobs
        capture_ns = _captures(history, expected)
        mine = self._jobs
        if self._task.timed:
            oldest_ns = np.where(expected == -1, NEVER_NS, capture_ns).min(axis=1, initial=NEVER_NS)
            wanted = np.where((oldest_ns < NEVER_NS) & (read_ns >= 0), oldest_ns, self._arrival_ns)
        elif any(row.role is Role.PAIRED for row in self._rows):
            paired = [slot for slot, row in enumerate(self._rows) if row.role is Role.PAIRED]
            wanted = capture_ns[:, paired].min(axis=1)
        else:
            rows = np.arange(len(mine))
            message = expected[rows, self._activated_by]
            for slot, row in enumerate(self._rows):
                if row.role is Role.EACH and row.kind is EdgeKind.LATEST:
                    unread = np.flatnonzero((self._activated_by == slot) & (read_ns < 0))
                    message[unread] = self._newest(slot, self._arrival_ns[unread])
            wanted = _captures(history, message)
        for number in np.flatnonzero(jobs.capture_ns[mine] != wanted).tolist():
            text = f"capture stamp {int(wanted[number])} ns, not {int(jobs.capture_ns[mine[number]])} ns"
            self._found.add(Rule.READING, int(self._arrival_ns[number]), history.job_name(int(mine[number])), text)


def _captures(history: History, messages: Int64s) -> Int64s:
    """Capture stamps of messages of any shape; 0 for none."""
    trace = history.trace
    stamps = np.zeros(messages.shape, np.int64)
    of_job, of_sample = messages >= 0, messages < -1
    stamps[of_job] = trace.jobs.capture_ns[messages[of_job]]
    stamps[of_sample] = trace.samples.capture_ns[sample_of(messages[of_sample])]
    return stamps
