"""Chain measurements against figures worked out by hand and against a slow restatement of the definitions."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from rt_sched.trace import JobStatus, SampleStatus
from rt_sched.trace.chains import measure_chain


def _two_stage(new_trace):
    """Camera every 10 from 0, arriving 1 later; `detect` takes each frame, `plan` samples the latest result."""
    builder = new_trace(["detect", "plan"], ["camera"], ["a.cpu.0"])
    builder.edge("camera", "detect")
    builder.edge("detect", "plan")
    return builder


def test_latency_reaction_and_data_age_worked_out_by_hand(new_trace):
    builder = _two_stage(new_trace)
    frames = [builder.sample("camera", capture + 1, capture) for capture in (0, 10, 20, 30, 40, 50)]
    detected = [builder.job("detect", 10 * k + 1, 10 * k + 5, inputs=[frames[k]]) for k in range(5)]
    builder.job("plan", 12, 14, inputs=[detected[0]])  # frame 0 is 14 old
    builder.job("plan", 28, 30, inputs=[detected[2]])  # frame 1 never got this far
    builder.job("plan", 33, 37, inputs=[detected[2]])
    builder.job("plan", 48, 49, inputs=[detected[4]])
    measured = measure_chain(builder.build(horizon=60), ("camera", "detect", "plan"))

    assert measured.output_ns.tolist() == [14, 30, 37, 49]
    assert measured.sample_number.tolist() == [0, 2, 2, 4]
    assert measured.data_age_ns.tolist() == [14, 10, 17, 9]
    assert measured.latency_sample_number.tolist() == [1, 2, 3, 4]
    assert measured.latency_ns.tolist() == [20, 10, 19, 9]
    # An event just after frame 0 (time 0) is first seen in the output at 30, one just after frame 2 in that at 49.
    assert measured.reaction_ns.tolist() == [30, 20, 29, 19]
    assert (measured.data_age.max_ns, measured.latency.max_ns, measured.reaction.max_ns) == (17, 20, 30)
    assert (measured.samples, measured.start_up_samples, measured.lost, measured.unreflected) == (6, 0, 2, 1)
    assert (measured.repeated, measured.outputs_without_sample) == (1, 0)
    assert (measured.first_output_ns, measured.open_reaction_ns) == (14, 20)


def test_start_up_is_left_out_and_counted(new_trace):
    builder = _two_stage(new_trace)
    frames = [builder.sample("camera", 10 * k, 10 * k) for k in range(8)]
    builder.job("plan", 3, 4, inputs=[-1])
    detected = [builder.job("detect", 10 * k, 10 * k + 2, inputs=[frames[k]]) for k in (5, 6)]
    builder.job("plan", 52, 54, inputs=[detected[0]])
    builder.job("plan", 62, 64, inputs=[detected[1]])
    measured = measure_chain(builder.build(horizon=80), ("camera", "detect", "plan"))
    assert (measured.start_up_samples, measured.first_output_ns) == (5, 54)
    assert measured.latency_ns.tolist() == [4]
    assert measured.reaction_ns.tolist() == [14]
    assert (measured.unreflected, measured.lost, measured.outputs_without_sample) == (1, 0, 1)


def test_a_chain_that_stops_delivering_shows_in_the_open_reaction(new_trace):
    builder = _two_stage(new_trace)
    frames = [builder.sample("camera", 10 * k, 10 * k) for k in range(100)]
    for k in range(10):
        detected = builder.job("detect", 10 * k, 10 * k + 2, inputs=[frames[k]])
        builder.job("plan", 10 * k + 2, 10 * k + 3, inputs=[detected])
    measured = measure_chain(builder.build(horizon=1_000), ("camera", "detect", "plan"))
    assert measured.reaction.max_ns == 13
    assert (measured.open_reaction_ns, measured.unreflected) == (910, 90)


def test_without_any_output_everything_is_unreflected(new_trace):
    builder = _two_stage(new_trace)
    for k in range(4):
        frame = builder.sample("camera", 10 * k, 10 * k)
        builder.job("detect", 10 * k, inputs=[frame], status=JobStatus.ABORTED)
    measured = measure_chain(builder.build(), ("camera", "detect", "plan"))
    assert measured.unreflected == measured.samples == 4
    assert (measured.lost, measured.repeated, measured.start_up_samples) == (0, 0, 0)
    assert measured.latency.max_ns is None
    assert measured.first_output_ns is None
    assert measured.open_reaction_ns is None


def test_samples_of_a_lost_sensor_and_unpublished_results_do_not_count(new_trace):
    builder = _two_stage(new_trace)
    frames = [builder.sample("camera", 10 * k, 10 * k) for k in range(3)]
    builder.sample("camera", 30, 30, status=SampleStatus.LOST)
    builder.sample("camera", 2_000, 2_000, status=SampleStatus.WAITING)
    detected = [builder.job("detect", 10 * k, 10 * k + 2, inputs=[frames[k]]) for k in range(3)]
    for k in range(3):
        builder.job("plan", 10 * k + 2, 10 * k + 4, inputs=[detected[k]])
    trace = builder.build(horizon=50)
    assert measure_chain(trace, ("camera", "detect", "plan")).samples == 3
    published = np.ones(len(trace.jobs), dtype=bool)
    published[detected[1]] = False
    measured = measure_chain(trace, ("camera", "detect", "plan"), published)
    assert measured.sample_number.tolist() == [0, 2]
    assert measured.reaction_ns.tolist() == [24, 14]
    assert (measured.lost, measured.outputs_without_sample) == (1, 1)


def test_the_slot_of_the_named_edge_is_followed(new_trace):
    builder = new_trace(["left", "right", "fuse"], ["one", "two"], ["a.cpu.0"])
    builder.edge("one", "left")
    builder.edge("two", "right")
    builder.edge("left", "fuse", "a", 0)
    builder.edge("right", "fuse", "b", 1)
    one, two = builder.sample("one", 0, 0), builder.sample("two", 5, 5)
    left = builder.job("left", 0, 3, inputs=[one])
    right = builder.job("right", 5, 8, inputs=[two])
    builder.job("fuse", 10, 12, inputs=[left, right])
    trace = builder.build()
    assert measure_chain(trace, ("one", "left", "fuse")).data_age_ns.tolist() == [12]
    assert measure_chain(trace, ("two", "right", "fuse")).data_age_ns.tolist() == [7]


def test_a_timed_task_reads_the_outside_world_at_its_start(new_trace):
    """`sense` reads at 1, 12, 21 and 33; its second job is aborted, so what that has read is lost."""
    builder = new_trace(["sense", "act"], [], ["a.cpu.0"])
    builder.edge("sense", "act")
    starts = {0: 1, 1: 12, 2: 21, 3: 33}
    sensed = {}
    for k, start in starts.items():
        sensed[k] = builder.job(
            "sense",
            10 * k,
            -1 if k == 1 else start + 2,
            inputs=[-1],
            slices=[("a.cpu.0", start, start + 2)],
            status=JobStatus.ABORTED if k == 1 else None,
        )
    builder.job("sense", 40, inputs=[-1], status=JobStatus.SKIPPED)
    for k, (read, finish) in enumerate(((0, 8), (0, 18), (2, 28), (3, 38))):
        builder.job("act", 10 * k + 5, finish, inputs=[sensed[read]])
    measured = measure_chain(builder.build(horizon=60), ("sense", "act"))
    assert measured.output_ns.tolist() == [8, 18, 28, 38]
    assert measured.capture_ns.tolist() == [1, 1, 21, 33]
    assert measured.sample_number.tolist() == [0, 0, 2, 3]
    assert measured.data_age_ns.tolist() == [7, 17, 7, 5]
    # Right after 1 an event waits for the read at 12, which gets nowhere, and is seen in the output of the next at 28.
    assert measured.latency_ns.tolist() == [16, 7, 5]
    assert measured.reaction_ns.tolist() == [27, 16, 17]
    assert (measured.samples, measured.lost, measured.repeated, measured.unreflected) == (4, 1, 1, 0)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("camera",), "at least one task more"),
        (("lidar", "detect"), "'lidar' is neither a sensor nor a task"),
        (("camera", "detct"), "'detct' is not a task"),
        (("camera", "plan"), "no edge leads from 'camera' to 'plan'"),
    ],
)
def test_a_path_that_is_none_is_refused_by_name(new_trace, path, words):
    with pytest.raises(ValueError, match=words):
        measure_chain(_two_stage(new_trace).build(), path)


def _restated(trace, path):
    """The definitions, one output and one sample at a time."""
    slots = [
        next(edge.slot for edge in trace.edges if (edge.source, edge.target) == pair)
        for pair in itertools.pairwise(path)
    ]
    outputs = []
    for job in range(len(trace.jobs)):
        message = job
        if trace.task_names[trace.jobs.task[job]] != path[-1] or trace.jobs.status[job] != JobStatus.COMPLETED:
            continue
        for slot in reversed(slots):
            message = int(trace.jobs.inputs[message, slot])
            if message < 0:
                break
        if message <= -2:
            outputs.append((int(trace.jobs.finish_ns[job]), -2 - message))
    outputs.sort(key=lambda output: output[0])
    capture = trace.samples.capture_ns.tolist()
    first = outputs[0][1] if outputs else len(capture)
    latency, reaction = [], []
    for k in range(first, len(capture)):
        seen = [finish for finish, sample in outputs if sample >= k]
        if seen and k > first:
            latency.append(seen[0] - capture[k])
            reaction.append(seen[0] - capture[k - 1])
    ages = [finish - capture[sample] for finish, sample in outputs]
    newest = max((sample for _, sample in outputs), default=-1)
    used = {sample for _, sample in outputs}
    lost = sum(k not in used for k in range(first, newest + 1))
    return ages, latency, reaction, lost, len(outputs) - len(used)


def test_random_traces_agree_with_the_definitions(new_trace):
    rng = np.random.default_rng(7)
    seen = {"lost": 0, "repeated": 0, "start_up": 0, "older_after_newer": 0, "empty": 0}
    for _ in range(150):
        builder = new_trace(["a", "b", "c"], ["s"], ["x.cpu.0"])
        builder.edge("s", "a", slot=1)
        builder.edge("a", "b")
        builder.edge("b", "c")
        times = np.sort(rng.integers(0, 500, 30))
        samples = [builder.sample("s", int(t), int(t) - int(rng.integers(0, 20))) for t in times]
        done = {"a": [], "b": []}
        for t in np.sort(rng.integers(0, 600, 60)).tolist():
            task = ("a", "b", "c")[rng.integers(0, 3)]
            upstream = (
                [m for m, arrival in zip(samples, times, strict=True) if arrival <= t]
                if task == "a"
                else done["a" if task == "b" else "b"]
            )
            # Usually the newest, sometimes an older one, sometimes nothing.
            message = (
                -1
                if not upstream or rng.random() < 0.1
                else upstream[-1 - min(len(upstream) - 1, rng.geometric(0.7) - 1)]
            )
            completes = rng.random() < 0.8
            inputs = [-1, message] if task == "a" else [message, -1]
            job = builder.job(task, t, t + int(rng.integers(1, 9)) if completes else -1, inputs=inputs)
            if completes and task != "c":
                done[task].append(job)
        trace = builder.build(horizon=700)
        measured = measure_chain(trace, ("s", "a", "b", "c"))
        ages, latency, reaction, lost, repeated = _restated(trace, ("s", "a", "b", "c"))
        assert measured.data_age_ns.tolist() == ages
        assert measured.latency_ns.tolist() == latency
        assert measured.reaction_ns.tolist() == reaction
        assert (measured.lost, measured.repeated) == (lost, repeated)
        reflected = measured.start_up_samples + (len(latency) + 1 if ages else 0) + measured.unreflected
        assert reflected == measured.samples == 30
        seen["lost"] += lost > 0
        seen["repeated"] += repeated > 0
        seen["start_up"] += measured.start_up_samples > 0
        seen["older_after_newer"] += bool(np.any(np.diff(measured.sample_number) < 0))
        seen["empty"] += not ages
    assert all(seen[what] >= 5 for what in ("lost", "repeated", "start_up", "older_after_newer")), seen


def test_the_result_cannot_be_changed(new_trace):
    measured = measure_chain(_two_stage(new_trace).build(), ("camera", "detect", "plan"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        measured.lost = 1
