"""Whether any bound is exceeded in legal runs of a random system of several devices, and what the bounds are worth."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from random_checks import Outcome, adversarial, check_bounds, observe
from random_distributed_cases import random_distributed

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_results, davare_bound
from rt_sched.analysis.chains.segments import Unbounded, segments_of
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.measured.monitors import first_broken, monitor
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Bound, ChainResult, Quantity
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Plan, Sporadic, System
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import SampleStatus, SampleTable, Trace
from rt_sched.units import NS_PER_S

#: Periods of the slowest task that a run goes on for.
_PERIODS = 25
#: Methods that know offsets: the second step, which one analysis goes without.
SECOND_STEP = ("offset_simulation", "offset_response_time")


@dataclass
class DistributedOutcome(Outcome):
    """As for one device, and of chains: `chain_shares`: largest share of its bound that a run reached, by quantity and
    method; `davare_shares`: each bound as a share of the plain sum, the same responses given; `step_shares`: bounds
    of chains as shares of those without the second step; `sampled_shares`: as shares of what the sum of Davare et al.
    (2007) is for tasks that all run by their own clocks, so that each adds its period and its response.
    """

    chain_shares: dict[str, list[float]] = field(default_factory=dict)
    davare_shares: list[float] = field(default_factory=list)
    step_shares: list[float] = field(default_factory=list)
    sampled_shares: list[float] = field(default_factory=list)


def check_distributed(seed: int, runs: int = 6) -> DistributedOutcome:
    """Analyse system `seed`, run it in several legal ways, compare; then change it and compare the bounds."""
    outcome = DistributedOutcome()
    system, plan = random_distributed(seed)
    if check_plan(system, plan):
        outcome.counts["no plan"] += 1
        return outcome
    rng = random.Random(seed ^ 0x5EED)  # noqa: S311 - reproducible test data
    who = f"system {seed}"
    (mode,) = mode_loads(system, plan)
    bounds = mode_bounds(mode, METHODS)
    chains = chain_results(mode, bounds)
    _count(mode, bounds, chains, outcome)
    seen = [0] * len(system.tasks)
    longest: dict[tuple[str, Quantity], int] = {}
    for run in range(runs):
        given = adversarial_run(mode, rng, run)
        trace = observe(given, seen, [False] * len(seen))
        _measure(mode, trace, longest, outcome)
    check_bounds(who, mode, seen, outcome, bounds)
    _check_best(who, bounds, seen, outcome)
    _check_chains(who, chains, longest, outcome)
    _compare_with_sum(who, mode, bounds, chains, outcome)
    if seed % 2:
        _check_order(who, system, plan, rng, bounds, chains, outcome)
    else:
        _check_shorter(who, system, plan, rng, bounds, outcome)
    return outcome


def _count(
    mode: ModeLoad, bounds: Mapping[int, TaskBound], chains: Sequence[ChainResult], outcome: DistributedOutcome
) -> None:
    outcome.counts["systems"] += 1
    outcome.counts["devices"] += len(mode.system.devices)
    for one in bounds.values():
        outcome.counts["task bounded" if one.bound is not None else "task without a bound"] += 1
        if one.bound is not None:
            outcome.counts[f"best by {one.bound.method}"] += 1
    for chain in chains:
        outcome.counts["chain bounded" if chain.reaction is not None else "chain without a bound"] += 1
    roles = Counter(
        task.activation.join.value for task in mode.system.tasks if isinstance(task.activation, model.OnMessage)
    )
    for role, count in roles.items():
        outcome.counts[f"join {role}"] += count
    outcome.counts["over a link"] += sum(edge.link is not None for edge in mode.setup.edges)
    outcome.counts["let"] += sum(row.let for row in mode.setup.tasks)
    outcome.counts["section"] += sum(len(row.sections) for row in mode.setup.tasks)


def adversarial_run(mode: ModeLoad, rng: random.Random, run: int) -> MachineInput:
    """Worst-case demands at first, then any demands, with arrivals, releases and samples where they may hurt."""
    system = mode.system
    slowest_ns = max(task.separation_ns for task in system.tasks)
    horizon_ns = _PERIODS * slowest_ns
    samples = _samples(rng, system, horizon_ns)
    execution = (Execution.WCET, Execution.PROFILE, Execution.WCET, Execution.BCET)[run % 4]
    given = lower(system, mode.plan, samples, horizon_ns=horizon_ns, seed=rng.getrandbits(60), execution=execution)
    gap_ns = slowest_ns if run % 2 else rng.randint(1, slowest_ns)
    ways = 1 if execution is Execution.PROFILE else 2 * (run // 2)
    rows = []
    for row, task in zip(given.tasks, system.tasks, strict=True):
        free = isinstance(task.activation, Sporadic) and task.activation.max_separation_ns is None
        rows.append(adversarial(rng, row, free, ways, gap_ns, horizon_ns))
    return replace(given, tasks=tuple(rows))


def _samples(rng: random.Random, system: System, horizon_ns: int) -> SampleTable:
    """Sensors begin at any instant, those of one trigger together; each deviation is an extreme one, or any."""
    together_ns = rng.randint(0, 200)
    rows: list[tuple[int, int, int, int]] = []
    for index, sensor in enumerate(system.sensors):
        first_ns = sensor.offset_ns + (together_ns if sensor.trigger else rng.randint(0, 200))
        rate_hz = sensor.rate_hz * (1 + sensor.drift_ppm / 10**6)
        style = rng.choice(("any", "ends", "late once", "early"))
        late = rng.randint(0, 10)
        capture_ns, arrival_ns, number = 0, 0, 0
        while (nominal_ns := first_ns + int(number * NS_PER_S / rate_hz)) < horizon_ns:
            parts = [
                _deviation(rng, style, most_ns, before=number <= late)
                for most_ns in (sensor.capture_jitter_ns, sensor.jitter_ns)
            ]
            capture_ns = max(0, capture_ns, nominal_ns + parts[0])
            arrival_ns = max(arrival_ns, capture_ns, capture_ns + sensor.latency_ns + parts[1])
            rows.append((index, number, arrival_ns, capture_ns))
            number += 1
    rows.sort(key=lambda row: (row[2], row[0], row[1]))
    sensor_column, numbers, arrivals, captures = np.array(rows, np.int64).reshape(-1, 4).T
    status = np.full(len(rows), SampleStatus.WAITING, np.int8)
    return SampleTable(sensor_column.astype(np.int32), numbers, arrivals, captures, status)


def _deviation(rng: random.Random, style: str, most_ns: int, *, before: bool) -> int:
    """`before`: the samples until one that is as late as it may be, behind which all others are early."""
    if style == "any":
        return rng.randint(-most_ns, most_ns)
    if style == "ends":
        return rng.choice((-most_ns, most_ns))
    return most_ns if style == "late once" and before else -most_ns


def _measure(
    mode: ModeLoad, trace: Trace, longest: dict[tuple[str, Quantity], int], outcome: DistributedOutcome
) -> None:
    """Raise `longest` to what the chains of a run took, provided that all assumptions behind their bounds held."""
    broken = first_broken(monitor(mode, trace))
    outcome.counts["runs"] += 1
    outcome.counts["jobs"] += len(trace.jobs)
    if broken is not None:
        outcome.counts[f"run broke {broken.key}"] += 1
        return
    for chain in mode.system.chains:
        found = measure_chain(trace, chain.path)
        for quantity, values in (
            (Quantity.REACTION, found.reaction_ns),
            (Quantity.LATENCY, found.latency_ns),
            (Quantity.DATA_AGE, found.data_age_ns),
        ):
            key = (chain.name, quantity)
            longest[key] = max(longest.get(key, 0), int(values.max(initial=0)))


def _check_best(who: str, bounds: Mapping[int, TaskBound], seen: Sequence[int], outcome: DistributedOutcome) -> None:
    for index, one in bounds.items():
        if one.bound is None:
            continue
        if seen[index] > one.bound.value_ns:
            outcome.violations.append(f"{who}: {one.task.name} took {seen[index]} ns, {one.bound.value_ns} ns is said")
        if sum(term.value_ns for term in one.bound.terms) != one.bound.value_ns:
            outcome.violations.append(f"{who}: the terms of {one.task.name} do not add up")


def _check_chains(
    who: str, chains: Sequence[ChainResult], longest: Mapping[tuple[str, Quantity], int], outcome: DistributedOutcome
) -> None:
    for chain in chains:
        for quantity, bound in _bounds_of(chain):
            took_ns = longest.get((chain.chain, quantity))
            if bound is None or took_ns is None:
                continue
            outcome.counts[f"judged {quantity.value}"] += 1
            outcome.chain_shares.setdefault(f"{quantity.value} {bound.method}", []).append(took_ns / bound.value_ns)
            if took_ns > bound.value_ns:
                says = f"{bound.method} says {bound.value_ns}"
                outcome.violations.append(f"{who}: {quantity.value} of {chain.chain} took {took_ns} ns, {says}")
            if sum(term.value_ns for term in bound.terms) != bound.value_ns:
                outcome.violations.append(f"{who}: the terms of {chain.chain} do not add up")


def _bounds_of(chain: ChainResult) -> tuple[tuple[Quantity, Bound | None], ...]:
    return (
        (Quantity.REACTION, chain.reaction),
        (Quantity.LATENCY, chain.latency),
        (Quantity.DATA_AGE, chain.data_age),
    )


def _compare_with_sum(
    who: str,
    mode: ModeLoad,
    bounds: Mapping[int, TaskBound],
    chains: Sequence[ChainResult],
    outcome: DistributedOutcome,
) -> None:
    """Reactions against the plain sum: of the same responses, and of those that no second step made shorter."""
    first_step = mode_bounds(mode, [method for method in METHODS if method.name not in SECOND_STEP])
    for index, one in first_step.items():
        now = bounds[index].bound
        if one.bound is not None and (now is None or now.value_ns > one.bound.value_ns):
            outcome.violations.append(f"{who}: the second step makes the bound of {one.task.name} longer")
        outcome.counts["task shorter by the second step"] += now is not None and (
            one.bound is None or now.value_ns < one.bound.value_ns
        )
    for chain in chains:
        if chain.reaction is None:
            continue
        same = davare_bound(segments_of(mode, bounds, chain.path), Quantity.REACTION).value_ns
        outcome.davare_shares.append(chain.reaction.value_ns / same)
        try:
            plain = davare_bound(segments_of(mode, first_step, chain.path), Quantity.REACTION).value_ns
        except Unbounded:
            outcome.counts["chain bounded by the second step alone"] += 1
            outcome.step_shares.append(0.0)
            outcome.sampled_shares.append(0.0)
            continue
        outcome.step_shares.append(chain.reaction.value_ns / plain)
        activated = [task for task in mode.system.tasks if task.name in chain.path and not task.is_timed]
        sampled = plain + sum(task.separation_ns for task in activated)
        outcome.sampled_shares.append(chain.reaction.value_ns / sampled)
        if chain.reaction.value_ns > min(same, plain):
            outcome.violations.append(f"{who}: reaction of {chain.chain} is {chain.reaction.value_ns}, the sum {plain}")


def _check_order(
    who: str,
    system: System,
    plan: Plan,
    rng: random.Random,
    bounds: Mapping[int, TaskBound],
    chains: Sequence[ChainResult],
    outcome: DistributedOutcome,
) -> None:
    """No bound depends on the order in which tasks, sensors, devices, links and processors are written down.

    But for tasks of one processor with equal deadlines, of which EDF prefers the first: these keep their order.
    """
    tasks = list(range(len(system.tasks)))
    rng.shuffle(tasks)
    ties: dict[tuple[int, int], list[int]] = {}
    for place, task in enumerate(tasks):
        ties.setdefault((plan.placements[task].processor, system.tasks[task].deadline_ns), []).append(place)
    for places in ties.values():
        for place, task in zip(places, sorted(tasks[place] for place in places), strict=True):
            tasks[place] = task
    processors = list(range(len(plan.processors)))
    rng.shuffle(processors)
    devices, links, sensors = list(system.devices), list(system.links), list(system.sensors)
    for column in (devices, links, sensors):
        rng.shuffle(column)
    changed = replace(
        system,
        tasks=tuple(system.tasks[place] for place in tasks),
        devices=tuple(devices),
        links=tuple(links),
        sensors=tuple(sensors),
    )
    moved = replace(
        plan,
        processors=tuple(plan.processors[place] for place in processors),
        placements=tuple(
            replace(plan.placements[place], processor=processors.index(plan.placements[place].processor))
            for place in tasks
        ),
    )
    (mode,) = mode_loads(changed, moved)
    found = {one.task.name: one for one in mode_bounds(mode, METHODS).values()}
    for one in bounds.values():
        now, then = found[one.task.name].bound, one.bound
        if (now and now.value_ns) != (then and then.value_ns):
            outcome.violations.append(f"{who}: the bound of {one.task.name} depends on the order of the file")
    by_index = {index: found[task.name] for index, task in enumerate(changed.tasks)}
    for before, after in zip(chains, chain_results(mode, by_index), strict=True):
        if [b and b.value_ns for _, b in _bounds_of(before)] != [b and b.value_ns for _, b in _bounds_of(after)]:
            outcome.violations.append(f"{who}: the bounds of {before.chain} depend on the order of the file")
    outcome.counts["orders"] += 1


def _check_shorter(
    who: str,
    system: System,
    plan: Plan,
    rng: random.Random,
    bounds: Mapping[int, TaskBound],
    outcome: DistributedOutcome,
) -> None:
    """With a shorter worst case of one task no bound of any sustainable method gets longer, the plan being the same."""
    able = [
        place
        for place, task in enumerate(system.tasks)
        if task.execution.wcet_ns > task.execution.bcet_ns and not task.sections
    ]
    if not able:
        return
    place = rng.choice(able)
    task = system.tasks[place]
    bcet_ns = task.execution.bcet_ns
    wcet_ns = rng.randint(bcet_ns, task.execution.wcet_ns - 1)
    execution = replace(task.execution, wcet_ns=wcet_ns, profile_ns=(bcet_ns, wcet_ns))
    tasks = list(system.tasks)
    tasks[place] = replace(task, execution=execution)
    (mode,) = mode_loads(replace(system, tasks=tuple(tasks)), plan)
    shorter = mode_bounds(mode, METHODS)
    outcome.counts["shorter"] += 1
    for index, one in bounds.items():
        now = shorter[index].bound
        if one.bound is not None and (now is None or now.value_ns > one.bound.value_ns):
            outcome.violations.append(
                f"{who}: {one.task.name} is bounded by {one.bound.value_ns}, but with {wcet_ns} for {task.name} "
                f"by {now and now.value_ns} ({one.bound.method}, {now and now.method})"
            )
