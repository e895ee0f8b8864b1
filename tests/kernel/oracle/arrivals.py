"""When jobs arrive and are released, and when messages make them: phase 5 (semantics 1, 3, 12, 13)."""

from __future__ import annotations

from oracle.changes import rescale
from oracle.messages import capture_of, drop, read_inputs, take_queued_inputs
from oracle.servers import becomes_oldest, has_server, replenish
from oracle.state import Job, State, draw, draw_up_to, interpolate, program_of
from rt_sched.lowering.machine_input import EdgeKind, Role


def arrivals(s: State) -> None:
    for task, row in enumerate(s.rows):
        if row.rate_hz is not None:
            while s.active[task] and next_of_rate(s, task) == s.now:
                arrive(s, task, None, {}, s.now)
                s.next_index[task] += 1
                bits = draw(s.g.seed, task, s.arrived[task], 3)
                s.delay[task] += draw_up_to(row.extra_separation_ns, bits)
        elif row.explicit_arrivals_ns is not None and s.active[task]:
            for at in row.explicit_arrivals_ns:
                if at == s.now:
                    arrive(s, task, None, {}, s.now)
        if row.timed and s.active[task] and extra_now(s, task):
            s.met["additional arrival"] += 1
            arrive(s, task, None, {}, s.now)
    for task, row in enumerate(s.rows):
        before = s.arrived[task]
        activate(s, task)
        if not row.timed and s.active[task] and extra_now(s, task) and s.arrived[task] == before:
            activate_again(s, task)
    for job in s.live():
        if job.unfinished and not job.released and job.release == s.now:
            job.released = True
        if job.wake_at == s.now:
            job.wake_at = None
            s.tell("WAKE", job)


def extra_now(s: State, task: int) -> bool:
    return any(extra.task == task and extra.time_ns == s.now for extra in s.g.extra_arrivals)


def next_of_rate(s: State, task: int) -> int:
    rate = s.rows[task].rate_hz
    assert rate is not None
    return s.first_arrival[task] + s.next_index[task] * rate.denominator * 10**9 // rate.numerator + s.delay[task]


def activate(s: State, task: int) -> None:
    """Messages that became visible make jobs: one each, or one for each set of partners."""
    for edge in s.edges_into[task]:
        row = s.g.edges[edge]
        if row.role != Role.EACH:
            continue
        for _ in range(s.owed[edge]):
            arrive(s, task, edge, {}, capture_of(s, s.newest[edge]))
            s.met["activated by latest"] += 1
        s.owed[edge] = 0
        while row.kind == EdgeKind.QUEUE and s.queue[edge]:
            message = s.queue[edge].pop(0)
            arrive(s, task, edge, {edge: message}, capture_of(s, message))
            s.met["activated by queue"] += 1
    pair(s, task, [edge for edge in s.edges_into[task] if s.g.edges[edge].role == Role.PAIRED])


def activate_again(s: State, task: int) -> None:
    """A job with what came last: on all paired inputs if they match, else on the activating input captured last."""
    paired = [edge for edge in s.edges_into[task] if s.g.edges[edge].role == Role.PAIRED]
    if paired:
        messages = {edge: s.newest[edge] for edge in paired}
        if -1 in messages.values():
            return
        captures = [capture_of(s, message) for message in messages.values()]
        if max(captures) - min(captures) <= s.rows[task].tolerance_ns:
            arrive(s, task, None, messages, min(captures))
            s.met["pair done again"] += 1
        else:
            s.met["no pair to do again"] += 1
        return
    each = [edge for edge in s.edges_into[task] if s.g.edges[edge].role == Role.EACH and s.newest[edge] != -1]
    if each:
        edge = max(each, key=lambda one: (capture_of(s, s.newest[one]), -one))
        s.met["one of several done again"] += edge != each[0]
        bound = {edge: s.newest[edge]} if s.g.edges[edge].kind == EdgeKind.QUEUE else {}
        arrive(s, task, edge, bound, capture_of(s, s.newest[edge]))
        s.met["message done again"] += 1


def pair(s: State, task: int, edges: list[int]) -> None:
    while edges and all(s.queue[edge] for edge in edges):
        captures = {edge: capture_of(s, s.queue[edge][0]) for edge in edges}
        newest = max(captures.values())
        late = [edge for edge in edges if newest - captures[edge] > s.rows[task].tolerance_ns]
        for edge in late:
            drop(s, edge, s.queue[edge].pop(0), "UNMATCHED")
        if not late:
            bound = {edge: s.queue[edge].pop(0) for edge in edges}
            arrive(s, task, None, bound, min(captures.values()))
            s.met["paired"] += len(edges) > 1


def demand_of(s: State, task: int, number: int) -> int:
    row = s.rows[task]
    if number < len(row.explicit_demands_ns):
        demand = row.explicit_demands_ns[number]
    elif isinstance(row.demand_ns, int):
        demand = row.demand_ns
    else:
        demand = interpolate(row.demand_ns, draw(s.g.seed, task, number, 1))
    if s.degrade_next[task]:
        assert row.degraded_demand_ns is not None
        s.met["degraded"] += row.degraded_demand_ns < demand
        demand = min(demand, row.degraded_demand_ns)
    return demand


def jitter_of(s: State, task: int, number: int) -> int:
    row = s.rows[task]
    if number < len(row.explicit_jitters_ns):
        return row.explicit_jitters_ns[number]
    return draw_up_to(row.jitter_ns, draw(s.g.seed, task, number, 2))


def arrive(s: State, task: int, activator: int | None, bound: dict[int, int], capture: int) -> None:
    """A job arrives now; `bound`: message by edge."""
    row = s.rows[task]
    number = s.arrived[task]
    demand = demand_of(s, task, number)
    job = Job(
        index=len(s.jobs),
        task=task,
        row=row,
        number=number,
        arrival=s.now,
        release=s.now + jitter_of(s, task, number),
        deadline=s.now + row.deadline_ns,
        demand=demand,
        declared_demand=demand,
        memory=min(row.memory_ns, demand),
        capture=capture,
        inputs=take_queued_inputs(s, task, bound),
        activator=activator,
        program=program_of(row),
        points=None if row.preemption_points_ns is None else list(row.preemption_points_ns),
    )
    s.jobs.append(job)
    s.arrived[task] += 1
    left_out = (number - s.counted_from[task]) % row.every != 0
    suppressed = left_out or s.suppress_next[task] or (s.high[row.processor] and not row.high_criticality)
    s.suppress_next[task] = s.degrade_next[task] = False
    if rescale(s, job, s.g.processors[row.processor].frequency_khz):
        s.tell("RESCALE", job, job.demand)
    check_separation(s, job)
    if row.let:
        read_inputs(s, job)
    if row.processor in s.lost_processors:
        job.status = "LOST"
        job.publishes = False
        s.met["LOST on arrival"] += 1
        return
    if suppressed:
        job.status = "SUPPRESSED"
        s.tell("SUPPRESS", job, row.every if left_out else -1)
        s.met["left out by every"] += left_out
    else:
        s.backlog[task].append(job)
        s.met["jitter"] += job.release > job.arrival
        if s.backlog[task][0] is job:
            becomes_oldest(s, job)
    if s.backlog[task] and has_server(s, s.backlog[task][0]) and s.backlog[task][0].throttled:
        replenish(s, s.backlog[task][0])


def check_separation(s: State, job: Job) -> None:
    last = s.last_arrival[job.task]
    separation = s.row(job).separation_ns
    if last is not None and separation is not None and job.arrival - last < separation:
        s.tell("SEPARATION", job, job.arrival - last)
    s.last_arrival[job.task] = job.arrival
