"""Responses in a task graph that has its processors to itself."""

from __future__ import annotations

from functools import lru_cache

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad, TaskGraph
from rt_sched.analysis.loads.resolve import never_preempts
from rt_sched.analysis.methods.method import Found, Method, Need, plain_method, refusal_by
from rt_sched.analysis.methods.rows import own_terms
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.dag import Dag, finish_bounds_ns, vertex_responses_ns
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Policy
from rt_sched.trace.setup import Policy as RowPolicy
from rt_sched.trace.setup import ProcessorRow

_NAME = "dag_response_time"
_SOURCE = (
    "Graham 1969; He, Jiang, Guan, Guo 2019 (priorities); Jaffe 1980, Han et al. 2019 (several processors); "
    "Li et al. 2014 (processors of their own)"
)
_ANY_ORDER = "Graham 1969 (any work-conserving order)"
_PRIORITIES = "He, Jiang, Guan, Guo 2019 (priorities inside the graph)"
_TYPED = "Han et al. 2019 (processors of several kinds)"
#: A queue whose jobs start as soon as a core is free.
_WORK_CONSERVING = (RowPolicy.FIXED_PRIORITY, RowPolicy.EDF, RowPolicy.FIFO)


def _graph(load: ProcessorLoad) -> TaskGraph:
    """The graph of a load that has one; of others the method has been refused before."""
    if isinstance(load.graph, str):
        raise AnalysisNotApplicable(load.graph)
    return load.graph


def _first(what: str, names: list[str]) -> str | None:
    return what.format(names[0]) if names else None


def _row(graph: TaskGraph, vertex: int) -> ProcessorRow:
    return graph.rows[graph.places[vertex]]


def _preempts_at_a_price(row: ProcessorRow) -> bool:
    return not never_preempts(row) and (row.switch_ns > 0 or row.migration_ns > 0)


def _late_inside(graph: TaskGraph) -> list[str]:
    """Tasks whose releases jitter behind their arrival, other than the one with which the graph begins."""
    behind = {after for _, after in graph.edges}
    first = [vertex for vertex in range(len(graph.tasks)) if vertex not in behind]
    late = [vertex for vertex, task in enumerate(graph.tasks) if task.release_jitter_ns]
    return [graph.tasks[vertex].name for vertex in late if first != [vertex]]


def _overlap(load: ProcessorLoad) -> str | None:
    """Whether jobs of one arrival of the source may still be pending when the next arrives."""
    graph = _graph(load)
    if len(graph.streams) != 1:
        return f"several streams of {graph.source} set off the graph"
    (stream,) = graph.streams
    apart_ns, longest_ns = stream.period_ns - stream.jitter_ns, max(_ends_ns(graph))
    if longest_ns <= apart_ns:
        return None
    return (
        f"the graph may take {longest_ns} ns, but arrivals of {graph.source} may be only {max(0, apart_ns)} ns apart, "
        "so one may not end before the next begins"
    )


IS_GRAPH = Need(lambda load: load.graph if isinstance(load.graph, str) else None, plain_method, purpose=True)
_NEEDS = (
    IS_GRAPH,
    Need(
        lambda load: _first(
            "the policy of {} may leave a core idle while a job is ready",
            [row.name for row in _graph(load).rows if row.policy not in _WORK_CONSERVING],
        ),
        None,
    ),
    Need(
        lambda load: _first("task {} suspends itself", [task.name for task in _graph(load).tasks if task.suspensions]),
        plain_method,
    ),
    Need(
        lambda load: _first("task {} locks a resource", [task.name for task in _graph(load).tasks if task.locks]),
        plain_method,
    ),
    Need(
        lambda load: _first(
            "task {} may need more than one budget and is throttled",
            [task.name for task in _graph(load).tasks if task.throttled_beyond],
        ),
        None,
    ),
    Need(
        lambda load: _first(
            "preemption on {} costs a switch or migration, which may come again and again on one path",
            [row.name for row in _graph(load).rows if _preempts_at_a_price(row)],
        ),
        plain_method,
    ),
    Need(
        lambda load: _first("the release of task {} inside the graph jitters", _late_inside(_graph(load))),
        plain_method,
    ),
    Need(_overlap, plain_method),
)


@lru_cache(maxsize=256)
def _finish_bounds_ns(dag: Dag, levels: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(finish_bounds_ns(dag, levels))


def _dag(graph: TaskGraph) -> tuple[Dag, tuple[int, ...]]:
    """The graph with processors as types, and levels; equal ones where urgent jobs do not preempt at once."""
    dag = Dag(
        tuple(task.cost_ns for task in graph.tasks), graph.edges, graph.places, tuple(row.cores for row in graph.rows)
    )
    freely = [
        row.policy is RowPolicy.FIXED_PRIORITY
        and row.preemptive
        and all(task.region_ns == 1 for task, place in zip(graph.tasks, graph.places, strict=True) if place == number)
        for number, row in enumerate(graph.rows)
    ]
    return dag, tuple(t.level if freely[place] else 0 for t, place in zip(graph.tasks, graph.places, strict=True))


def _ends_ns(graph: TaskGraph) -> list[int]:
    """For each task the latest end of its job after the arrival that sets off the graph."""
    late_ns = max(task.release_jitter_ns for task in graph.tasks)
    return [late_ns + end_ns for end_ns in _finish_bounds_ns(*_dag(graph))]


def _respond(load: ProcessorLoad) -> list[Found]:
    graph = _graph(load)
    dag, levels = _dag(graph)
    ends_ns = dict(zip((task.index for task in graph.tasks), _ends_ns(graph), strict=True))
    responses_ns = dict(zip((task.index for task in graph.tasks), vertex_responses_ns(dag, levels), strict=True))
    source = _ANY_ORDER if len(set(levels)) == 1 else _PRIORITIES
    source = source if len(graph.rows) == 1 else f"{_TYPED}; {source}"
    return [
        Found(_bound(load, task, responses_ns[task.index], source), since_source_ns=ends_ns[task.index])
        for task in load.tasks
    ]


def _bound(load: ProcessorLoad, task: LoadTask, response_ns: int, source: str) -> Bound:
    """The work of others is shared by all cores, so that it has one term."""
    terms = own_terms(task, 1)
    others_ns = response_ns - sum(term.value_ns for term in terms)
    cores = "one core" if load.row.cores == 1 else f"{load.row.cores} cores"
    if others_ns:
        terms.append(Term(TermKind.INTERFERENCE, others_ns, f"tasks beside it in its graph, on {cores}"))
    if task.release_jitter_ns:
        terms.append(Term(TermKind.RELEASE_JITTER, task.release_jitter_ns))
    value_ns = sum(term.value_ns for term in terms)
    return Bound(value_ns, tuple(terms), _NAME, source, False, 0, response_ns)


DAG_RESPONSE_TIME = Method(
    _NAME,
    _SOURCE,
    (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO),
    refusal_by(_NAME, _NEEDS),
    _respond,
)
