"""A paced run up to its start: everything read, planned, checked and rehearsed, and nothing forked yet."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from rt_sched import kernels
from rt_sched.app.health.order import fed_context, health_order
from rt_sched.app.inputs.decoding import decoder
from rt_sched.app.inputs.log_inputs import horizon_of, map_topics, pixels_needed
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context, system_for
from rt_sched.app.paced.actuator import actuator_order
from rt_sched.app.paced.device_losses import device_faults, has_answers, strikes
from rt_sched.app.paced.host_supply import leaves_enough
from rt_sched.app.paced.rehearsing import rehearsed
from rt_sched.app.paced.request import PacedFaults, PacedRequest
from rt_sched.app.paced.tiers import (
    check_plan_of_tier,
    check_tier_of_failover,
    chosen_tier,
    policy_of_tier,
    system_of_tier,
)
from rt_sched.app.progress import Progress
from rt_sched.app.runs.ending import Replayed
from rt_sched.faults.supervision import alive_timeout_ns
from rt_sched.kernels import ring
from rt_sched.lowering import lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.merging import with_merged
from rt_sched.model import Fault
from rt_sched.ports import Stage
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.host.supply import supply_loss
from rt_sched.runtime.host.tiers import Tier, TierReport
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.deployment import host_cores
from rt_sched.runtime.paced.devices.answers import device_failover
from rt_sched.runtime.paced.devices.supervision import supervision
from rt_sched.runtime.paced.feed.feeder import Playback, decode_ahead
from rt_sched.runtime.paced.order import PacedOrder
from rt_sched.runtime.paced.refusal import refuse
from rt_sched.runtime.paced.seats.beside import beside_tasks
from rt_sched.runtime.timeline import build_timeline
from sensors.recording import open_recording


@dataclass(frozen=True, slots=True)
class Prepared:
    """`order`: what is to run. `given`: its schedule as planned. `tiers`: what was found of each.

    `lost`: devices that are to be lost.
    """

    order: PacedOrder
    given: MachineInput
    tiers: tuple[TierReport, ...]
    replayed: Replayed
    lost: tuple[Fault, ...]


def prepare(request: PacedRequest, progress: Progress, stack: ExitStack, faults: PacedFaults | None) -> Prepared:
    """Everything before the first process starts; what has to be closed is left to `stack`."""
    log = resolve(request.log)
    progress.step("trying the tiers of this host")
    tier, tiers = chosen_tier(request.tier)
    progress.step("reading the recording")
    recording = open_recording(log, salvage=request.salvage)
    stack.callback(recording.close)
    catalogue = ImportedStages()
    declared, system_path = system_for(request.system, recording, catalogue, host=True)
    system = system_of_tier(declared, tier)
    mapping = map_topics(system, recording)
    policy = request.policy if request.plan else policy_of_tier(tier, request.policy)
    plan, plan_note = plan_for(system, request.plan, policy)
    system = with_merged(system, plan.merged)
    check_plan_of_tier(tier, plan)
    timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
    usual = recording, timeline
    if faults is not None:
        recording, timeline = faults.recording(recording), faults.timeline
    horizon_ns = min(horizon_of(system, timeline), request.duration_ns or horizon_of(system, timeline))
    given = lower(system, plan, timeline.samples, horizon_ns=horizon_ns)
    lost = device_faults(request.faults, system, horizon_ns)
    failover = None
    if lost or has_answers(plan) or (faults is not None and faults.loses_devices):
        failover = device_failover(system, plan, timeline.samples, horizon_ns)
        check_tier_of_failover(tier)
    host_cores(system, plan)
    refuse(given.setup, tier=tier, commands_of=None if system.safety is None else system.safety.arbiter)
    authenticator = authenticator_of(system)
    progress.step("loading the scheduling kernel")
    kernels.warm_up()
    ring.warm_up()
    progress.step("rehearsing the stages")
    rehearsal, output_ports = rehearsed(system, plan, catalogue, *usual, mapping)

    until_ns = min(usual[1].last_arrival_ns + usual[1].origin_ns - timeline.origin_ns, horizon_ns)
    recorded = mapping.sensor_to_topic.keys()
    health = health_order(system, plan, recorded, rehearsal.bytes_of, until_ns, always=faults is not None)
    blows = () if faults is None else faults.blows()
    watched = {blow.link for blow in blows if blow.link is not None}
    beside = beside_tasks(system, plan, given.setup, rehearsal.bytes_of, tier, watched)
    if tier is Tier.FIFO:
        supervisors = supervision(system, plan, failover, request.rate, links=bool(watched))
        beside = replace(beside, supervisors=supervisors)
    if health is not None:
        enough = leaves_enough(system, plan, tier, beside, supply_loss(), health)
        health = replace(health, is_ordinary=not enough)

    def make_stage(index: int) -> Stage:
        stage = catalogue.create(system.tasks[index])
        context = stage_context(system, system.tasks[index], authenticator=authenticator)
        stage.start(fed_context(context, health))
        return stage

    def struck_stage(index: int, stage: Stage) -> Stage:
        return stage if faults is None else faults.stage(index, stage, request.rate)

    def decode(playback: Playback) -> None:
        opened = open_recording(log, salvage=request.salvage)
        again = opened if faults is None else faults.recording(opened)
        needs = pixels_needed(system, [catalogue.create(task) for task in system.tasks], mapping)
        feed = SampleFeed(again, list(mapping.sensor_to_topic.values()), timeline)
        decode_ahead(playback, feed, decoder(again, needs))

    order = PacedOrder(
        system=system,
        plan=plan,
        setup=given.setup,
        tier=tier,
        rate=request.rate,
        samples=timeline.samples,
        horizon_ns=horizon_ns,
        rehearsal=rehearsal,
        beside=beside,
        make_stage=make_stage,
        struck_stage=struck_stage,
        decode=decode,
        output_ports=output_ports,
        alive_ns=[alive_timeout_ns(system, task) for task in system.tasks],
        actuator=actuator_order(system, catalogue),
        blows=blows,
        failover=failover,
        strikes=strikes(lost, stop=request.stops, inside=request.inside),
        restarts=len(lost) + len(blows),
        health=health,
    )
    replayed = Replayed(request, system, system_path, plan, plan_note, recording, mapping, timeline)
    return Prepared(order, given, tuple(tiers), replayed, tuple(lost))
