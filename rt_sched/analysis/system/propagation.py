"""How arrivals follow from what activates a task: sensors, clocks, links and the responses of its predecessors.

A message stream is known by a grid, the instants at which its sensor captures or its clock-driven task arrives, and by
the least and largest delay behind the grid at which message k becomes visible. Jitter is the difference of the two
(Tindell, Clark 1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.loads.load import LoadTask, Phase, Stream
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.theory.fifo import fifo_response_times
from rt_sched.analysis.theory.fixed_points import NotConverged, Timing
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeRow
from rt_sched.units import NS_PER_S, ceil_int, floor_int


@dataclass(frozen=True, slots=True)
class MessageStream:
    """Messages that become visible between `best_ns` and `worst_ns` after the points of a grid.

    Points are at least `period_ns` apart. `stamped`: whether the capture stamp of a message is its point, or at most
    `stamp_lag_ns` before it. `origin`: what makes the points; they lie `shift_ns` behind its instants, which are known
    exactly where `rate_hz` is given.
    """

    period_ns: int
    best_ns: int
    worst_ns: int
    stamped: bool
    stamp_lag_ns: int = 0
    origin: str = ""
    shift_ns: int = 0
    rate_hz: Fraction | None = None

    @property
    def jitter_ns(self) -> int:
        """Largest difference of two delays."""
        return self.worst_ns - self.best_ns

    def delayed(self, least_ns: int, most_ns: int) -> MessageStream:
        """What follows it after `least_ns` to `most_ns`."""
        return replace(self, best_ns=self.best_ns + least_ns, worst_ns=self.worst_ns + most_ns)


#: Streams into a task, or the reason why no bound on them exists.
Streams = tuple[MessageStream, ...] | str


def sensor_streams(system: model.System) -> list[MessageStream]:
    """What each sensor delivers to its device; its grid are the latest instants at which it may capture."""
    streams = []
    for sensor in system.sensors:
        rate_hz = sensor.rate_hz * (1 + sensor.drift_ppm / Fraction(10**6))
        lag_ns = 2 * sensor.capture_jitter_ns
        least_ns = max(0, sensor.latency_ns - sensor.jitter_ns) - lag_ns
        period_ns = max(1, floor_int(NS_PER_S / rate_hz))
        most_ns = sensor.latency_ns + sensor.jitter_ns
        origin = f"sensor {sensor.name}"
        streams.append(MessageStream(period_ns, least_ns, most_ns, stamped=True, stamp_lag_ns=lag_ns, origin=origin))
    return streams


def sensor_gap_ns(sensor: model.Sensor) -> int:
    """Largest distance of two captures."""
    period_ns = ceil_int(NS_PER_S / (sensor.rate_hz * (1 + sensor.drift_ppm / Fraction(10**6))))
    return period_ns + 2 * sensor.capture_jitter_ns


def clock_stream(task: LoadTask, device: str) -> tuple[MessageStream, ...]:
    """The arrivals of a timed task of a device: on its clock, or known only relative to each other."""
    if task.offset_ns is not None and task.rate_hz is not None:
        origin, shift_ns, rate_hz = f"clock {device}", task.offset_ns, task.rate_hz
    else:
        origin, shift_ns, rate_hz = f"task {task.name}", 0, None
    return tuple(
        MessageStream(stream.period_ns, 0, 0, stamped=False, origin=origin, shift_ns=shift_ns, rate_hz=rate_hz)
        for stream in task.streams
    )


def activations(
    mode: ModeLoad,
    sensors: Sequence[MessageStream],
    outputs: Mapping[int, Streams],
    index: int,
    *,
    one_source: bool = False,
) -> Streams:
    """Arrivals of message-activated task `index`, given what its predecessors publish.

    `any`: those of all activating inputs. `latest`: those of the primary. `all`: a job arrives with the latest of its
    inputs, whose stamps differ by at most the tolerance; where stamps are not those of one sensor each, every message
    of any input may be the last one. `one_source`: messages of all inputs that are paired stem from one job or sample.
    """
    inputs: list[tuple[MessageStream, ...]] = []
    paired = False
    for number, edge in mode.into.get(index, ()):
        if edge.role is Role.READ:
            continue
        paired = paired or edge.role is Role.PAIRED
        streams = edge_streams(mode, number, sensors, outputs)
        if isinstance(streams, str):
            return streams
        inputs.append(streams)
    if one_source and all(len(streams) == 1 for streams in inputs):
        behind = [streams[0] for streams in inputs]
        best_ns, worst_ns = max(one.best_ns for one in behind), max(one.worst_ns for one in behind)
        return (replace(behind[0], best_ns=best_ns, worst_ns=worst_ns),)
    if one_source and not all(inputs):
        return ()
    if paired and all(len(streams) == 1 and streams[0].stamped for streams in inputs):
        return (_joined([streams[0] for streams in inputs], mode.setup.tasks[index].tolerance_ns),)
    return tuple(stream for streams in inputs for stream in streams)


def edge_streams(
    mode: ModeLoad, number: int, sensors: Sequence[MessageStream], outputs: Mapping[int, Streams]
) -> Streams:
    """The messages of edge `number` as they become visible at its task, behind the link where there is one."""
    edge = mode.setup.edges[number]
    streams = _source(edge, sensors, outputs)
    if isinstance(streams, str) or edge.link is None:
        return streams
    return _over_link(mode, number, sensors, outputs)


def _joined(inputs: Sequence[MessageStream], tolerance_ns: int) -> MessageStream:
    """Pairs of messages whose stamps differ by at most the tolerance, on the grid of the slowest input.

    A pair is stamped like the oldest of its messages.
    """
    reference = max(inputs, key=lambda stream: stream.period_ns)
    others = [stream for stream in inputs if stream is not reference]
    lag_ns = reference.stamp_lag_ns + tolerance_ns
    best_ns = max([reference.best_ns, *(stream.best_ns - lag_ns for stream in others)])
    worst_ns = max([reference.worst_ns, *(s.worst_ns + tolerance_ns + s.stamp_lag_ns for s in others)])
    stamp_lag_ns = lag_ns if others else reference.stamp_lag_ns
    return replace(reference, best_ns=best_ns, worst_ns=worst_ns, stamp_lag_ns=stamp_lag_ns)


def _source(edge: EdgeRow, sensors: Sequence[MessageStream], outputs: Mapping[int, Streams]) -> Streams:
    if edge.sensor is not None:
        return (sensors[edge.sensor],)
    return outputs.get(edge.task, ()) if edge.task is not None else ()


def _over_link(
    mode: ModeLoad, number: int, sensors: Sequence[MessageStream], outputs: Mapping[int, Streams]
) -> Streams:
    """The messages of edge `number` behind its link, a first-come-first-served server that all its edges share.

    Those to tasks that the mode lacks are sent as well, as long as what publishes them is there.
    """
    link_index = mode.setup.edges[number].link or 0
    link = mode.setup.links[link_index]
    flows: list[Timing] = []
    mine: list[tuple[int, MessageStream, int]] = []
    for other, edge in enumerate(mode.setup.edges):
        if edge.link != link_index:
            continue
        streams = _source(edge, sensors, outputs)
        if isinstance(streams, str):
            return f"link {link.name}: {streams}"
        sending_ns = max(1, -(-edge.size_bytes * NS_PER_S // link.bytes_per_s))
        for stream in streams:
            if other == number:
                mine.append((len(flows), stream, sending_ns))
            flows.append(Timing(int(sending_ns), stream.period_ns, stream.period_ns, stream.jitter_ns))
    try:
        responses = fifo_response_times(flows)
    except NotConverged as error:
        return f"link {link.name}: {error}"
    return tuple(
        stream.delayed(int(sending_ns) + link.latency_ns, responses[place] - stream.jitter_ns + link.latency_ns)
        for place, stream, sending_ns in mine
    )


def as_arrivals(streams: Sequence[MessageStream]) -> tuple[Stream, ...]:
    """The streams as one processor counts them."""
    return tuple(
        Stream(
            stream.period_ns,
            stream.jitter_ns,
            phase=Phase(stream.origin, stream.shift_ns + stream.best_ns, stream.rate_hz) if stream.origin else None,
        )
        for stream in streams
    )
