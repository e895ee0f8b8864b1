"""The events of a stepped run tell the same story as its tables."""

from collections import defaultdict

import numpy as np
from kernel_systems import random_system

from rt_sched.kernels import codes
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, SampleStatus

ENDS = {
    codes.EVENT_COMPLETE: JobStatus.COMPLETED,
    codes.EVENT_ABORT: JobStatus.ABORTED,
    codes.EVENT_SKIP: JobStatus.SKIPPED,
    codes.EVENT_JOB_LOST: JobStatus.LOST,
}
RUNS, RESTS = {codes.EVENT_START, codes.EVENT_RESUME}, {codes.EVENT_PREEMPT, *ENDS}


def all_events(simulation: Simulation) -> np.ndarray:
    collected = []
    before_ns = -1
    while (events := simulation.step()) is not None:
        assert before_ns < simulation.now_ns
        before_ns = simulation.now_ns
        assert set(events["time_ns"].tolist()) <= {simulation.now_ns}
        collected.append(events.copy())
    return np.concatenate(collected)


def test_events_agree_with_the_tables() -> None:
    for seed in range(200):
        simulation = Simulation(random_system(seed))
        events = all_events(simulation)
        trace = simulation.trace()
        by_job = defaultdict(list)
        for event in events:
            if event["job"] != codes.NONE:
                by_job[int(event["job"])].append((int(event["time_ns"]), int(event["kind"])))
        assert set(by_job) == set(range(len(trace.jobs)))
        slices = defaultdict(list)
        for job, told in by_job.items():
            kinds = [kind for _, kind in told]
            assert told[0] == (trace.jobs.arrival_ns[job], codes.EVENT_ARRIVAL)
            assert kinds.count(codes.EVENT_DEADLINE_MISS) == trace.jobs.missed[job]
            assert kinds.count(codes.EVENT_OVERRUN) == trace.jobs.overrun[job]
            ends = [kind for kind in kinds if kind in ENDS]
            assert [ENDS[kind] for kind in ends] == [
                status for status in [trace.jobs.status[job]] if status != JobStatus.UNFINISHED
            ]
            starts = [time for time, kind in told if kind == codes.EVENT_START]
            assert starts == [time for time in [trace.jobs.start_ns[job]] if time >= 0]
            began = None
            for time, kind in told:
                if kind in RUNS:
                    began = time
                elif kind in RESTS and began is not None:
                    slices[job].append((began, time))
                    began = None
            if began is not None:
                slices[job].append((began, trace.horizon_ns))
        for job in by_job:
            mine = trace.slices.job == job
            rows = zip(trace.slices.start_ns[mine].tolist(), trace.slices.end_ns[mine].tolist(), strict=True)
            assert slices[job] == list(rows)
        dropped = events[events["kind"] == codes.EVENT_DROP]
        assert dropped["message"].tolist() == trace.drops.message.tolist()
        delivered = events[events["kind"] == codes.EVENT_SAMPLE]["message"]
        assert (codes.FIRST_SAMPLE - delivered).tolist() == np.flatnonzero(
            trace.samples.status == SampleStatus.DELIVERED
        ).tolist()


def test_losses_are_told() -> None:
    told = 0
    for seed in range(100):
        given = random_system(seed)
        events = all_events(Simulation(given))
        kinds = events["kind"].tolist()
        lost = kinds.count(codes.EVENT_PROCESSOR_LOST) + kinds.count(codes.EVENT_SENSOR_LOST)
        assert lost == len(given.faults)
        told += lost
    assert told > 10


def test_held_messages_are_all_that_later_jobs_read() -> None:
    read_later = 0
    for seed in range(100):
        simulation = Simulation(random_system(seed))
        bound: set[int] = set()
        held: set[int] = set()
        delivered: set[int] = set()
        while (events := simulation.step()) is not None:
            inputs = simulation.inputs
            for event in events:
                if event["kind"] == codes.EVENT_SAMPLE:
                    delivered.add(int(event["message"]))
                elif event["kind"] == codes.EVENT_COMPLETE:
                    delivered.add(int(event["job"]))
                elif event["kind"] in {codes.EVENT_ARRIVAL, codes.EVENT_START}:
                    for message in set(inputs[event["job"]].tolist()) - {codes.NONE}:
                        assert message in held | delivered | bound
                        read_later += message in held
                        bound.add(message)
            held = set(simulation.held_messages().tolist())
            assert held <= delivered
    assert read_later > 200
