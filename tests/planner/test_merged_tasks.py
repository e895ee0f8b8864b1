"""Tasks that a plan merges: one task for the analysis, the kernel and a replay, and what that saves in each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from planned_systems import system_of

from rt_sched.analysis.analyze import analyze
from rt_sched.app.analyze.job import analysed_system
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context
from rt_sched.app.plan.job import PlanRequest, planned_document
from rt_sched.config.plan_text import plan_text, system_sha256
from rt_sched.errors import ConfigError
from rt_sched.lowering import Execution, check_plan, lower, nominal_samples
from rt_sched.lowering.merging import check_merged, with_merged
from rt_sched.model import Plan, System, Task
from rt_sched.planner import make_plan
from rt_sched.planner.fusion import fusions
from rt_sched.planner.merging import groups_of, merges_of
from rt_sched.ports import JobContext, StageBase, StageContext
from rt_sched.sim import Simulation
from rt_sched.trace.records import SliceKind

MS = 1_000_000
SMALL = """
devices: {a: {processing_elements: {cpu: {kind: cpu, cores: 2, switch_cost: 20us}}}}
sensors: {eye: {kind: camera, rate: 20Hz, latency: 2ms, attached_to: a, topic: /e}}
tasks:
  grab: {runs_on: a.cpu, inputs: {x: eye}, execution: {bcet: 0.2ms, wcet: 0.3ms}, deadline: 5ms, memory: 1MB}
  scale: {runs_on: a.cpu, inputs: {x: grab}, execution: {bcet: 0.1ms, wcet: 0.2ms}, deadline: 4ms, memory: 2MB}
  clip: {runs_on: a.cpu, inputs: {x: scale}, execution: {wcet: 0.25ms}, deadline: 5ms}
  detect: {runs_on: a.cpu, inputs: {x: clip}, execution: {bcet: 5ms, wcet: 9ms}}
  log: {runs_on: a.cpu, activation: {rate: 100Hz}, execution: {wcet: 4ms}}
  watch: {runs_on: a.cpu, activation: {rate: 100Hz}, execution: {wcet: 5ms}}
chains: {see: {path: [eye, grab, scale, clip, detect], max_latency: 40ms}}
"""
ALL = (("grab", "scale", "clip"),)


@pytest.fixture
def system() -> System:
    return system_of(SMALL)


def switches_and_worst_latency(system: System, plan: Plan) -> tuple[int, int]:
    horizon_ns = 1_000 * MS
    samples = nominal_samples(system, horizon_ns)
    simulation = Simulation(lower(system, plan, samples, horizon_ns=horizon_ns, execution=Execution.WCET))
    simulation.run()
    trace = simulation.trace()
    last = trace.jobs.finish_ns[trace.jobs.task == trace.task_names.index("detect")]
    captured = 50 * MS * range(len(last))[0]
    worst_ns = max(int(end) - captured - 50 * MS * number for number, end in enumerate(last) if end >= 0)
    return int((trace.slices.kind == SliceKind.SWITCH).sum()), worst_ns


def test_the_merged_task_is_what_its_parts_are_together(system: System) -> None:
    merged = with_merged(system, ALL)
    whole = next(task for task in merged.tasks if task.name == "grab+scale+clip")
    assert (whole.execution.bcet_ns, whole.execution.wcet_ns) == (550_000, 750_000)
    assert (whole.deadline_ns, whole.memory_bytes) == (14 * MS, 3_000_000)
    assert [given.source for given in whole.inputs] == ["eye"]
    assert next(task for task in merged.tasks if task.name == "detect").inputs[0].source == "grab+scale+clip"
    assert merged.chains[0].path == ("eye", "grab+scale+clip", "detect")
    assert check_plan(merged, make_plan(merged)) == []


def test_merging_saves_switches_in_the_analysis_and_in_the_kernel(system: System) -> None:
    """Neither a core of their own nor one core does that: each further part costs two switches in a bound."""
    fused = fusions(system, {task.name: task.pe for task in system.tasks})
    pairs = [(one.first, one.second) for one in fused]
    assert pairs == [("grab", "scale"), ("scale", "clip"), ("clip", "detect")]
    assert groups_of(system, fused) == (("grab", "scale", "clip", "detect"),)
    together = make_plan(system, beside={one.second: one.first for one in fused[:2]})
    merged = with_merged(system, ALL)
    one = make_plan(merged)
    reports = [analyze(system, together), analyze(merged, one)]
    latency_ns = [report.modes[0].chains[0].latency.value_ns for report in reports]
    found = [
        (switches_and_worst_latency(system, together)[0], latency_ns[0]),
        (switches_and_worst_latency(merged, one)[0], latency_ns[1]),
    ]
    # One switch less for each of two hand-overs of 20 frames; two in every bound on the way.
    assert found[0][0] - found[1][0] >= 2 * 20
    assert found[0][1] - found[1][1] >= 2 * 2 * 20_000
    assert switches_and_worst_latency(merged, one)[1] <= latency_ns[1]


def test_what_merging_a_pair_does_is_told(system: System) -> None:
    elements = {task.name: task.pe for task in system.tasks}
    first, second, _ = merges_of(system, elements, "rms", fusions(system, elements))
    assert (first.first, first.second, first.reason) == ("grab", "scale", "")
    assert first.switches - first.switches_merged >= 1
    assert first.saved_ns >= 20_000
    assert first.bound_merged_ns < first.bound_ns
    assert float(second.share) == 0.2


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("{x: scale}", "{x: scale, y: grab}, activation: {on: x}", "others than scale read grab"),
        ("wcet: 0.2ms}", "wcet: 0.2ms}, budget: 1ms", "task scale has a budget"),
        ("deadline: 4ms", "deadline: 4ms, criticality: B", "grab and scale differ in criticality"),
        ("deadline: 4ms", "deadline: 4ms, core: 1", "grab and scale differ in core"),
        ("[eye, grab, scale, clip, detect]", "[eye, grab]", "chain see begins or ends between grab and scale"),
        ("{x: grab}", "{x: grab}, communication: let", "task scale has logical execution time"),
    ],
)
def test_what_cannot_be_merged_is_told(before: str, after: str, reason: str) -> None:
    assert before in SMALL
    system = system_of(SMALL.replace(before, after, 1))
    assert check_merged(system, (("grab", "scale"),)) == [f"merged grab+scale: {reason}"]


def test_a_plan_file_carries_merged_tasks(system: System, tmp_path: Path) -> None:
    merged = with_merged(system, ALL)
    plan = replace(make_plan(merged), merged=ALL)
    path = tmp_path / "plan.yaml"
    path.write_text(plan_text(system, plan))
    assert plan_for(system, path, None) == (plan, None)
    assert system_sha256(system) in path.read_text()
    path.write_text(plan_text(system, plan).replace("[grab, scale, clip]", "[grab, clip]"))
    with pytest.raises(ConfigError) as caught:
        plan_for(system, path, None)
    assert [(one.line, one.message) for one in caught.value.problems] == [
        (11, "merged grab+clip: clip does not follow grab alone, on its device")
    ]


def test_plan_merges_where_that_is_better_and_says_what_it_saves(tmp_path: Path) -> None:
    path, plan_path = tmp_path / "small.yaml", tmp_path / "plan.yaml"
    path.write_text(f"rt_sched: 1\nname: small\n{SMALL}")
    asked = PlanRequest(str(path), search=False, merge=True, output=plan_path)
    document = planned_document(asked, lambda _: None)
    assert document["verdict"] == "schedulable"
    assert document["merged"] == [["grab", "scale", "clip", "detect"]]
    assert all(one["applied"] and one["share"] > one["threshold"] == 0.05 for one in document["merges"])
    assert [one["task"] for one in document["placements"]] == ["grab+scale+clip+detect", "log", "watch"]
    apart = planned_document(replace(asked, merge=False, explain=True, output=None), lambda _: None)
    assert document["costs"]["latency_ns"] < apart["costs"]["latency_ns"]
    assert apart["merged"] == []
    assert [one["applied"] for one in apart["merges"]] == [False] * 3
    found = analysed_system(str(path), None, None, plan_file=plan_path)
    assert found.report.modes[0].chains[0].latency.value_ns == document["costs"]["latency_ns"]


class Number(StageBase):
    """Adds to a number; says so where it is started."""

    inputs: ClassVar = {"x": int}
    outputs: ClassVar = {"y": int}

    def __init__(self, more: int) -> None:
        self.more, self.told = more, []

    def start(self, context: StageContext) -> None:
        self.told.append((context.task, dict(context.sources), [one.task for one in context.feeders.values()]))

    def process(self, job: JobContext, inputs):
        self.told.append(job.task)
        return {"y": inputs["x"] + self.more}


def test_one_job_runs_the_stages_of_all_parts(system: System) -> None:
    def staged(task: Task, number: int) -> Task:
        inputs = tuple(replace(one, port=None if one.source == "eye" else "y") for one in task.inputs)
        return replace(task, stage=f"{__name__}:Number", parameters=(("more", 10**number),), inputs=inputs)

    tasks = tuple(staged(task, number) for number, task in enumerate(system.tasks))
    whole = next(task for task in with_merged(replace(system, tasks=tasks), ALL).tasks if "+" in task.name)
    stage = ImportedStages().create(whole)
    stage.start(StageContext("grab+scale+clip", Path(), sources={"x": "eye"}))
    job = JobContext("grab+scale+clip", 0, 0, 0, 0, 0)
    assert stage.process(job, stage.preprocess(job, {"x": 5})) == {"y": 116}
    parts = [one.told for one in stage._stages]
    assert parts[0] == [("grab", {"x": "eye"}, []), "grab"]
    assert parts[1] == [("scale", {"x": "grab.y"}, ["grab"]), "scale"]
    assert (dict(stage.inputs), dict(stage.outputs), stage.stateful) == ({"x": int}, {"y": int}, False)
    merged = with_merged(replace(system, tasks=tasks), ALL)
    detect = next(task for task in merged.tasks if task.name == "detect")
    (feeder,) = stage_context(merged, detect, authenticator=None).feeders.values()
    assert (feeder.task, feeder.feeders["x"].task, feeder.feeders["x"].feeders["x"].task) == ("clip", "scale", "grab")
