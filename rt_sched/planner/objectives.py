"""What a plan costs, as the analysis sees it, and which of two plans is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from rt_sched.analysis.result import ModeResult, Quantity, Verdict
from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import Plan, System
from rt_sched.planner.energy import energy_model
from rt_sched.planner.placing.problem import WHOLE_CORE


class Objective(str, Enum):
    """What is best.

    `latency`: the smallest mean of the latency bounds of all chains; without chains, of response bounds. `margin`: the
    largest share that bounds leave of the deadline or limit of which they leave least; of equal ones, of the next, and
    so on. `energy`: the smallest mean power. `balance`: the
    smallest load of the fullest core.
    """

    LATENCY = "latency"
    MARGIN = "margin"
    ENERGY = "energy"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Costs:
    """What a plan costs. `accepted`: every bound is within its limit. `late`: how far bounds exceed limits, as a sum of
    shares; a missing bound counts as a hundred.

    `latency_ns`: see `Objective`, None where a bound is missing. `shares`: what is left of each deadline and limit as
    a share of it, the least first, negative when exceeded.
    `power_mw`: by the energy model. `peak`, `squares`: highest load of a core in millionths, and the sum of squares.
    """

    accepted: bool
    late: Fraction
    latency_ns: int | None
    shares: tuple[Fraction, ...]
    power_mw: int
    peak: int
    squares: int

    @property
    def margin(self) -> Fraction:
        """The least share left."""
        return self.shares[0] if self.shares else Fraction(1)

    @property
    def is_unbounded(self) -> bool:
        """Whether something with a deadline or limit has no bound."""
        return self.margin <= -_MISSING

    @property
    def mean_margin(self) -> Fraction:
        """The mean share left."""
        return sum(self.shares, Fraction(0)) / len(self.shares) if self.shares else Fraction(1)

    def key(self, objective: Objective) -> tuple[int | Fraction, ...]:
        """Of two plans the better one has the smaller key: accepted first, then the objective, then the others."""
        latency_ns = self.latency_ns if self.latency_ns is not None else 10**18
        first: dict[Objective, tuple[int | Fraction, ...]] = {
            Objective.LATENCY: (latency_ns, -self.mean_margin),
            Objective.MARGIN: (*(-share for share in self.shares), latency_ns),
            Objective.ENERGY: (self.power_mw, latency_ns),
            Objective.BALANCE: (self.peak, self.squares, latency_ns),
        }
        return (0 if self.accepted else 1, self.late, *first[objective])


_MISSING = Fraction(100)


def costs_of(system: System, plan: Plan, modes: Sequence[ModeResult]) -> Costs:
    """The costs of a plan with these results of its analysis; over several modes the worst counts."""
    shares: list[Fraction | None] = []
    latencies: list[int | None] = []
    for mode in modes:
        for task in mode.tasks:
            if task.verdict is Verdict.SCHEDULABLE and (task.bound is None or task.bound.value_ns > task.deadline_ns):
                continue  # proven otherwise than by its bound
            shares.append(
                None if task.bound is None else Fraction(task.deadline_ns - task.bound.value_ns, task.deadline_ns)
            )
        for chain in mode.chains:
            bounds = {
                Quantity.REACTION: chain.reaction,
                Quantity.LATENCY: chain.latency,
                Quantity.DATA_AGE: chain.data_age,
            }
            latencies.append(None if chain.latency is None else chain.latency.value_ns)
            for quantity, limit_ns in chain.limits_ns:
                bound = bounds[quantity]
                shares.append(None if bound is None else Fraction(limit_ns - bound.value_ns, limit_ns))
        for one in mode.disparities:
            if one.limit_ns:
                bound = one.bound
                shares.append(None if bound is None else Fraction(one.limit_ns - bound.value_ns, one.limit_ns))
    if not latencies:
        latencies = [None if t.bound is None else t.bound.value_ns for mode in modes for t in mode.tasks]
    known = [one for one in latencies if one is not None]
    loads = core_loads(system, plan)
    return Costs(
        accepted=all(mode.verdict is Verdict.SCHEDULABLE for mode in modes),
        late=sum((_MISSING if one is None else max(Fraction(0), -one) for one in shares), Fraction(0)),
        latency_ns=None if len(known) < len(latencies) or not known else sum(known) // len(known),
        shares=tuple(sorted(-_MISSING if one is None else one for one in shares)),
        power_mw=power_mw(system, plan),
        peak=max(loads, default=0),
        squares=sum(load * load for load in loads),
    )


def core_loads(system: System, plan: Plan) -> list[int]:
    """For each processor of the plan the load of its cores, in millionths of one, rounded up."""
    loads = processor_loads(system, plan)
    return [-(-load // plan.processors[index].cores) for index, load in enumerate(loads)]


def processor_loads(system: System, plan: Plan) -> list[int]:
    """For each processor of the plan what its tasks need, in millionths of one core, rounded up."""
    element_of = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    loads = [0] * len(plan.processors)
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        processor = plan.processors[placement.processor]
        work_ns = longest_demand_ns(task, element_of[processor.device, processor.pe])
        loads[placement.processor] += -(-work_ns * WHOLE_CORE // task.separation_ns)
    return loads


def power_mw(system: System, plan: Plan) -> int:
    """Mean power of a plan by the energy model, rounded up."""
    model = energy_model(system)
    loads = processor_loads(system, plan)
    total = 0
    used = set()
    for placement in plan.placements:
        processor = plan.processors[placement.processor]
        used.add((processor.device, processor.pe))
    for index, processor in enumerate(plan.processors):
        total += model.of[processor.device, processor.pe].busy_mw * loads[index]
    total += sum(model.of[place].idle_mw * WHOLE_CORE for place in used)
    return -(-total // WHOLE_CORE)
