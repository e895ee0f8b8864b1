"""Chains that start at a timed task: simulated maximum reaction times against published ones and definitions."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system_text
from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, Trace
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.checker import check_trace

ANSWERS = Path(__file__).resolve().parents[2] / "../shared/cases/known_answers.json"

#: C and T of the published chain of three, in milliseconds here, and its maximum reaction times.
THREE = ((2, 10), (4, 20), (10, 50))
IMPLICIT_MS, LET_MS = 78, 140
#: The same when a job that arrives, or is dispatched, at the instant of a publication does not see it yet.
IMPLICIT_LATER_MS, LET_LATER_MS = 98, 160

SCALES = (1, 7919)


def simulated(
    tasks: tuple[tuple[int, int], ...],
    communication: str,
    scale: int = 1,
    order: tuple[int, ...] | None = None,
    padded: bool = False,
    offsets_ms: tuple[int, ...] | None = None,
    head: str | None = None,
    second: str | None = None,
) -> Trace:
    """The chain t0 -> t1 -> ... under rate monotonic priorities on one core; `order`: in which the tasks stand.

    `head`, `second`: other activations of the first two.
    """
    rows = []
    for index in order or range(len(tasks)):
        wcet, period = tasks[index]
        offset = offsets_ms[index] if offsets_ms else 0
        written = {0: head, 1: second}.get(index) or f"period: {scale * period}us, offset: {scale * offset}us"
        inputs = f", inputs: {{x: {{from: t{index - 1}, required: false}}}}" if index else ""
        rows.append(
            f"  t{index}: {{runs_on: ecu.cpu, activation: {{{written}}}, "
            f"execution: {{wcet: {scale * wcet}us}}{inputs}}}"
        )
    hyperperiod = math.lcm(*(period for _, period in tasks))
    if padded:
        spare = hyperperiod - sum(hyperperiod // period * wcet for wcet, period in tasks)
        rows.insert(
            1,
            f"  idle: {{runs_on: ecu.cpu, activation: {{period: {scale * hyperperiod}us}}, "
            f"execution: {{wcet: {scale * spare}us}}, deadline: {10 * scale * hyperperiod}us}}",
        )
    path = ", ".join(f"t{index}" for index in range(len(tasks)))
    text = "\n".join(
        (
            "rt_sched: 1",
            "name: chain",
            "policy: rms",
            "devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}",
            "tasks:",
            *rows,
            f"chains: {{all: {{path: [{path}], communication: {communication}}}}}",
        )
    )
    system = load_system_text(text, file_name="chain.yaml", base_dir=".", stages=ImportedStages())
    horizon_ns = 6 * hyperperiod * scale * 1000
    given = lower(
        system,
        make_plan(system, "rms"),
        nominal_samples(system, horizon_ns),
        horizon_ns=horizon_ns,
        execution=Execution.WCET,
    )
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    assert check_trace(trace).ok
    return trace


def path_of(trace: Trace) -> tuple[str, ...]:
    return tuple(sorted(name for name in trace.task_names if name != "idle"))


def largest_reaction_us(trace: Trace, later: bool = False) -> float:
    """Maximum reaction time from the times of the jobs alone, event by event, in units of the scale.

    A job reads what was published at or before its read; with `later` only what was published strictly before.
    """
    assert trace.setup is not None
    jobs = trace.jobs
    reads, publishes = [], []
    for name in path_of(trace):
        task = trace.task_names.index(name)
        mine = np.flatnonzero((jobs.task == task) & (jobs.status == JobStatus.COMPLETED))
        if trace.setup.tasks[task].let:
            mine = mine[jobs.deadline_ns[mine] < trace.horizon_ns]
        let = trace.setup.tasks[task].let
        reads.append((jobs.arrival_ns if let else jobs.start_ns)[mine].tolist())
        publishes.append((jobs.deadline_ns if let else jobs.finish_ns)[mine].tolist())
    worst = 0
    for event, first in itertools.pairwise(range(len(reads[0]))):
        at = publishes[0][first]
        for read, publish in zip(reads[1:], publishes[1:], strict=True):
            job = next((k for k, time in enumerate(read) if (time > at if later else time >= at)), None)
            if job is None:
                return worst / 1000
            at = publish[job]
        if event > 0:
            worst = max(worst, at - reads[0][event])
    return worst / 1000


def largest_age_us(trace: Trace) -> float:
    """Largest distance from the read behind an output to the output, from the records of what each job read."""
    jobs, path = trace.jobs, path_of(trace)
    assert trace.setup is not None
    let = trace.setup.tasks[trace.task_names.index(path[0])].let
    ages = []
    for job in np.flatnonzero(jobs.task == trace.task_names.index(path[-1])).tolist():
        appears_ns = int(jobs.deadline_ns[job] if let else jobs.finish_ns[job])
        if jobs.status[job] != JobStatus.COMPLETED or appears_ns >= trace.horizon_ns:
            continue
        for _ in path[1:]:
            job = int(jobs.inputs[job, 0]) if job >= 0 else job
        if job >= 0:
            ages.append(appears_ns - int(jobs.arrival_ns[job] if let else jobs.start_ns[job]))
    return max(ages) / 1000


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("communication", "expected"), [("implicit", IMPLICIT_MS), ("let", LET_MS)])
def test_the_published_chain(
    communication: str, expected: int, scale: int, order: tuple[int, ...], padded: bool
) -> None:
    trace = simulated(THREE, communication, scale, order, padded)
    measured = measure_chain(trace, ("t0", "t1", "t2"))
    assert measured.reaction.max_ns == expected * scale * 1000
    assert measured.data_age.max_ns == largest_age_us(trace) * 1000


@pytest.mark.parametrize(
    ("communication", "at_once", "later"),
    [("implicit", IMPLICIT_MS, IMPLICIT_LATER_MS), ("let", LET_MS, LET_LATER_MS)],
)
def test_the_other_published_figures_belong_to_the_rule_that_reads_before_it_publishes(
    communication: str, at_once: int, later: int
) -> None:
    """Publications of an instant come before its arrivals and dispatches here, so the first figure is the simulated."""
    trace = simulated(THREE, communication)
    assert largest_reaction_us(trace) == at_once
    assert largest_reaction_us(trace, later=True) == later
    assert measure_chain(trace, path_of(trace)).reaction.max_ns == at_once * 1000


def test_the_figures_are_the_known_ones() -> None:
    if not ANSWERS.exists():
        pytest.skip(f"missing: {ANSWERS}")
    (case,) = [case for case in json.loads(ANSWERS.read_text("utf-8"))["chains"] if case["name"] == "three_periodic"]
    assert tuple((row["C"], row["T"]) for row in case["tasks"]) == THREE
    assert (case["implicit"]["periodic_exact"], case["let"]["periodic_exact"]) == (IMPLICIT_MS, LET_MS)
    other = case["other_ties"]["read_before_publish"]
    assert (other["implicit"], other["let"]) == (IMPLICIT_LATER_MS, LET_LATER_MS)


def test_random_chains_agree_with_the_definition() -> None:
    rng = np.random.default_rng(11)
    for number in range(40):
        count = int(rng.integers(2, 5))
        periods = rng.choice([5, 8, 10, 20, 25, 40], count)
        tasks = tuple((max(1, int(period * rng.uniform(0.05, 0.9 / count))), int(period)) for period in periods)
        offsets = tuple(int(rng.integers(0, period)) for period in periods)
        order = tuple(int(index) for index in rng.permutation(count))
        trace = simulated(tasks, ("implicit", "let")[number % 2], order=order, offsets_ms=offsets)
        measured = measure_chain(trace, path_of(trace))
        assert measured.reaction.max_ns == largest_reaction_us(trace) * 1000
        assert measured.data_age.max_ns == largest_age_us(trace) * 1000


@pytest.mark.parametrize("communication", ["implicit", "let"])
def test_a_sporadic_head_reads_when_its_jobs_do(communication: str) -> None:
    trace = simulated(THREE, communication, head="min_separation: 10us, max_separation: 35us")
    arrivals_ns = trace.jobs.arrival_ns[trace.jobs.task == 0]
    assert len(set(np.diff(arrivals_ns).tolist())) > 3
    measured = measure_chain(trace, path_of(trace))
    assert measured.reaction.max_ns == largest_reaction_us(trace) * 1000
    assert measured.data_age.max_ns == largest_age_us(trace) * 1000


def test_outputs_after_a_given_instant_do_not_count() -> None:
    trace = simulated(THREE, "let")
    whole = measure_chain(trace, path_of(trace))
    cut = measure_chain(trace, path_of(trace), until_ns=250_000)
    assert cut.output_ns.tolist() == [time for time in whole.output_ns.tolist() if time <= 250_000]
    assert 0 < len(cut.output_ns) < len(whole.output_ns)


def test_a_task_that_messages_activate_reads_no_outside_world() -> None:
    trace = simulated(THREE, "implicit", second="on: x")
    with pytest.raises(ValueError, match="'t1' is activated by messages"):
        measure_chain(trace, ("t1", "t2"))
