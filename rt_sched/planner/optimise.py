"""The search for a plan: methods propose placements, the analysis accepts or rejects, and the best one stays."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from rt_sched.analysis.analyze import analyze, analyze_mode
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.result import Verdict
from rt_sched.lowering import check_plan
from rt_sched.model import System
from rt_sched.planner.fusion import fusions
from rt_sched.planner.grouping import group_cameras
from rt_sched.planner.impossible import impossibilities, only_plan_misses
from rt_sched.planner.objectives import Costs, Objective, costs_of
from rt_sched.planner.placing.cp import Solved, Status, solve
from rt_sched.planner.placing.fit import fit_decreasing
from rt_sched.planner.placing.frame_model import Goal
from rt_sched.planner.placing.from_system import placement_problem
from rt_sched.planner.placing.heft import heft
from rt_sched.planner.placing.problem import WHOLE_CORE, PlacementProblem
from rt_sched.planner.placing.stopping import Stop
from rt_sched.planner.plan import POLICIES, make_plan
from rt_sched.planner.planned import Place, Planned, Proposal

#: What the solver minimises for each objective; bounds, which it does not know, are for the analysis.
_GOALS = {
    Objective.LATENCY: Goal.ENDS,
    Objective.MARGIN: Goal.ENDS,
    Objective.ENERGY: Goal.POWER,
    Objective.BALANCE: Goal.PEAK,
}
#: Cores are filled less and less while the analysis rejects, or no core is left for a task.
_LIMITS = (WHOLE_CORE, 850_000, 700_000, 550_000)
#: The share of the time that the solver may take.
_SOLVER_SHARE = 0.5


def optimise(
    system: System,
    objective: Objective,
    stop: Stop,
    *,
    policy: str | None = None,
    search: bool = True,
    stay: bool = False,
    workers: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Planned:
    """The best plan for `objective` that is found before `stop`.

    `policy`: as of `make_plan`; where none is given and that of the file is not accepted, the others are tried.
    `search`: whether solver and moves are used; otherwise only the heuristics are. `stay`: no other placement than that
    of the file is looked at.
    Cameras are grouped first. Placements that keep the groups go before those that do not, unless energy is the
    objective, for which devices may be left unused.
    """
    run = _Run(system, objective, stop, policy or system.policy, workers, tell)
    if stay:
        run.look_at_home()
    else:
        run.propose(search=search)
    if policy is None and not run.accepted:
        for other in POLICIES:
            if other != run.policy and not run.accepted and not stop.over and run.best is not None:
                tell(f"nothing accepted under {run.policy}: trying {other}")
                run.try_policy(other)
    if search and not stay:
        run.improve()
    return run.result(policy)


class _Run:
    """One search, and everything that it has looked at."""

    def __init__(
        self,
        system: System,
        objective: Objective,
        stop: Stop,
        policy: str,
        workers: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._system, self._objective, self._stop, self.policy = system, objective, stop, policy
        self._workers, self._tell = workers, tell
        self.problem = placement_problem(system)
        self.grouping = group_cameras(system)
        self.proposals: list[Proposal] = []
        self.best: Proposal | None = None
        self._seen: dict[tuple[Place, str], Proposal] = {}
        self._moves, self._complete = 0, False
        self._elements = [(device.name, pe.name) for device in system.devices for pe in device.processing_elements]
        self._open = [task for task, places in enumerate(self.problem.open_places) if len(places) > 1]

    @property
    def accepted(self) -> bool:
        """Whether the best plan is accepted by the analysis."""
        return self.best is not None and self.best.costs is not None and self.best.costs.accepted

    def propose(self, *, search: bool) -> None:
        """Looks at what the methods propose."""
        self.look_at_home()
        if not self._open:
            return
        grouped = self.grouped()
        problems = [("", self.problem)] if grouped is None else [("grouped, ", grouped), ("", self.problem)]
        for prefix, problem in problems:
            before = self.accepted and self.best is not None and self.best.method.startswith("grouped")
            if before and not prefix and self._objective is not Objective.ENERGY:
                break
            self._heuristics(prefix, problem)
            if search and not self._stop.over:
                self._solver(prefix, problem)

    def look_at_home(self) -> None:
        """Looks at the placement of the file."""
        home = tuple(self._elements.index(task.pe) for task in self._system.tasks)
        if all(home[task] in places for task, places in enumerate(self.problem.open_places)):
            self._look("as in the file", home)

    def grouped(self) -> PlacementProblem | None:
        """The problem in which the tasks of each camera stay on the device of its group."""
        if self.grouping is None:
            return None
        index_of = {name: index for index, name in enumerate(self.problem.tasks)}
        allowed = {
            index_of[name]: [p for p, (on, _) in enumerate(self._elements) if on == device]
            for camera, device in self.grouping.device_of.items()
            for name in self.grouping.tasks_of[camera]
        }
        return self.problem.restricted(allowed)

    def _heuristics(self, prefix: str, problem: PlacementProblem) -> None:
        self._look(f"{prefix}first fit", fit_decreasing(problem, spread=False))
        self._look(f"{prefix}worst fit", fit_decreasing(problem, spread=True))
        schedule = heft(problem)
        self._look(f"{prefix}HEFT", None if schedule is None else schedule.place)

    def _solver(self, prefix: str, problem: PlacementProblem) -> None:
        goal = _GOALS[self._objective]
        known = self.best.place if self.best is not None else None
        for limit in _LIMITS:
            part = Stop(self._stop.left_s * _SOLVER_SHARE)
            with self._stop.ending(part.ask):
                fitting = known is not None and all(p in problem.open_places[t] for t, p in enumerate(known))
                schedule = heft(problem, fixed=known) if fitting and known is not None else None
                known_fits = schedule is not None and _within(problem, schedule.place, limit)
                self._tell(f"solver: {prefix}{goal.value}, cores filled to {limit // 10_000} %")
                found = solve(
                    problem, goal, part, limit=limit, known=schedule if known_fits else None, workers=self._workers
                )
            self._look(f"{prefix}CP-SAT", found.place or None, found)
            if self.accepted or self._stop.over or found.status is Status.INFEASIBLE:
                return

    def _look(self, method: str, place: Place | None, solved: Solved | None = None) -> Proposal:
        """Plans and analyses a placement, and keeps the best."""
        if place is None:
            found = Proposal(method, (), None, None, "finds no placement", solved)
        elif (place, self.policy) in self._seen:
            earlier = self._seen[place, self.policy]
            found = Proposal(method, place, earlier.plan, earlier.costs, earlier.refused, solved)
        else:
            found = self._seen[place, self.policy] = self._judged(method, place, solved)
        self.proposals.append(found)
        self._keep(found)
        return found

    def _keep(self, found: Proposal) -> bool:
        if found.costs is None:
            return False
        better = self.best is None or self.best.costs is None or self._key(found.costs) < self._key(self.best.costs)
        regroups = (
            self.best is not None
            and self.best.method == "as in the file"
            and found.method.startswith("grouped")
            and not self._keeps_groups(self.best.place)
            and found.costs.accepted
            and self._objective is not Objective.ENERGY
        )
        if better or regroups:
            self.best = found
            self._tell(f"{found.method}: {_told(found.costs)}")
        return better or regroups

    def _keeps_groups(self, place: Place) -> bool:
        grouped = self.grouped()
        return grouped is not None and all(p in grouped.open_places[task] for task, p in enumerate(place))

    def _key(self, costs: Costs) -> tuple[int | Fraction, ...]:
        return costs.key(self._objective)

    def _judged(self, method: str, place: Place, solved: Solved | None) -> Proposal:
        judged = []
        for beside in self._ways_to_share_cores(place):
            plan = make_plan(self._system, self.policy, elements=self.elements(place), beside=beside)
            reasons = check_plan(self._system, plan)
            if reasons:
                found = Proposal(method, place, None, None, "; ".join(reasons), solved)
            else:
                modes = [analyze_mode(mode, search_witnesses=False) for mode in mode_loads(self._system, plan)]
                found = Proposal(method, place, plan, costs_of(self._system, plan, modes), "", solved)
            judged.append(found)
        return min(judged, key=lambda one: (1,) if one.costs is None else (0, *self._key(one.costs)))

    def _ways_to_share_cores(self, place: Place) -> list[dict[str, str]]:
        fused = fusions(self._system, self.elements(place))
        together = {one.second: one.first for one in fused}
        return [together, {}] if together else [{}]

    def elements(self, place: Place) -> dict[str, tuple[str, str]]:
        """Task -> where a placement puts it."""
        return {name: self._elements[p] for name, p in zip(self.problem.tasks, place, strict=True)}

    def try_policy(self, policy: str) -> None:
        """Looks at the best placements under another policy."""
        before, self.policy = self.policy, policy
        places: dict[Place, str] = {}
        for one in self.proposals:
            if one.costs is not None:
                places.setdefault(one.place, one.method)
        for place, method in places.items():
            if not self._stop.over and not self.accepted:
                self._look(f"{method}, {policy}", place)
        if not self.accepted:
            self.policy = before

    def improve(self) -> None:
        """Moves one task, or what must stay with it, as long as that makes the plan better."""
        if self.best is None or not self._open or self.best.costs is None:
            self._complete = self.best is not None and not self._open
            return
        grouped = self.grouped() if self.best.method.startswith("grouped") else None
        allowed = (grouped or self.problem).open_places
        method = self.best.method
        bundle_of = {task: bundle for bundle in self.problem.together for task in bundle}
        improved = True
        while improved:
            improved = False
            for task in self._open:
                for place in allowed[task]:
                    if self._stop.over:
                        return
                    if place == self.best.place[task]:
                        continue
                    at = self._moved(self.best.place, bundle_of.get(task, (task,)), place)
                    if (at, self.policy) in self._seen or not _within(self.problem, at, WHOLE_CORE):
                        continue
                    found = self._seen[at, self.policy] = self._judged(method, at, None)
                    if self._keep(found):
                        self._moves += 1
                        improved = True
        self._complete = True

    def result(self, asked: str | None) -> Planned:
        """What was found, with the whole analysis of the best plan. `asked`: the policy that the user wants."""
        best, report = self.best, None
        proved: tuple[str, ...] = ()
        if best is not None and best.plan is not None:
            report = analyze(self._system, best.plan)
        if report is not None and asked is not None:
            proved = only_plan_misses(self._system, self.problem, asked, report)
        if not proved and (report is None or report.verdict is not Verdict.SCHEDULABLE):
            proved = impossibilities(self._system, self.problem)
        elements = self.elements(best.place) if best is not None else {}
        return Planned(
            self._objective,
            self.problem,
            best,
            report,
            tuple(self.proposals),
            self.grouping,
            fusions(self._system, elements) if elements else (),
            self._moves,
            self._complete,
            self._stop.asked,
            best.plan.policy if best is not None and best.plan is not None else self.policy,
            elements,
            self._beside(),
            proved,
        )

    def _beside(self) -> dict[tuple[int, int], Proposal]:
        if self.best is None:
            return {}
        bundle_of = {task: bundle for bundle in self.problem.together for task in bundle}
        found = {}
        for task in self._open:
            for place in self.problem.open_places[task]:
                moved = self._moved(self.best.place, bundle_of.get(task, (task,)), place)
                if (moved, self.policy) in self._seen and moved != self.best.place:
                    found[task, place] = self._seen[moved, self.policy]
        return found

    def _moved(self, place: Place, bundle: tuple[int, ...], to: int) -> Place:
        return tuple(to if task in bundle else p for task, p in enumerate(place))


def _within(problem: PlacementProblem, place: Place, limit: int) -> bool:
    """Whether no element carries more than its cores hold, and memory suffices."""
    loads = [0] * len(problem.places)
    memory = [0] * len(problem.memory_limits)
    for task, p in enumerate(place):
        loads[p] += problem.load[task][p]
        memory[problem.group_of[p]] += problem.memory_bytes[task]
    return all(load <= limit * cores for load, cores in zip(loads, problem.cores, strict=True)) and all(
        most is None or used <= most for used, most in zip(memory, problem.memory_limits, strict=True)
    )


def _told(costs: Costs) -> str:
    latency = "no latency bound" if costs.latency_ns is None else f"latency {costs.latency_ns / 1e6:.3f} ms"
    said = "accepted" if costs.accepted else "not accepted"
    margin = "something without a bound" if costs.is_unbounded else f"margin {float(100 * costs.margin):.1f} %"
    return f"{said}, {latency}, {margin}, fullest core {costs.peak / 1e4:.1f} %"
