"""What chain bounds must not take for granted of joins, queues, modes, clocks and locks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from chain_systems import Node, chain_system

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_bound, chain_results
from rt_sched.analysis.chains.delays import Unbounded
from rt_sched.analysis.chains.segments import Segment, segments_of
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Bound, ChainResult, Quantity, TermKind, Verdict
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.model import Edge, EdgeKind, Input, Join, OnMessage
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import ChainMeasurement, measure_chain

HORIZON_NS = 4000


def segments(system: model.System) -> list[Segment]:
    mode = mode_loads(system, make_plan(system))[0]
    return segments_of(mode, mode_bounds(mode, METHODS), system.chains[0].path)


def bound(system: model.System, quantity: Quantity = Quantity.REACTION) -> Bound:
    return chain_bound(segments(system), quantity)


def measured(system: model.System, seed: int = 0) -> ChainMeasurement:
    samples = nominal_samples(system, HORIZON_NS, seed)
    given = lower(system, make_plan(system), samples, horizon_ns=HORIZON_NS, seed=seed, execution=Execution.WCET)
    simulation = Simulation(given)
    simulation.run()
    return measure_chain(simulation.trace(), system.chains[0].path)


def with_task(system: model.System, name: str, **changes: object) -> model.System:
    tasks = tuple(replace(task, **changes) if task.name == name else task for task in system.tasks)  # type: ignore[arg-type]
    return replace(system, tasks=tasks)


def queue(source: str, depth: int = 1, *, required: bool = True, name: str = "in") -> Input:
    return Input(name, source, "out", Edge(EdgeKind.QUEUE, depth), required)


def test_outputs_that_another_input_makes_repeat_old_data() -> None:
    """`join` publishes for every message of `often`, with what `seldom` said up to a period ago."""
    nodes = [Node("often", 1, 10, pe="p1"), Node("seldom", 1, 50), Node("join", 1, None, "seldom")]
    made = chain_system(nodes, ("seldom", "join"))
    inputs = (queue("seldom", 4), queue("often", 4, required=False, name="also"))
    made = with_task(made, "join", activation=OnMessage(Join.ANY), inputs=inputs, separation_ns=10)
    oldest_ns = int(measured(made).data_age_ns.max())
    assert 40 < oldest_ns <= bound(made, Quantity.DATA_AGE).value_ns
    assert bound(made, Quantity.LATENCY).value_ns < oldest_ns
    assert segments(made)[-1].repeats


def queued(depth: int, producer: int, reader: int, offset: int = 0) -> model.System:
    made = chain_system([Node("make", 1, producer), Node("take", 1, reader, "make", offset=offset)], ("make", "take"))
    return with_task(made, "take", inputs=(queue("make", depth),))


def test_a_timed_reader_of_a_queue_takes_the_oldest_message() -> None:
    """What waited while the reader had not begun stays ahead of every later message."""
    late = queued(3, 10, 10, offset=25)
    assert int(measured(late).latency_ns.max()) > 20
    for quantity in Quantity:
        assert int(getattr(measured(late), f"{quantity.value}_ns").max()) <= bound(late, quantity).value_ns
    assert bound(queued(3, 20, 10), Quantity.LATENCY).value_ns < bound(late, Quantity.LATENCY).value_ns
    assert bound(queued(5, 20, 10)).value_ns == bound(queued(1, 20, 10)).value_ns


def test_readers_of_empty_queues() -> None:
    made = chain_system(
        [Node("make", 1, 30), Node("take", 1, 10, "make"), Node("look", 1, 20, "take")], ("make", "take", "look")
    )
    required = with_task(made, "take", inputs=(queue("make"),))
    assert int(measured(required).reaction_ns.max()) <= bound(required).value_ns
    with pytest.raises(Unbounded, match="take may publish without new data"):
        segments(with_task(made, "take", inputs=(queue("make", required=False),)))
    other = (queue("make", name="other"), Input("in", "make", "out", Edge(EdgeKind.LATEST), required=False))
    with pytest.raises(Unbounded, match="take skips jobs while its queue other is empty"):
        segments(
            replace(with_task(made, "take", inputs=other), chains=(replace(made.chains[0], path=("take", "look")),))
        )


def test_phases_of_tasks_that_a_mode_restarts_are_not_known() -> None:
    made = chain_system([Node("a", 1, 10), Node("b", 1, 20, "a", offset=5)], ("a", "b"))
    assert bound(made).method == "chain_phases"
    both = replace(made, modes=(model.Mode("all", ("a", "b")), model.Mode("same", ("a", "b"))))
    assert bound(both).method == "chain_phases"
    some = replace(made, modes=(model.Mode("all", ("a", "b")), model.Mode("less", ("a",))))
    assert bound(some).method == "chain_sporadic"
    assert bound(some).value_ns > bound(made).value_ns
    (mode, _) = mode_loads(some, make_plan(some))
    assert [one.mode for one in chain_results(mode, mode_bounds(mode, METHODS))] == ["all"]


def test_a_sporadic_task_of_equal_distances_may_begin_at_any_time() -> None:
    made = chain_system([Node("make", 1, 10), Node("take", 1, 10, "make", offset=1, pe="p1")], ("make", "take"))
    assert bound(made).method == "chain_phases"
    free = with_task(made, "make", activation=model.Sporadic(10, 10))
    assert bound(free).method == "chain_sporadic"
    longest = dict.fromkeys(Quantity, 0)
    for first_ns in range(10):
        given = lower(free, make_plan(free), nominal_samples(free, 400, 0), horizon_ns=400, execution=Execution.WCET)
        head = replace(given.tasks[0], rate_hz=None, explicit_arrivals_ns=tuple(range(first_ns, 400, 10)))
        simulation = Simulation(replace(given, tasks=(head, *given.tasks[1:])))
        simulation.run()
        seen = measure_chain(simulation.trace(), ("make", "take"))
        for quantity in Quantity:
            longest[quantity] = max(longest[quantity], int(getattr(seen, f"{quantity.value}_ns").max()))
    for quantity in Quantity:
        assert bound(made, quantity).value_ns < longest[quantity] <= bound(free, quantity).value_ns


def test_hyperperiods_of_fractions() -> None:
    """Periods of 12 1/3 ns and 37 ns meet every 37 ns; instants in between are rounded down."""
    third = Fraction(3 * 10**9, 37)
    for first, second in ((third, Fraction(10**9, 37)), (Fraction(10**9, 37), third), (third, third)):
        made = chain_system([Node("a", 1, 12), Node("b", 1, 12, "a", offset=7)], ("a", "b"), let=True)
        for name, rate in (("a", first), ("b", second)):
            made = with_task(made, name, activation=replace(_periodic(made, name), rate_hz=rate))
        assert bound(made).method == "chain_phases"
        for quantity in Quantity:
            value = int(getattr(measured(made), f"{quantity.value}_ns").max())
            assert bound(made, quantity).value_ns - 1 <= value <= bound(made, quantity).value_ns


def _periodic(system: model.System, name: str) -> model.Periodic:
    activation = next(task.activation for task in system.tasks if task.name == name)
    assert isinstance(activation, model.Periodic)
    return activation


def two_devices(error_a: int, error_b: int, *, let: bool = False) -> model.System:
    made = chain_system([Node("a", 2, 20), Node("b", 1, 20, "a", offset=5)], ("a", "b"), let=let)
    box = made.devices[0]
    other = replace(box, name="other")
    devices = tuple(
        replace(device, clock=model.DeviceClock(Fraction(0), 40, error))
        for device, error in ((box, error_a), (other, error_b))
    )
    return replace(with_task(made, "b", pe=("other", "p0")), devices=devices)


def test_clock_errors_widen_the_bound_by_what_they_can_do() -> None:
    exact = bound(two_devices(0, 0))
    assert (exact.method, exact.value_ns) == ("chain_phases", 26)
    near = bound(two_devices(1, 2))
    assert near.value_ns == 29
    assert [term.value_ns for term in near.terms if term.kind is TermKind.CLOCK] == [3]
    assert bound(two_devices(3, 1)).value_ns == 43
    far = bound(two_devices(20, 20))
    assert far.method == "chain_sporadic"
    same = chain_system([Node("a", 2, 20), Node("b", 1, 20, "a", offset=5)], ("a", "b"))
    clock = model.DeviceClock(Fraction(0), 40, 15)
    off = replace(same, devices=(replace(same.devices[0], clock=clock),))
    assert bound(off).value_ns == bound(same).value_ns


@pytest.mark.parametrize("let", [False, True])
def test_no_clock_within_its_error_exceeds_the_bound(let: bool) -> None:
    worst = dict.fromkeys(Quantity, 0)
    for seed in range(60):
        seen = measured(two_devices(2, 3, let=let), seed)
        for quantity in Quantity:
            worst[quantity] = max(worst[quantity], int(getattr(seen, f"{quantity.value}_ns").max()))
    for quantity in Quantity:
        limit_ns = bound(two_devices(2, 3, let=let), quantity).value_ns
        assert worst[quantity] <= limit_ns
        assert worst[quantity] > int(getattr(measured(two_devices(0, 0, let=let)), f"{quantity.value}_ns").max())


def test_bounds_grow_with_the_clock_errors() -> None:
    for quantity in Quantity:
        values = [bound(two_devices(error, 0), quantity).value_ns for error in range(25)]
        assert values == sorted(values)
        assert values[0] < values[-1]


def test_a_waiting_producer_lets_the_reader_go_first() -> None:
    """The reader surely begins after the more urgent job only where that one never leaves the core unfinished."""
    made = chain_system([Node("a", 3, 20, pe="p0"), Node("b", 1, 40, "a", offset=3)], ("a", "b"))
    plain = segments(made)[0]
    assert plain.to_next_ns == 0 < plain.delay_ns

    def locked(protocol: model.Protocol) -> Segment:
        section = (model.CriticalSection("r", 1, 2),)
        return segments(
            replace(with_task(made, "a", sections=section), resources=(model.SharedResource("r", protocol),))
        )[0]

    assert locked(model.Protocol.PRIORITY_CEILING).to_next_ns == 0
    assert locked(model.Protocol.PRIORITY_INHERITANCE).to_next_ns == plain.delay_ns
    throttle = model.Budget(1, model.OverrunAction.THROTTLE)
    throttled = segments(with_task(made, "a", budget=throttle, budget_ns=3))[0]
    assert throttled.to_next_ns == throttled.delay_ns > 0


def test_a_head_that_may_stay_away_leaves_the_latency() -> None:
    made = chain_system([Node("a", 2, 20), Node("b", 1, None, "a"), Node("c", 1, 30, "b")], ("a", "b", "c"))
    rare = with_task(made, "a", activation=model.Sporadic(20))

    def judged(path: tuple[str, ...], **limits: int) -> ChainResult:
        chain = replace(rare.chains[0], path=path, **limits)  # type: ignore[arg-type]
        (mode,) = mode_loads(replace(rare, chains=(chain,)), make_plan(rare))
        (result,) = chain_results(mode, mode_bounds(mode, METHODS))
        return result

    events = judged(("a", "b"), max_latency_ns=3)
    assert events.reaction is None
    assert events.latency is not None
    assert events.data_age is not None
    assert (events.latency.value_ns, events.data_age.value_ns, events.verdict) == (3, 3, Verdict.SCHEDULABLE)
    looked_at = judged(("a", "b", "c"), max_reaction_ns=500, max_latency_ns=20)
    assert looked_at.data_age is None
    assert looked_at.verdict is Verdict.INCONCLUSIVE
    assert looked_at.reason == ("the bound on latency exceeds its limit; reaction: task a has no largest separation")
    with pytest.raises(Unbounded, match="a has no largest separation"):
        segments(rare)
