"""Clocks of devices: where each of them is during one run, within the error that is declared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rt_sched.kernels.draw import draw, uniform
from rt_sched.model import DeviceClock, System

#: Draws of clocks count their streams from here, above those of sensors.
_FIRST_STREAM = 2**33
_PURPOSE_ERROR = 1


def clocks_in_run(system: System, seed: int) -> dict[str, DeviceClock]:
    """Device -> its clock with the offset it has in the run with this seed.

    The error is drawn from [-sync_error, sync_error] by (seed, device) alone; but no clock shows 0 before the run.
    """
    return {device.name: _drawn(device.clock, index, seed) for index, device in enumerate(system.devices)}


def with_exact_clocks(system: System) -> System:
    """The system as if no clock were off."""
    devices = (replace(device, clock=replace(device.clock, sync_error_ns=0)) for device in system.devices)
    return replace(system, devices=tuple(devices))


def _drawn(clock: DeviceClock, index: int, seed: int) -> DeviceClock:
    if not clock.sync_error_ns:
        return clock
    bits = draw(np.uint64(seed), _FIRST_STREAM + index, 0, _PURPOSE_ERROR)
    error_ns = int(uniform(2 * clock.sync_error_ns, np.uint64(bits))) - clock.sync_error_ns
    return replace(clock, offset_ns=max(0, clock.offset_ns + error_ns))
