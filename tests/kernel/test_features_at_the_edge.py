"""The whole vocabulary at its limits: ranges, refusals, growth, parts of a run, recorded runs, events."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from by_hand import cpu, events, run, schedule, system, task
from kernel_systems import ALL_FEATURES, Feature, random_system

from rt_sched.errors import ConfigError
from rt_sched.kernels import codes
from rt_sched.lowering.machine_input import (
    LIMIT_NS,
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    MachineInput,
    ModeChangeRow,
    OverrunAction,
    Policy,
    Protocol,
    ResourceRow,
    Role,
    SectionRow,
    SuspensionRow,
    TableEntry,
    TimeSlice,
)
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, schedule_sha256

JOB = task("work", 3, 0)
GOOD = system((JOB,), resources=(ResourceRow("r", Protocol.PRIORITY_CEILING),), links=(LinkRow("eth", Fraction(1)),))


def with_task(**changes: object) -> dict:
    return {"tasks": (replace(JOB, **changes),)}  # type: ignore[arg-type]


def with_cpu(policy: Policy = Policy.FIXED_PRIORITY, **changes: object) -> dict:
    return {"processors": (cpu(policy, **changes),)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (with_cpu(cores=0), "processors[0] (cpu).cores: 0 is outside 1 ... 4096"),
        (with_cpu(switch_ns=-1), "processors[0] (cpu).switch_ns: -1 is outside"),
        (with_cpu(migration_ns=-1), "processors[0] (cpu).migration_ns: -1 is outside"),
        (with_cpu(frequency_khz=0), "processors[0] (cpu).frequency_khz: 0 is outside 1 ... 2147483647"),
        (with_cpu(Policy.TIME_SLICED), "slices: a time_sliced processor needs slices, and no other has them"),
        (with_cpu(slices=(TimeSlice(1, ()),)), "slices: a time_sliced processor needs slices, and no other has them"),
        (with_cpu(Policy.TABLE), "cycle_ns: a table processor needs a cycle, and no other has one"),
        (
            with_cpu(Policy.TABLE, cycle_ns=9, cores=2),
            "processors[0] (cpu).cores: a time_sliced or table processor has one core",
        ),
        (with_cpu(Policy.TIME_SLICED, slices=(TimeSlice(5, (0,), 5),)), "slices[0].switch_ns: 5 is outside 0 ... 4"),
        (
            with_cpu(Policy.TIME_SLICED, slices=(TimeSlice(5, (3,)),)),
            "slices[0].tasks: [3] are not all on this",
        ),
        (
            with_cpu(Policy.TABLE, cycle_ns=9, table=(TableEntry(2, 3, 0), TableEntry(4, 1, 0))),
            "table[1].start_ns: 4 is outside 5 ... 9",
        ),
        (with_cpu(Policy.TABLE, cycle_ns=9, table=(TableEntry(7, 3, 0),)), "table[0].length_ns: 3 is outside 1 ... 2"),
        (with_cpu(Policy.TABLE, cycle_ns=9, table=(TableEntry(1, 1, 2),)), "table[0].task: 2 is not on this processor"),
        (with_task(rate_hz=Fraction(1)), "explicit_arrivals_ns: a task has either a rate or explicit arrivals"),
        (with_task(explicit_arrivals_ns=(4, 3)), "explicit_arrivals_ns: arrivals must not descend"),
        (with_task(explicit_arrivals_ns=(-1,)), "explicit_arrivals_ns: -1 is outside"),
        (with_task(jitter_ns=-1), "tasks[0] (work).jitter_ns: -1 is outside"),
        (with_task(explicit_jitters_ns=(-1,)), "tasks[0] (work).explicit_jitters_ns: -1 is outside"),
        (with_task(separation_ns=0), "tasks[0] (work).separation_ns: 0 is outside"),
        (with_task(overrun_action=OverrunAction.ABORT), "overrun_action: an overrun action needs a budget_ns"),
        (
            with_task(overrun_action=OverrunAction.DEGRADE, budget_ns=1),
            "degraded_demand_ns: the overrun action degrade needs a degraded demand",
        ),
        (
            with_task(overrun_action=OverrunAction.THROTTLE, budget_ns=1) | with_cpu(Policy.EDF),
            "separation_ns: throttling under edf postpones deadlines by the separation; give one",
        ),
        (with_task(budget_granularity_ns=0), "tasks[0] (work).budget_granularity_ns: 0 is outside"),
        (with_task(low_budget_ns=3), "low_budget_ns: only a task of high criticality has a C_LO"),
        (with_task(weakly_hard=(3, 2)), "weakly_hard: (3, 2) is not (m, k) with 1 <= m <= k"),
        (with_task(sections=(SectionRow(4, 0, 1),)), "sections[0].resource: 4 is not one of the 1 that exist"),
        (with_task(sections=(SectionRow(0, 3, 3),)), "sections[0].end_ns: 3 is outside 4"),
        (with_task(sections=(SectionRow(0, 0, 3), SectionRow(0, 1, 2))), "without nesting, or locks the same resource"),
        (with_task(suspensions=(SuspensionRow(0, 1, 1),)), "suspensions[0].offset_ns: 0 is outside 1"),
        (with_task(suspensions=(SuspensionRow(1, 2, 1),)), "suspensions[0].max_ns: 1 is outside 2"),
        (with_task(suspensions=(SuspensionRow(1, 1, 1, (-1,)),)), "suspensions[0].explicit_ns: -1 is outside"),
        (
            with_task(sections=(SectionRow(0, 0, 3),), suspensions=(SuspensionRow(1, 1, 1),)),
            "suspensions[0]: a job does not suspend inside a critical section",
        ),
        (with_task(preemption_points_ns=(2, 2)), "preemption_points_ns: points must ascend"),
        (
            with_task(sections=(SectionRow(0, 0, 3),)) | with_cpu(cores=2),
            "priority_ceiling works on one core; across cores use msrp or priority_inheritance",
        ),
        (
            with_task(sections=(SectionRow(0, 0, 3),)) | with_cpu(Policy.FIFO),
            "resources[0] (r): priority_ceiling needs fixed_priority or edf",
        ),
        (
            with_task(sections=(SectionRow(0, 0, 3),))
            | with_cpu(Policy.TABLE, cycle_ns=5)
            | {"resources": (ResourceRow("r", Protocol.MSRP),)},
            "msrp spins without preemption, which slices and table entries do not allow",
        ),
        ({"links": (LinkRow("eth", Fraction(0)),)}, "links[0] (eth).bytes_per_s: 0 is not positive"),
        (
            {"edges": (EdgeRow(0, "in", EdgeKind.LATEST, Role.READ, task=0, link=0, size_bytes=2**51),)},
            "edges[0] (in).size_bytes: time on the link: ",
        ),
        ({"faults": (FaultRow(0, FaultTarget.LINK, 1),)}, "faults[0].target: 1 is not one of the 1"),
        ({"mode_changes": (ModeChangeRow(3, added=(0,)),)}, "mode_changes[0].added: [0] are there already"),
        (
            {"mode_changes": (ModeChangeRow(3, removed=(0,)), ModeChangeRow(4, removed=(0,)))},
            "mode_changes[1].removed: [0] are not there to be removed",
        ),
        ({"frequency_changes": (FrequencyChangeRow(3, 0, 0),)}, "frequency_changes[0].frequency_khz: 0 is outside"),
        (
            with_task(demand_ns=2**58)
            | with_cpu(frequency_khz=8)
            | {"frequency_changes": (FrequencyChangeRow(3, 0, 1),)},
            "tasks[0] (work).demand_ns at 1 kHz: ",
        ),
    ],
)
def test_what_the_kernel_could_not_take_is_refused_by_name(wrong: dict, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Simulation(replace(GOOD, **wrong))
    assert message in str(refusal.value)


def test_the_largest_times_do_not_overflow() -> None:
    """Everything at its limit at once: what is over the horizon never happens, nothing wraps to a negative time."""
    section = (SectionRow(0, 0, LIMIT_NS),)
    huge = {"deadline_ns": LIMIT_NS, "jitter_ns": LIMIT_NS, "separation_ns": LIMIT_NS, "level": LIMIT_NS}
    tasks = (
        task("waits", LIMIT_NS, 0, LIMIT_NS - 1, suspensions=(SuspensionRow(1, LIMIT_NS, LIMIT_NS),), **huge),
        task("locks", LIMIT_NS, 1, processor=1, sections=section, **huge),
        task(
            "served",
            LIMIT_NS,
            0,
            2,
            processor=2,
            budget_ns=LIMIT_NS // 3,
            overrun_action=OverrunAction.THROTTLE,
            **huge,
        ),
        task("shared", LIMIT_NS, period_ns=LIMIT_NS, extra_separation_ns=LIMIT_NS, processor=1, **huge),
        task("sends", 1, 0, 5, 9, processor=2, deadline_ns=LIMIT_NS, let=True),
    )
    edges = (EdgeRow(3, "in", EdgeKind.LATEST, Role.READ, task=4, required=False, link=0, size_bytes=LIMIT_NS - 1),)
    given = system(
        tasks,
        [
            cpu(name="a", switch_ns=LIMIT_NS, migration_ns=LIMIT_NS, cores=2),
            cpu(name="b", switch_ns=LIMIT_NS),
            cpu(Policy.EDF, name="c"),
        ],
        horizon_ns=LIMIT_NS,
        edges=edges,
        resources=(ResourceRow("r", Protocol.MSRP),),
        links=(LinkRow("slow", Fraction(10**9), LIMIT_NS),),
        frequency_changes=(FrequencyChangeRow(7, 2, 2**31 - 1),),
    )
    trace = run(given)
    for table in (trace.jobs, trace.slices, trace.transfers, trace.events):
        for name in table.__dataclass_fields__:
            if name.endswith("_ns"):
                assert (getattr(table, name) >= -1).all(), name
    assert (trace.slices.end_ns > trace.slices.start_ns).all()
    assert trace.jobs.executed_ns.max() <= LIMIT_NS


def test_repeated_rescaling_stays_exact_for_long_demands() -> None:
    job = task("job", 2**57, 0, deadline_ns=LIMIT_NS)
    changes = tuple(
        FrequencyChangeRow(10**9 * i, 0, khz) for i, khz in enumerate((999_983, 1_000_003, 524_287), start=1)
    )
    trace = run(system((job,), cpu(frequency_khz=1_000_000), horizon_ns=LIMIT_NS, frequency_changes=changes))
    expected, executed, khz = 2**57, 0, 1_000_000
    for change in changes:
        executed += 10**9
        left = expected - executed
        expected, khz = executed - (-left * khz // change.frequency_khz), change.frequency_khz
    assert trace.jobs.demand_ns.tolist() == [expected]
    assert trace.jobs.finish_ns.tolist() == [expected]


def test_tiny_tables_grow_and_parts_add_up() -> None:
    for seed in range(150):
        given = random_system(seed, ALL_FEATURES)
        whole = Simulation(given, rows=50_000)
        whole.run()
        parts = Simulation(given, rows=1)
        for until_ns in (0, 1, 9, 10, 33):
            parts.run(until_ns)
        parts.step()
        parts.run()
        assert schedule_sha256(parts.trace()) == schedule_sha256(whole.trace())
        assert schedule(parts.trace()) == schedule(whole.trace())
        assert events(parts.trace()) == events(whole.trace())


def as_recorded(given: MachineInput) -> MachineInput:
    """The same system with the arrivals, demands and jitters of its run, in place of draws."""
    jobs = run(given).jobs
    tasks = []
    for index, one in enumerate(given.tasks):
        mine = jobs.task == index
        arrivals = tuple(jobs.arrival_ns[mine].tolist())
        timed = {"rate_hz": None, "explicit_arrivals_ns": arrivals, "extra_separation_ns": 0} if one.timed else {}
        tasks.append(
            replace(
                one,
                explicit_demands_ns=tuple(jobs.demand_ns[mine].tolist()),
                explicit_jitters_ns=tuple((jobs.release_ns - jobs.arrival_ns)[mine].tolist()),
                **timed,
            )
        )
    return replace(given, tasks=tuple(tasks), seed=given.seed ^ 1)


def test_a_recorded_run_is_reproduced_exactly() -> None:
    features = ALL_FEATURES - {Feature.FREQUENCY, Feature.SUSPENSION}
    for seed in range(100):
        given = random_system(seed, features)
        assert schedule_sha256(run(as_recorded(given))) == schedule_sha256(run(given))


ENDS = {
    codes.EVENT_COMPLETE: JobStatus.COMPLETED,
    codes.EVENT_ABORT: JobStatus.ABORTED,
    codes.EVENT_SKIP: JobStatus.SKIPPED,
    codes.EVENT_JOB_LOST: JobStatus.LOST,
    codes.EVENT_SUPPRESS: JobStatus.SUPPRESSED,
}


def test_events_tell_how_every_job_ended_and_repeat_the_log() -> None:
    for seed in range(100):
        simulation = Simulation(random_system(seed, ALL_FEATURES))
        told = []
        while (rows := simulation.step()) is not None:
            told += rows[["time_ns", "kind", "processor", "task", "job", "value"]].tolist()
        trace = simulation.trace()
        ends = {row[4]: ENDS[row[1]] for row in told if row[1] in ENDS}
        by_table = {
            job: JobStatus(status) for job, status in enumerate(trace.jobs.status) if status != JobStatus.UNFINISHED
        }
        assert ends == by_table
        logged = set(np.unique(trace.events.kind).tolist())
        log = zip(
            trace.events.time_ns.tolist(),
            trace.events.kind.tolist(),
            trace.events.processor.tolist(),
            trace.events.task.tolist(),
            trace.events.job.tolist(),
            trace.events.value.tolist(),
            strict=True,
        )
        assert [row for row in told if row[1] in logged] == list(log)
