"""Whether any bound of a chain is exceeded in legal runs of a random system."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from chain_cases import chain_case

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_bound, davare_bound
from rt_sched.analysis.chains.delays import Unbounded
from rt_sched.analysis.chains.disparity import disparity_results
from rt_sched.analysis.chains.segments import segments_of
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.measured.monitors import first_broken, monitor
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Bound, Quantity
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace import Trace
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.disparity import measure_disparity

_HORIZON_NS = 2000
#: What a run may break: then bounds promise nothing. Anything else would be a fault of the run.
_MAY_BREAK = ("queues", "partners")


@dataclass
class Outcome:
    """`shares`: largest share of its bound that a run reached, by quantity and method."""

    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    shares: dict[str, list[float]] = field(default_factory=dict)


def check_chains(seed: int, runs: int = 4) -> Outcome:
    """Analyse system `seed`, run it in several legal ways, compare."""
    outcome = Outcome()
    system = chain_case(seed)
    rng = random.Random(seed ^ 0x5EED)  # noqa: S311 - reproducible test data
    (mode,) = mode_loads(system, make_plan(system))
    bounds = mode_bounds(mode, METHODS)
    found: dict[str, dict[Quantity, Bound]] = {}
    for chain in system.chains:
        try:
            segments = segments_of(mode, bounds, chain.path)
        except Unbounded as none:
            outcome.counts["unbounded: " + " ".join(str(none).split()[2:5])] += 1
            continue
        found[chain.name] = {quantity: chain_bound(segments, quantity) for quantity in Quantity}
        outcome.counts[f"{len(segments)} segments"] += 1
        outcome.counts["repeats"] += segments[-1].repeats
        for quantity, bound in found[chain.name].items():
            outcome.counts[bound.method] += 1
            plain_ns = davare_bound(segments, quantity).value_ns
            outcome.counts["tighter than the sum"] += bound.value_ns < plain_ns
            outcome.counts["bounds"] += 1
            if bound.value_ns > plain_ns:
                outcome.violations.append(f"seed {seed}: {chain.name} {quantity.value} is looser than the sum")
    disparities = {one.task: one.bound for one in disparity_results(mode, bounds)}
    outcome.counts["disparities without a bound"] += sum(bound is None for bound in disparities.values())
    apart = {name: 0 for name, bound in disparities.items() if bound is not None}
    if not found and not apart:
        return outcome
    worst = {(name, quantity): 0 for name in found for quantity in Quantity}
    judged = False
    for number in range(runs):
        trace = legal_run(mode, rng, number)
        broken = first_broken(monitor(mode, trace))
        if broken is not None:
            outcome.counts[f"broke {broken.key}"] += 1
            assert broken.key in _MAY_BREAK, (seed, broken)
            continue
        judged = True
        for name in apart:
            allowed = disparities[name]
            most_ns = measure_disparity(trace, name).spread.max_ns or 0
            apart[name] = max(apart[name], most_ns)
            if allowed is not None and most_ns > allowed.value_ns:
                outcome.violations.append(f"seed {seed}: disparity of {name} {most_ns}, {allowed.value_ns} was said")
        for name, quantities in found.items():
            path = next(chain.path for chain in system.chains if chain.name == name)
            seen = measure_chain(trace, path)
            for quantity, bound in quantities.items():
                most_ns = int(getattr(seen, f"{quantity.value}_ns").max(initial=0))
                worst[name, quantity] = max(worst[name, quantity], most_ns)
                if most_ns > bound.value_ns:
                    said = f"{bound.value_ns} ({bound.method}) was said"
                    outcome.violations.append(f"seed {seed}: {name} {quantity.value} {most_ns}, {said}")
    if judged:
        outcome.counts["disparities judged"] += len(apart)
        for name, most_ns in apart.items():
            allowed = disparities[name]
            if allowed is not None and allowed.value_ns:
                outcome.shares.setdefault("disparity", []).append(most_ns / allowed.value_ns)
        outcome.counts["chains judged"] += len(found)
        for (name, quantity), most_ns in worst.items():
            bound = found[name][quantity]
            outcome.shares.setdefault(f"{quantity.value} {bound.method}", []).append(most_ns / bound.value_ns)
    return outcome


def legal_run(mode: ModeLoad, rng: random.Random, number: int) -> Trace:
    """A run in which sensors begin anywhere, clocks are off by what they may, and demands are extreme or drawn."""
    system = _moved(mode.system, rng)
    execution = (Execution.PROFILE, Execution.WCET, Execution.BCET, Execution.PROFILE)[number % 4]
    seed = rng.getrandbits(40)
    samples = nominal_samples(system, _HORIZON_NS + 200, seed)
    given = lower(system, mode.plan, samples, horizon_ns=_HORIZON_NS, seed=seed, execution=execution)
    if execution is Execution.PROFILE:
        rows = tuple(
            replace(row, explicit_demands_ns=_extremes(row.demand_ns, rng)) if isinstance(row.demand_ns, tuple) else row
            for row in given.tasks
        )
        given = replace(given, tasks=rows)
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


def _extremes(demand_ns: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
    """Many jobs alike, best or worst, in stretches."""
    drawn: list[int] = []
    while len(drawn) < 120:
        drawn += [rng.choice((demand_ns[0], demand_ns[-1]))] * rng.randint(1, 6)
    return tuple(drawn)


def _moved(system: model.System, rng: random.Random) -> model.System:
    sensors = (replace(one, offset_ns=one.offset_ns + rng.randint(0, 100)) for one in system.sensors)
    devices = []
    for device in system.devices:
        clock, way = device.clock, rng.choice((-1, 0, 1))
        if way:
            clock = replace(clock, offset_ns=clock.offset_ns + way * clock.sync_error_ns, sync_error_ns=0)
        devices.append(replace(device, clock=clock))
    return replace(system, sensors=tuple(sensors), devices=tuple(devices))
