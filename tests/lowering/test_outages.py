"""Outages: faults with an end, alone, together and through devices."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rt_sched.lowering.changes import fault_rows
from rt_sched.lowering.losses import lost_devices, lost_sensors
from rt_sched.lowering.machine_input import FaultRow, FaultTarget
from rt_sched.lowering.outages import device_outages, link_outages, sensor_outages
from rt_sched.model import Fault, FaultKind, Plan, Sensor, SensorKind, System


def device(name: str, begin_ns: int, end_ns: int | None = None) -> Fault:
    return Fault(FaultKind.DEVICE, name, begin_ns, end_ns)


def test_what_overlaps_or_touches_is_one_outage() -> None:
    faults = (device("a", 30, 40), device("a", 5, 10), device("a", 10, 12), device("a", 35, 50), device("b", 7))
    assert device_outages(faults) == {"a": ((5, 12), (30, 50)), "b": ((7, None),)}
    assert device_outages((device("a", 3), device("a", 5, 9))) == {"a": ((3, None),)}
    assert lost_devices(faults) == {"a": 5, "b": 7}
    assert link_outages((Fault(FaultKind.LINK, "eth", 3, 4), *faults)) == {"eth": ((3, 4),)}


def test_a_sensor_is_silent_while_it_or_all_of_its_devices_are_lost(system: System) -> None:
    faults = (device("orin-1", 10, 50), device("orin-2", 30, 70), Fault(FaultKind.CAMERA, "front", 45, 60))
    assert sensor_outages(system, faults) == {"front": ((30, 60),), "top": ((30, 70),)}
    assert sensor_outages(system, faults[:1]) == {}
    assert lost_sensors(system, (device("orin-1", 10), device("orin-2", 30))) == {"front": 30, "top": 30}


def test_outages_become_rows_with_an_end(system: System, plan: Plan) -> None:
    assert fault_rows(system, plan, (device("orin-2", 50, 60), device("orin-2", 70))) == (
        FaultRow(50, FaultTarget.PROCESSOR, 3, 60),
        FaultRow(70, FaultTarget.PROCESSOR, 3),
        FaultRow(50, FaultTarget.SENSOR, 1, 60),
        FaultRow(70, FaultTarget.SENSOR, 1),
    )


_SPANS = st.lists(st.tuples(st.integers(0, 12), st.one_of(st.none(), st.integers(1, 5))), max_size=5)


@given(one=_SPANS, other=_SPANS, own=_SPANS)
def test_outages_are_the_instants_at_which_something_is_lost(
    one: list[tuple[int, int | None]], other: list[tuple[int, int | None]], own: list[tuple[int, int | None]]
) -> None:
    camera = Sensor("front", SensorKind.CAMERA, Fraction(30), ("a", "b"), ())
    system = System("s", (), (camera,), (), (), None, "rms", ".")

    def faults(kind: FaultKind, name: str, spans: list[tuple[int, int | None]]) -> list[Fault]:
        return [Fault(kind, name, at, None if length is None else at + length) for at, length in spans]

    def covers(spans: list[tuple[int, int | None]], at: int) -> bool:
        return any(begin <= at and (length is None or at < begin + length) for begin, length in spans)

    every = faults(FaultKind.DEVICE, "a", one) + faults(FaultKind.DEVICE, "b", other)
    every += faults(FaultKind.CAMERA, "front", own)
    found = sensor_outages(system, every).get("front", ())
    silent = {at for at in range(30) if any(b <= at and (e is None or at < e) for b, e in found)}
    assert silent == {at for at in range(30) if covers(own, at) or (covers(one, at) and covers(other, at))}
    ends = [end for _, end in found]
    assert all(end is not None and end < begin for end, (begin, _) in zip(ends, found[1:], strict=False))
