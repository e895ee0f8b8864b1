"""Bounds on reaction time, latency and data age of cause-effect chains, as `trace.chains` defines and measures them.

A chain is cut into segments. A segment begins where something reads on its own clock or activation: the sensor, or a
task that samples its predecessor; it goes on through tasks that its messages activate. Each segment has a grid of
reading instants, at most `gap_ns` apart, and a largest delay `delay_ns` from an instant of the grid until what was read
there is visible to the next segment. With segments 0 ... n and w, T for delay and gap:

    latency  <= sum over i < n of (w_i + T_(i+1)) + w_n
    reaction <= T_0 + latency
    data age <= sum over i < n of (w_i + T_i) + w_n

Where the last task of segment i comes before the sampling task on the same fixed-priority core, no job of the latter
begins while one of the former is pending, so w_i ends with the release of that task instead of its completion (Dürr et
al. 2019). Where the grids of several segments have known phases, waits are those of the worst instant of a
hyperperiod instead of whole gaps (Günzel et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rt_sched import model
from rt_sched.analysis.chains.delays import Unbounded
from rt_sched.analysis.chains.phases import Hop, Read, phased_waits
from rt_sched.analysis.chains.segments import Segment, Walk
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Bound, ChainResult, Quantity, ReadingInstant, Term, TermKind, Verdict
from rt_sched.analysis.system.engine import TaskBound

DAVARE = "chain_sum"
DAVARE_SOURCE = "Davare, Zhu, Di Natale, Pinello, Kanajan, Sangiovanni-Vincentelli 2007"
SPORADIC = "chain_sporadic"
SPORADIC_SOURCE = "Dürr, von der Brüggen, Chen, Chen 2019; Günzel et al. 2023 (data age)"
PHASED = "chain_phases"
PHASED_SOURCE = "Günzel, Chen, Ueter, von der Brüggen, Dürr, Chen 2021"
#: Source of every method by which a chain is bounded.
SOURCES = {DAVARE: DAVARE_SOURCE, SPORADIC: SPORADIC_SOURCE, PHASED: PHASED_SOURCE}


def chain_results(mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> tuple[ChainResult, ...]:
    """Bounds of every chain of the system whose tasks all exist in this mode."""
    index_of = {task.name: index for index, task in enumerate(mode.system.tasks)}
    walk = Walk(mode, bounds)
    return tuple(
        _result(mode, walk, chain)
        for chain in mode.system.chains
        if all(name not in index_of or mode.active[index_of[name]] for name in chain.path)
    )


def _result(mode: ModeLoad, walk: Walk, chain: model.CauseEffectChain) -> ChainResult:
    limits = chain_limits(mode.system, chain)
    try:
        segments = walk.along(chain.path, unlimited=True)
    except Unbounded as none:
        verdict = Verdict.INCONCLUSIVE if limits else Verdict.SCHEDULABLE
        return ChainResult(chain.name, mode.name, chain.path, None, None, None, limits, verdict, str(none))
    found = {quantity: chain_bound(segments, quantity) for quantity in Quantity if has_bound(segments, quantity)}
    missing = [quantity.value for quantity, _ in limits if quantity not in found]
    over = [one.value for one, limit_ns in limits if one in found and found[one].value_ns > limit_ns]
    reasons = [f"the bound on {' and '.join(over)} exceeds its limit"] if over else []
    if missing:
        reasons.append(f"{' and '.join(missing)}: task {segments[0].name} has no largest separation")
    return ChainResult(
        chain.name,
        mode.name,
        chain.path,
        found.get(Quantity.REACTION),
        found.get(Quantity.LATENCY),
        found.get(Quantity.DATA_AGE),
        limits,
        Verdict.INCONCLUSIVE if reasons else Verdict.SCHEDULABLE,
        ("; ".join(reasons) or "all bounds are within their limits") if limits else "it has no limits",
    )


def has_bound(segments: Sequence[Segment], quantity: Quantity) -> bool:
    """Whether a chain whose head may stay away has a bound: on latency; on data age where nothing looks twice at it."""
    if quantity is Quantity.LATENCY or not segments[0].unlimited:
        return True
    return quantity is Quantity.DATA_AGE and len(segments) == 1 and not segments[0].repeats


def chain_limits(system: model.System, chain: model.CauseEffectChain) -> tuple[tuple[Quantity, int], ...]:
    """The declared limits; a chain to the arbiter without its own one has the command deadline as latency limit."""
    latency_ns = chain.max_latency_ns
    if latency_ns is None and system.safety is not None and chain.path[-1] == system.safety.arbiter:
        latency_ns = system.safety.command_deadline_ns
    rows = (
        (Quantity.REACTION, chain.max_reaction_ns),
        (Quantity.LATENCY, latency_ns),
        (Quantity.DATA_AGE, chain.max_data_age_ns),
    )
    return tuple((quantity, limit_ns) for quantity, limit_ns in rows if limit_ns is not None)


def chain_bound(segments: Sequence[Segment], quantity: Quantity) -> Bound:
    """The least of the sporadic and the phased bound."""
    sporadic = sporadic_bound(segments, quantity)
    phased = _phased(segments, quantity)
    return phased if phased is not None and phased.value_ns < sporadic.value_ns else sporadic


def sporadic_bound(segments: Sequence[Segment], quantity: Quantity) -> Bound:
    """The bound that knows nothing of phases."""
    return _sum(segments, quantity)


def davare_bound(segments: Sequence[Segment], quantity: Quantity) -> Bound:
    """The plain sum of gaps and full delays, for comparison: it knows neither priorities nor phases."""
    return _sum([segment.without_priorities() for segment in segments], quantity, DAVARE, DAVARE_SOURCE)


def _sum(
    segments: Sequence[Segment], quantity: Quantity, method: str = SPORADIC, source: str = SPORADIC_SOURCE
) -> Bound:
    waits_ns: list[int] = []
    for place, segment in enumerate(segments):
        follower = segments[place + 1] if place + 1 < len(segments) else None
        if follower is not None:
            waits_ns.append(segment.gap_ns if quantity is Quantity.DATA_AGE else follower.gap_ns)
    first_ns = segments[0].gap_ns if quantity is Quantity.REACTION else 0
    return _bound(segments, quantity, first_ns, waits_ns, (method, source))


def _phased(segments: Sequence[Segment], quantity: Quantity) -> Bound | None:
    """With the waits of the worst instant, where at least two segments in a row have known phases."""
    hops = [
        Hop(segment.grid, segment.to_next_ns if place + 1 < len(segments) else segment.delay_ns, segment.gap_ns)
        for place, segment in enumerate(segments)
    ]
    found = phased_waits(hops, backward=quantity is Quantity.DATA_AGE)
    if found is None:
        return None
    first_ns, waits_ns = 0, found.waits_ns
    if quantity is Quantity.REACTION:
        first_ns = segments[0].gap_ns
        with_event = phased_waits(hops, backward=False, event=True)
        if with_event is not None:
            found = with_event
            first_ns, waits_ns = found.waits_ns[0], found.waits_ns[1:]
    clock = [Term(TermKind.CLOCK, found.clock_ns, segments[-1].name)] if found.clock_ns else []
    bound = _bound(segments, quantity, first_ns, waits_ns, (PHASED, PHASED_SOURCE), clock)
    return replace(bound, reads=tuple(_instants(segments, found.reads)))


def _instants(segments: Sequence[Segment], reads: Sequence[Read]) -> Iterator[ReadingInstant]:
    for read in reads:
        segment = segments[read.place]
        if segment.grid is not None:
            yield ReadingInstant(segment.name, segment.grid.rate_hz, segment.grid.first_ns, read.number, read.at_ns)


def _bound(
    segments: Sequence[Segment],
    quantity: Quantity,
    first_ns: int,
    waits_ns: Sequence[int],
    method: tuple[str, str],
    more: Sequence[Term] = (),
) -> Bound:
    """The sum of waits and delays. `first_ns`: wait of an event for the first read; `method`: its name and source."""
    terms = [Term(TermKind.SAMPLING, first_ns, segments[0].name)] if first_ns else []
    for place, segment in enumerate(segments):
        last = place + 1 == len(segments)
        terms += segment.terms if last else segment.terms_to_next
        if not last:
            terms.append(Term(TermKind.SAMPLING, waits_ns[place], segments[place + 1].name))
    if quantity is Quantity.DATA_AGE and segments[-1].repeats:
        terms.append(Term(TermKind.SAMPLING, segments[-1].gap_ns, segments[-1].name))
    terms += more
    return Bound(sum(term.value_ns for term in terms), tuple(terms), *method, exact=False)
