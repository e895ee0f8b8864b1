"""The search for bad cases: a system in; out come the longest times that its legal runs were seen to take."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rt_sched import kernels
from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.app.inputs.plan_files import plan_for, policy_problems
from rt_sched.app.inputs.scenario_files import write_scenario, write_text
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.search.cases import Examined, WorstCase, examined
from rt_sched.app.search.document import bounds_of, search_document
from rt_sched.app.search.scope import check_targets, left_out
from rt_sched.config import load_system
from rt_sched.errors import ConfigError, DeploymentError, Problem
from rt_sched.lowering.merging import with_merged
from rt_sched.planner.placing.stopping import Stop, interruptible
from rt_sched.search import Found, goals_of, search
from rt_sched.search.space import space_of
from rt_sched.units import NS_PER_S, parse_time

_RUNS = re.compile(r"\s*([0-9]{1,9})(\s*runs?)?\s*")
#: How often progress is told, in seconds.
_PAUSE_S = 5.0
#: Where a run that exceeded a bound is kept when nothing else was said.
_KEPT = Path("bound_violated.yaml")

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What the user asked for. `targets`: tasks and chains, empty for all. `budget`: a time, or a number of runs.

    `output`: a folder for a scenario of every target, or a .yaml file for that nearest to its bound. `processes`: None
    for one per core; the result does not depend on it. `command`: the call, as a shell would take it.
    """

    system: str
    targets: tuple[str, ...] = ()
    budget: str = "10s"
    seed: int = 0
    policy: str | None = None
    plan: Path | None = None
    output: Path | None = None
    force: bool = False
    processes: int | None = None
    command: str = "rt-sched search"


def searched_document(request: SearchRequest, tell: Tell) -> dict[str, Any]:
    """The whole job; its document. Raises RtSchedError for anything the user can mend."""
    began = time.monotonic()
    limit_s, runs = _checked_budget(request)
    if request.output is not None and request.output.exists() and not request.force:
        raise DeploymentError(f"{request.output} exists already; give another name, or --force")
    path = resolve(request.system)
    system = load_system(path, stages=ImportedStages())
    check_targets(system, request.targets)
    plan, note = plan_for(system, request.plan, request.policy)
    system = with_merged(system, plan.merged)
    tell("loading the scheduling kernel, analysing")
    kernels.warm_up()
    load = mode_loads(system, plan)[0]
    mode = analyze_mode(load, search_witnesses=False)
    bounds = {key: None if bound is None else bound.value_ns for key, bound in bounds_of(mode).items()}
    space = space_of(system, plan, max((value for value in bounds.values() if value is not None), default=0))
    goals = goals_of(space, bounds, request.targets or None)
    progress = _Progress(tell)
    stop = Stop(limit_s)
    with interruptible(stop):
        campaign = search(
            space,
            goals,
            seed=request.seed,
            runs=runs,
            over=lambda: stop.over,
            processes=request.processes or os.cpu_count() or 1,
            tell=progress.tell,
        )
    tell(f"looking at {sum(one is not None for one in campaign.found)} worst cases with every record")
    cases = examined(space, load, campaign.found, simplify=request.output is not None)
    files = _write(cases, request)
    document = search_document(
        system,
        mode,
        goals,
        cases,
        files,
        file=str(path),
        policy=plan.policy,
        seed=request.seed,
        runs=campaign.runs,
        duration_ns=space.horizon_ns,
        interrupted=stop.asked,
        notes=[*([] if note is None else [note]), *left_out(system)],
        wall_s=round(time.monotonic() - began, 3),
        command=request.command,
    )
    if request.output is not None and not _is_file(request.output):
        write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", request.output / "search.json")
    return document


def _checked_budget(request: SearchRequest) -> tuple[float, int | None]:
    """That of `_budget`; raises ConfigError with every mistake that shows before the system is read."""
    problems = policy_problems(request.policy, request.plan)
    try:
        budget = _budget(request.budget)
    except ConfigError as error:
        raise ConfigError([*error.problems, *problems]) from None
    if problems:
        raise ConfigError(problems)
    return budget


def _budget(text: str) -> tuple[float, int | None]:
    """Seconds, and runs; one of them has no end. Raises ConfigError for what is neither."""
    runs = _RUNS.fullmatch(text)
    if runs is not None:
        found = int(runs[1])
        if found:
            return math.inf, found
        raise ConfigError([Problem("--budget", 0, 0, text, "must be at least one run")])
    try:
        limit_s = float(parse_time(text) / NS_PER_S)
    except ValueError as error:
        raise ConfigError([Problem("--budget", 0, 0, text, f"{error}; or a number of runs, such as 5000")]) from None
    if limit_s <= 0:
        raise ConfigError([Problem("--budget", 0, 0, text, "must be more than 0")])
    return limit_s, None


class _Progress:
    """A line every few seconds."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._told_s = tell, time.monotonic()

    def tell(self, runs: int, found: Sequence[Found | None]) -> None:
        """How far it is, and how near to the bounds."""
        if time.monotonic() - self._told_s < _PAUSE_S:
            return
        self._told_s = time.monotonic()
        shares = [one.value_ns / one.goal.bound_ns for one in found if one is not None and one.goal.bound_ns]
        if shares:
            reached = sum(share >= 1 for share in shares)
            words = f"{reached} of {len(shares)} bounds reached, half are within {100 * median(shares):.1f} %"
            self._tell(f"{runs} runs: {words}")
        else:
            self._tell(f"{runs} runs")


def _is_file(output: Path) -> bool:
    return output.suffix.lower() in (".yaml", ".yml")


def _write(cases: Examined, request: SearchRequest) -> dict[tuple[str, str], Path]:
    """Scenarios of what was asked for; of what exceeded a bound always. Where they are, by name and quantity."""
    output, wanted = request.output, list(cases.cases)
    if output is None or _is_file(output):
        over = [case for case in wanted if case.over_bound]
        wanted = sorted(over or (wanted if output is not None else []), key=_share, reverse=True)[:1]
        places = [output or _KEPT]
    else:
        places = [output / f"{case.goal.name}.{case.goal.quantity}.yaml" for case in wanted]
    for case, place in zip(wanted, places, strict=False):
        write_scenario(case.scenario, place)
    return {(case.goal.name, case.goal.quantity): place for case, place in zip(wanted, places, strict=False)}


def _share(case: WorstCase) -> float:
    return case.found.value_ns / case.goal.bound_ns if case.goal.bound_ns else 0.0
