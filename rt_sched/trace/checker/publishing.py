"""Messages on their way (semantics 11): samples, publications, links, up to the instant at which they are visible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.trace.checker.declared import Routes
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.records import EventKind, Int64s, JobStatus, SampleStatus, message_of_sample, sample_of
from rt_sched.trace.setup import FaultTarget


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Messages in order of time: int64[n] instants and message ids. Of a source, or as they come out of an edge."""

    time_ns: Int64s
    message: Int64s


def check_publishing(history: History, found: Findings) -> list[Stream]:
    """Check samples, outputs and links; returns per edge the messages that became visible at its end."""
    _samples(history, found)
    _let_events(history, found)
    sent = _sent(history)
    return _through_links(history, sent, found)


def _samples(history: History, found: Findings) -> None:
    samples = history.trace.samples
    lost = np.zeros(len(samples), np.bool_)
    for sensor, outages in enumerate(history.outages(FaultTarget.SENSOR, len(history.setup.sensors))):
        mine = np.flatnonzero(samples.sensor == sensor)
        lost[mine] = outages.covers(samples.arrival_ns[mine])
    expected = np.where(lost, int(SampleStatus.LOST), int(SampleStatus.DELIVERED))
    expected = np.where(samples.arrival_ns >= history.trace.horizon_ns, int(SampleStatus.WAITING), expected)
    for row in np.flatnonzero(samples.status != expected).tolist():
        word = SampleStatus(int(expected[row])).name.lower()
        where = history.message_name(message_of_sample(row))
        found.add(Rule.FAULTS, int(samples.arrival_ns[row]), where, f"a sample that is {word}")


def _let_instants(history: History) -> tuple[Int64s, Int64s, Int64s]:
    """LET jobs of which something is told, the instants at which it is, and those jobs that publish then.

    A loss of the processor on which its task is between its arrival and that instant leaves nothing to tell.
    """
    jobs = history.trace.jobs
    let = np.flatnonzero(history.per_job(lambda task: task.let) == 1).astype(np.int64)
    let = let[jobs.deadline_ns[let] < history.trace.horizon_ns]
    if any(len(outages.begin_ns) for outages in history.row_outages):
        let = np.array([job for job in let.tolist() if not _given_up(history, job)], np.int64)
    at_ns = jobs.deadline_ns[let]
    done = (jobs.status[let] == JobStatus.COMPLETED) & (jobs.finish_ns[let] <= at_ns)
    return let, at_ns, done


def _given_up(history: History, job: int) -> bool:
    """Whether the processor of a job's task is lost from its arrival to its LET instant; a task that moves then, after.

    A job that arrives while its processor is lost is given up as well.
    """
    jobs = history.trace.jobs
    arrival_ns, at_ns = int(jobs.arrival_ns[job]), int(jobs.deadline_ns[job])
    if history.lost_on_arrival[job]:
        return True
    for term in history.terms[int(history.task[job])]:
        for lost_ns in history.row_outages[term.row.processor].begin_ns.tolist():
            if arrival_ns < lost_ns <= at_ns and term.begin_ns < lost_ns <= term.end_ns:
                return True
    return False


def _let_events(history: History, found: Findings) -> None:
    let, at_ns, publishes = _let_instants(history)
    told = {job: (time_ns, True) for time_ns, job, _, _ in history.events(EventKind.LET_PUBLISH)}
    told |= {job: (time_ns, False) for time_ns, job, _, _ in history.events(EventKind.LET_UNFINISHED)}
    for job, time_ns, does in zip(let.tolist(), at_ns.tolist(), publishes.tolist(), strict=True):
        if told.pop(job, None) != (time_ns, does):
            text = f"at {time_ns} ns it publishes" if does else f"at {time_ns} ns it has nothing to publish"
            found.add(Rule.PUBLISHING, time_ns, history.job_name(job), text)
    for job, (time_ns, _) in told.items():
        found.add(Rule.PUBLISHING, time_ns, history.job_name(job), "nothing is published here")


def _sent(history: History) -> tuple[list[Stream], list[Stream]]:
    """Per task and per sensor what it published, in order."""
    jobs, samples = history.trace.jobs, history.trace.samples
    let, at_ns, publishes = _let_instants(history)
    let_time = np.full(len(jobs), NEVER_NS, np.int64)
    let_time[let[publishes]] = at_ns[publishes]
    tasks = []
    for index, task in enumerate(history.setup.tasks):
        mine = history.jobs_of_task[index]
        if task.let:
            mine = mine[let_time[mine] < NEVER_NS]
            tasks.append(Stream(let_time[mine], mine))
        else:
            mine = mine[jobs.status[mine] == JobStatus.COMPLETED]
            mine = mine[np.argsort(jobs.finish_ns[mine], kind="stable")]
            tasks.append(Stream(jobs.finish_ns[mine], mine))
    sensors = []
    for sensor in range(len(history.setup.sensors)):
        rows = np.flatnonzero((samples.sensor == sensor) & (samples.status == SampleStatus.DELIVERED))
        sensors.append(Stream(samples.arrival_ns[rows], message_of_sample(rows.astype(np.int64))))
    return tasks, sensors


def _through_links(history: History, sent: tuple[list[Stream], list[Stream]], found: Findings) -> list[Stream]:
    tasks, sensors = sent
    streams: list[Stream] = []
    queued: list[tuple[int, int, int, int, int, int]] = []
    routes = [Routes(history.setup, index) for index in range(len(history.setup.edges))]
    for index, edge in enumerate(history.setup.edges):
        source = sensors[edge.sensor] if edge.sensor is not None else tasks[edge.task or 0]
        streams.append(source)
        if not routes[index].any:
            continue
        # At one instant completions come first, then LET publications, then samples; each by task or by sample.
        if edge.sensor is not None:
            phase, order = 2, sample_of(source.message).tolist()
        else:
            phase, order = int(history.setup.tasks[edge.task or 0].let), [edge.task or 0] * len(source.message)
        columns = (source.time_ns.tolist(), order, source.message.tolist())
        queued += [
            (at, phase, place, place_in, index, message)
            for place_in, (at, place, message) in enumerate(zip(*columns, strict=True))
            if routes[index].link_at(at) is not None
        ]
    if queued:
        queued.sort(key=lambda one: (one[0], one[1], one[2], one[4] if one[1] == 2 else one[3], one[4]))
    visible = _transfers(history, routes, [(one[0], one[4], one[5]) for one in queued], found)
    for index, edge in enumerate(history.setup.edges):
        if routes[index].any:
            # At one instant outputs of tasks come before what links deliver, and that before samples.
            source, phase = streams[index], 2 if edge.sensor is not None else 0
            published = enumerate(zip(source.time_ns.tolist(), source.message.tolist(), strict=True))
            direct = [(at, phase, 0, n, one) for n, (at, one) in published if routes[index].link_at(at) is None]
            arrived = sorted([*direct, *visible.get(index, [])])
            times = np.array([one[0] for one in arrived], np.int64)
            streams[index] = Stream(times, np.array([one[4] for one in arrived], np.int64))
    return streams


def _transfers(
    history: History, routes: list[Routes], queued: list[tuple[int, int, int]], found: Findings
) -> dict[int, list[tuple[int, int, int, int, int]]]:
    """Send everything through the links and compare with the transfers.

    Returns what came out of each edge, as instant, phase, link, order on the link, message.
    """
    setup, table = history.setup, history.trace.transfers
    free_ns = [0] * len(setup.links)
    lost = history.outages(FaultTarget.LINK, len(setup.links))
    # The loss of each link that follows its last message.
    free_lost_ns = [-1] * len(setup.links)
    visible: dict[int, list[tuple[int, int, int, int, int]]] = {}
    columns = (table.edge, table.message, table.queued_ns, table.start_ns, table.end_ns, table.delivered_ns)
    told = list(zip(*(column.tolist() for column in columns), strict=True))
    for place, (at_ns, edge, message) in enumerate(queued):
        link = routes[edge].link_at(at_ns) or 0
        now = np.array([at_ns], np.int64)
        start_ns = end_ns = delivered_ns = -1
        if not lost[link].covers(now)[0]:
            lost_ns = int(lost[link].next_ns(now)[0])
            per_byte = 10**9 / setup.links[link].bytes_per_s
            if free_lost_ns[link] != lost_ns:
                # It was lost since the last message, so it is free.
                free_ns[link], free_lost_ns[link] = 0, lost_ns
            start_ns = max(at_ns, free_ns[link])
            end_ns = start_ns - (-setup.edges[edge].size_bytes * per_byte).__floor__()
            free_ns[link] = end_ns
            delivered_ns = end_ns + setup.links[link].latency_ns
            if delivered_ns >= min(history.trace.horizon_ns, lost_ns):
                delivered_ns = -1
            else:
                visible.setdefault(edge, []).append((delivered_ns, 1, link, place, message))
        expected = (edge, message, at_ns, start_ns, end_ns, delivered_ns)
        if place >= len(told) or told[place] != expected:
            where = f"link {setup.links[link].name}"
            what = f"{history.message_name(message)} on {history.edge_name(edge)}"
            text = f"{what}: queued {at_ns}, sent {start_ns} to {end_ns}, visible {delivered_ns} ns"
            found.add(Rule.LINKS, at_ns, where, text)
    for edge, message, at_ns, *_ in told[len(queued) :]:
        text = f"no transfer of {history.message_name(message)} on {history.edge_name(edge)}"
        found.add(Rule.LINKS, at_ns, "transfers", text)
    return visible
