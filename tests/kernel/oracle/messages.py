"""Edges, joins and links: where messages wait, who is activated, what a job reads (semantics 11 to 13)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from oracle.state import Job, State, Transfer
from rt_sched.lowering.machine_input import EdgeKind, Overflow, Role


def capture_of(s: State, message: int) -> int:
    return s.jobs[message].capture if message >= 0 else s.samples[-2 - message][2]


def drop(s: State, edge: int, message: int, reason: str) -> None:
    s.drops.append((s.now, edge, message, reason))
    s.met[reason] += 1


def publish(s: State, message: int, *, task: int | None = None, sensor: int | None = None) -> None:
    """A task's or sensor's message goes onto all edges that start there, over a link or at once."""
    for number, edge in enumerate(s.g.edges):
        if (task is not None and edge.task == task) or (sensor is not None and edge.sensor == sensor):
            link = s.link_of[number]
            if link is None:
                deliver(s, number, message)
            else:
                send(s, number, link, message)


def send(s: State, edge: int, link: int, message: int) -> None:
    row = s.g.links[link]
    start = max(s.now, s.link_free[link])
    end = start + ceil(Fraction(s.g.edges[edge].size_bytes * 10**9) / row.bytes_per_s)
    s.met["transfer"] += 1
    s.met["transfer waits"] += start > s.now
    s.met["free as it has returned"] += link not in s.lost_links and s.link_free_before[link] > start
    if link in s.lost_links:
        start = end = -1
        s.met["transfer on a lost link"] += 1
    else:
        s.link_free[link] = end
    s.transfers.append(Transfer(edge, link, message, s.now, start, end))


def deliver_transfers(s: State) -> None:
    for link, row in enumerate(s.g.links):
        if link in s.lost_links:
            continue
        for transfer in s.transfers:
            s.met["lost before a return"] += (
                transfer.lost and transfer.link == link and transfer.end + row.latency_ns == s.now
            )
            due = transfer.end + row.latency_ns == s.now and not transfer.lost
            if due and transfer.link == link:
                transfer.delivered = s.now
                deliver(s, transfer.edge, transfer.message)


def deliver(s: State, number: int, message: int) -> None:
    """A message becomes visible on one edge."""
    edge = s.g.edges[number]
    if edge.kind == EdgeKind.QUEUE:
        if edge.role != Role.READ and not s.active[edge.target]:
            drop(s, number, message, "INACTIVE")
            return
        if len(s.queue[number]) == edge.depth:
            if edge.overflow == Overflow.DROP_NEWEST:
                drop(s, number, message, "FULL_NEWEST")
                return
            drop(s, number, s.queue[number].pop(0), "FULL_OLDEST")
        s.queue[number].append(message)
    elif edge.role == Role.EACH and s.active[edge.target]:
        s.owed[number] += 1
    s.newest[number] = message


def empty_activating_queues(s: State, task: int) -> None:
    """The task is removed: what waits in its activating queues is dropped."""
    for edge in s.edges_into[task]:
        if s.g.edges[edge].role != Role.READ:
            while s.queue[edge]:
                drop(s, edge, s.queue[edge].pop(0), "INACTIVE")


def take_queued_inputs(s: State, task: int, bound: dict[int, int]) -> list[int]:
    """Messages that a job gets at its arrival, by slot: the bound ones and the oldest of queues that are only read."""
    inputs = [-1] * s.width
    for edge in s.edges_into[task]:
        row = s.g.edges[edge]
        if edge in bound:
            inputs[s.slot_of[edge]] = bound[edge]
        elif row.kind == EdgeKind.QUEUE and row.role == Role.READ and s.queue[edge]:
            inputs[s.slot_of[edge]] = s.queue[edge].pop(0)
            s.met["queue read"] += 1
    return inputs


def read_inputs(s: State, job: Job) -> None:
    """Read registers and determine the capture stamp: at first dispatch, under LET at arrival."""
    captures = []
    for edge in s.edges_into[job.task]:
        row, slot = s.g.edges[edge], s.slot_of[edge]
        if row.kind == EdgeKind.LATEST or (row.role == Role.EACH and job.activator != edge):
            job.inputs[slot] = s.newest[edge]
        if job.inputs[slot] == -1:
            job.complete_inputs = job.complete_inputs and not row.required
            continue
        captures.append(capture_of(s, job.inputs[slot]))
        if edge == job.activator:
            job.capture = captures[-1]
    if s.row(job).timed and captures:
        job.capture = min(captures)
