"""Global scheduling on m identical cores: responses under fixed priorities and EDF. Partitioning is the default."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.analysis.theory.fixed_points import Timing, fixed_point_within, require_constrained
from rt_sched.errors import AnalysisNotApplicable

#: Rounds over all tasks in which slacks may still improve bounds under EDF.
_MOST_ROUNDS = 100


def global_fp_response_times(tasks: Sequence[Timing], cores: int) -> list[int | None]:
    """Bounds under preemptive global fixed priorities, the highest first; None above the deadline and for all below it.

    At most m - 1 higher tasks have a job that arrived before the window; each delays for at most the window less the
    job's own work, plus 1. Assumes no blocking, and jitter + deadline <= period, so that a job ends before the next one
    arrives. With jitter the bounds count from the release. Sufficient.
    Source: Guan, Stigge, Yi, Yu 2009, after Bertogna, Cirinei 2007.

    Raises AnalysisNotApplicable for other tasks.
    """
    _require(tasks, cores, "the global fixed-priority analysis")
    responses: list[int] = []
    for own, mine in enumerate(tasks):
        higher = list(zip(tasks[:own], responses, strict=True))

        def needed(window_ns: int, mine: Timing = mine, higher: list[tuple[Timing, int]] = higher) -> int:
            most_ns = window_ns - mine.wcet_ns + 1
            over_fresh = [_fresh_ns(task, window_ns) - most_ns for task, _ in higher]
            over_carried = [_carried_ns(task, r_ns + task.jitter_ns, window_ns) - most_ns for task, r_ns in higher]
            fresh = [min(over_ns, 0) + most_ns for over_ns in over_fresh]
            carried = [min(over_ns, 0) + most_ns for over_ns in over_carried]
            extra = sorted((max(0, c - f) for c, f in zip(carried, fresh, strict=True)), reverse=True)
            total_ns = mine.wcet_ns + (sum(fresh) + sum(extra[: cores - 1])) // cores
            return max(total_ns, window_ns + _hopeless_ns(total_ns, window_ns, cores, over_fresh, over_carried))

        response_ns = fixed_point_within(needed, mine.wcet_ns, mine.deadline_ns)
        if response_ns is None:
            return [*responses, *[None] * (len(tasks) - own)]
        responses.append(response_ns)
    return list(responses)


def global_edf_response_times(
    tasks: Sequence[Timing], cores: int, release_jitter_ns: Sequence[int] | None = None
) -> list[int | None]:
    """Bounds under preemptive global EDF, in any order; None where no bound within the deadline was found.

    Each other task delays for at most its work in the window, its work that is due by the job's deadline, and the
    window less the job's own work, plus 1; slacks found in one round tighten the next. The bounds hold together: when
    one is None, the others hold only as long as that task meets its deadlines. Assumes no blocking, and jitter +
    deadline <= period; of the jitter, `release_jitter_ns` (default: all) follows the arrival from which deadlines
    count. With jitter the bounds count from the release. Sufficient.
    Source: Bertogna, Cirinei 2007; Bertogna, Cirinei, Lipari 2009.

    Raises AnalysisNotApplicable for other tasks.
    """
    _require(tasks, cores, "the global EDF analysis")
    late_ns = [task.jitter_ns for task in tasks] if release_jitter_ns is None else release_jitter_ns
    slacks = [0] * len(tasks)
    responses: list[int | None] = [None] * len(tasks)
    for _ in range(_MOST_ROUNDS):
        for own, mine in enumerate(tasks):
            others = [(task, slacks[i]) for i, task in enumerate(tasks) if i != own]

            def needed(window_ns: int, mine: Timing = mine, others: list[tuple[Timing, int]] = others) -> int:
                most_ns = window_ns - mine.wcet_ns + 1
                over = []
                for task, slack_ns in others:
                    work_ns = _carried_work_ns(task, window_ns, task.jitter_ns + task.deadline_ns - slack_ns)
                    if not task.jitter_ns:
                        work_ns = min(work_ns, _due_work_ns(task, mine.deadline_ns, slack_ns))
                    over.append(work_ns - most_ns)
                total_ns = mine.wcet_ns + sum(min(over_ns, 0) + most_ns for over_ns in over) // cores
                return max(total_ns, window_ns + _hopeless_ns(total_ns, window_ns, cores, over, over))

            responses[own] = fixed_point_within(needed, mine.wcet_ns, mine.deadline_ns - late_ns[own])
        found = [
            0 if r is None else t.deadline_ns - late - r for t, r, late in zip(tasks, responses, late_ns, strict=True)
        ]
        if found == slacks:
            break
        slacks = [max(old, new) for old, new in zip(slacks, found, strict=True)]
    return responses


def _hopeless_ns(
    total_ns: int, window_ns: int, cores: int, over_fresh: Sequence[int], over_carried: Sequence[int]
) -> int:
    """By how much a window may grow at once, as no window on the way is long enough; 0 when that is not known.

    While m tasks each have more work than the limit of one, window less own work plus 1, every core is taken and the
    window grows by 1 ns a step. Such an excess shrinks by at most 1 ns with each ns of the window. At most m - 1 of
    them count with the work that they carry in.
    """
    if total_ns <= window_ns or len(over_fresh) < cores:
        return 0
    fresh_ns = sorted(over_fresh, reverse=True)[cores - 1]
    first = max(range(len(over_fresh)), key=over_fresh.__getitem__)
    others = sorted((over for place, over in enumerate(over_carried) if place != first), reverse=True)
    mixed_ns = min(over_fresh[first], others[cores - 2]) if cores > 1 else over_fresh[first]
    return max(0, fresh_ns, mixed_ns)


def _fresh_ns(task: Timing, window_ns: int) -> int:
    """Most work in a window at whose begin no job of the task is pending."""
    if task.jitter_ns:
        return min(task.releases(window_ns) * task.wcet_ns, window_ns)
    return window_ns // task.period_ns * task.wcet_ns + min(window_ns % task.period_ns, task.wcet_ns)


def _carried_ns(task: Timing, response_ns: int, window_ns: int) -> int:
    """Most work in a window at whose begin a job is pending that ends within `response_ns`, having executed before."""
    after_ns = max(0, window_ns - task.wcet_ns)
    whole, rest_ns = divmod(after_ns, task.period_ns)
    head_ns = min(max(rest_ns - (task.period_ns - response_ns), 0), task.wcet_ns - 1)
    return whole * task.wcet_ns + min(task.wcet_ns, window_ns) + head_ns


def _carried_work_ns(task: Timing, window_ns: int, response_ns: int) -> int:
    """Most work in any window when every job ends within `response_ns`: the first that late, the others at once."""
    reach_ns = window_ns + response_ns - task.wcet_ns
    jobs = reach_ns // task.period_ns
    return jobs * task.wcet_ns + min(task.wcet_ns, reach_ns - jobs * task.period_ns)


def _due_work_ns(task: Timing, deadline_ns: int, slack_ns: int) -> int:
    """Most work of jobs that are due by the end of a window of `deadline_ns`, the last of them exactly then."""
    jobs = deadline_ns // task.period_ns
    return jobs * task.wcet_ns + min(task.wcet_ns, max(0, deadline_ns - jobs * task.period_ns - slack_ns))


def _require(tasks: Sequence[Timing], cores: int, method: str) -> None:
    if cores < 1:
        raise AnalysisNotApplicable(f"{cores} cores; {method} needs at least one")
    require_constrained(tasks, method, "Place each task on one core and analyse the cores one by one.", jitter=True)
    for position, task in enumerate(tasks):
        if task.jitter_ns + task.deadline_ns > task.period_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: jitter {task.jitter_ns} ns and deadline {task.deadline_ns} ns together exceed the "
                f"period {task.period_ns} ns; {method} needs jobs to end before the next arrives. "
                "Place each task on one core and analyse the cores one by one."
            )
        if task.blocking_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: blocking {task.blocking_ns} ns; {method} needs independent tasks. "
                "Place each task on one core and analyse the cores one by one."
            )
