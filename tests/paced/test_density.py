"""How densely messages may come, and the reservations of tasks that wake up for more than their jobs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.paced.host_supply import host_share
from rt_sched.app.paced.links import with_lateness
from rt_sched.config import load_system
from rt_sched.model import Plan, System
from rt_sched.planner import make_plan
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.feed.publisher import publisher_of
from rt_sched.runtime.paced.jobs.edges import channels_of
from rt_sched.runtime.paced.links.seat import LinkSeat
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.runtime.paced.seats.density import Flow, densities, waking_flows
from rt_sched.runtime.paced.seats.fitting import Room
from rt_sched.runtime.paced.seats.reservations import LOOK_NS, task_reservations
from rt_sched.trace.setup import Role, Setup
from rt_sched.units import NS_PER_MS

SYSTEM = """
rt_sched: 1
name: dense
policy: edf
devices:
  ecu-a: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.1ms}}}
  ecu-b: {processing_elements: {cpu: {kind: cpu, cores: 1}}}
links: {ethernet: {bandwidth: 1MB/s, latency: 3ms, between: [ecu-a, ecu-b]}}
sensors:
  camera: {kind: camera, rate: 25Hz, jitter: 2ms, attached_to: ecu-a, topic: /camera/*,
    calibration: {image_size: [8, 8], intrinsics: {fx: 4, fy: 4, cx: 4, cy: 4},
    sensor_to_vehicle: [[0, -0.034899, 0.999391, 1.95], [-1, 0, 0, 0], [0, -0.999391, -0.034899, 1.42]]}}
  imu: {kind: imu, rate: 25Hz, jitter: 1ms, attached_to: ecu-a, topic: /imu/*}
tasks:
  clocked: {runs_on: ecu-a.cpu, activation: {rate: 20Hz}, execution: {wcet: 2ms}, deadline: 20ms, output_size: 5kB,
    communication: let}
  plain: {runs_on: ecu-a.cpu, activation: {rate: 20Hz}, execution: {wcet: 2ms}, deadline: 20ms, output_size: 10kB}
  follow: {runs_on: ecu-a.cpu, inputs: {road: clocked, other: {from: plain, edge: latest, required: false}},
    execution: {wcet: 3ms}, deadline: 30ms}
  paired: {runs_on: ecu-a.cpu, activation: {join: all, tolerance: 5ms}, execution: {wcet: 3ms}, deadline: 30ms,
    inputs: {image: {from: camera, edge: queue}, motion: {from: imu, edge: queue}}}
  far: {runs_on: ecu-b.cpu, inputs: {road: {from: plain, link: ethernet}}, execution: {wcet: 1ms}, deadline: 30ms,
    output_size: 1kB}
  back: {runs_on: ecu-a.cpu, inputs: {road: {from: far, link: ethernet}}, execution: {wcet: 1ms}, deadline: 30ms}
  dated: {runs_on: ecu-b.cpu, inputs: {road: {from: clocked, link: ethernet}}, execution: {wcet: 1ms}, deadline: 30ms}
"""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    path: Path = tmp_path_factory.mktemp("dense") / "dense.yaml"
    path.write_text(SYSTEM)
    return load_system(path, stages=ImportedStages())


@pytest.fixture(scope="module")
def plan(system: System) -> Plan:
    return make_plan(system, policy="edf")


@pytest.fixture(scope="module")
def setup(system: System, plan: Plan) -> Setup:
    return mode_loads(system, plan)[0].setup


def _index(system: System, name: str) -> int:
    return [task.name for task in system.tasks].index(name)


def _edge(system: System, setup: Setup, target: str) -> int:
    return [edge.target for edge in setup.edges].index(_index(system, target))


def test_messages_are_as_dense_as_deadlines_and_waits_before_them_allow(system: System, setup: Setup) -> None:
    found = densities(system, setup, {0: 4 * NS_PER_MS}, 0)
    plain, far = found[_edge(system, setup, "far")], found[_edge(system, setup, "back")]
    assert plain.published == plain.counting == (Flow(50 * NS_PER_MS, 20 * NS_PER_MS),)
    ((sent,), (due,)) = far.published, plain.due
    wait_ns = due.jitter_ns - 20 * NS_PER_MS
    assert wait_ns == (10 + 5 + 2 * 1) * NS_PER_MS, "all that may come at once, two messages of `far` among it"
    assert sent.jitter_ns == 20 * NS_PER_MS + wait_ns + 4 * NS_PER_MS + 30 * NS_PER_MS


def test_what_is_dated_counts_when_the_clock_says(system: System, setup: Setup) -> None:
    dated = densities(system, setup, {0: 0}, 0)[_edge(system, setup, "dated")]
    assert dated.published[0].jitter_ns == 20 * NS_PER_MS and dated.counting[0].jitter_ns == 0


def test_only_dated_and_paired_messages_wake_up_without_a_job(system: System, setup: Setup) -> None:
    woken = {task.name: waking_flows(system, setup, index) for index, task in enumerate(system.tasks)}
    assert {name for name, flows in woken.items() if flows} == {"follow", "paired"}
    assert woken["follow"] == [("road", Flow(50 * NS_PER_MS, 20 * NS_PER_MS))]
    assert [name for name, _ in woken["paired"]] == ["image", "motion"]


def test_their_reservations_have_room_for_it_at_any_distance(system: System, plan: Plan) -> None:
    found = task_reservations(system, plan)
    follow, back = found[_index(system, "follow")], found[_index(system, "back")]
    look_ns = LOOK_NS + 200_000
    assert follow == Reservation(3_200_000 + look_ns, 30 * NS_PER_MS, 30 * NS_PER_MS)
    assert back == Reservation(1_200_000, 30 * NS_PER_MS, 47_500_000)


def test_their_bounds_are_no_less_than_a_period(system: System, plan: Plan) -> None:
    share = host_share(system, plan, Tier.DEADLINE, Beside(publisher_of(system, plan, {}, None), ()), None)
    bounds = mode_bounds(mode_loads(share.system, share.plan)[0], share.methods)
    follow, clocked = (bounds[_index(system, name)].bound for name in ("follow", "clocked"))
    assert follow is not None and follow.value_ns == 30 * NS_PER_MS
    assert clocked is not None and clocked.value_ns < 20 * NS_PER_MS


def test_what_is_only_read_wakes_nobody(system: System, setup: Setup) -> None:
    channels = {channel.name: channel for channel in channels_of(system, setup, {})}
    woken = {reader.name for channel in channels.values() for reader in channel.readers if reader.bell == "follow"}
    assert woken == {"follow.road"}
    assert any(edge.role is Role.READ for edge in setup.edges)


def test_what_links_activate_comes_by_their_lateness_less_regularly(system: System) -> None:
    late = with_lateness(system, (LinkSeat("ethernet", 0, (), 4 * NS_PER_MS),))
    assert late.links[0].latency_ns == 7 * NS_PER_MS
    jitter_ns = {task.name: task.activation.jitter_ns for task in late.tasks}
    assert {name for name, one_ns in jitter_ns.items() if one_ns} == {"far", "back", "dated"}
    assert jitter_ns["far"] == 4 * NS_PER_MS


def test_a_core_is_chosen_where_others_have_what_the_kernel_would_lend_them() -> None:
    full, half = Reservation(8 * NS_PER_MS, 10 * NS_PER_MS, 10 * NS_PER_MS), Reservation(1, NS_PER_MS, NS_PER_MS)
    loss = SupplyLoss(100 * NS_PER_MS, 1000 * NS_PER_MS, "")
    wanted = Reservation(NS_PER_MS, 10 * NS_PER_MS, 10 * NS_PER_MS)
    tries = [(0, wanted), (1, wanted)]
    room = Room(Fraction(19, 20), loss, (0, 0), [(0,), (1,)], [[full], [half]])
    assert room.copy().greedy().place(tries, ()) == (0, wanted)
    assert room.place(tries, ()) == (1, wanted) and len(room.taken[1]) == 2
    assert room.place([(0, wanted)], ()) is None
