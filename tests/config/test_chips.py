"""The chip catalogue against the published power modes of the AGX Orin."""

from __future__ import annotations

import pytest

from hw.soc_catalogue import AGX_ORIN, SAFETY_MCU, SOC_CATALOGUE, processing_elements_in
from rt_sched.model import PEKind


@pytest.mark.parametrize(
    ("mode", "cores", "cpu_mhz", "gpu_mhz"),
    [("MAXN", 12, 2201.6, 1300.5), ("50W", 12, 1497.6, 816), ("30W", 8, 1728, 612), ("15W", 4, 1113.6, 408)],
)
def test_agx_orin_power_modes(mode: str, cores: int, cpu_mhz: float | None, gpu_mhz: float | None) -> None:
    power = AGX_ORIN.power_modes[mode]
    assert power.cpu_max_hz == (None if cpu_mhz is None else round(cpu_mhz * 1e6))
    assert power.gpu_max_hz == (None if gpu_mhz is None else round(gpu_mhz * 1e6))
    elements = processing_elements_in(AGX_ORIN, mode)
    assert [(pe.name, pe.cores) for pe in elements] == [("cpu", cores), ("gpu", 1), ("dla0", 1), ("dla1", 1)]


@pytest.mark.parametrize("soc", SOC_CATALOGUE.values(), ids=SOC_CATALOGUE.keys())
def test_every_chip_is_consistent(soc) -> None:
    assert SOC_CATALOGUE[soc.name] is soc
    assert soc.default_power_mode in soc.power_modes
    full = {pe.name: pe.cores for pe in soc.processing_elements}
    for name, mode in soc.power_modes.items():
        assert name == mode.name
        assert all(1 <= cores <= full[pe] for pe, cores in mode.online_cores.items())
    for pe in soc.processing_elements:
        assert pe.preemptive == (pe.kind not in (PEKind.GPU, PEKind.DLA))


def test_unknown_mode() -> None:
    with pytest.raises(KeyError):
        processing_elements_in(SAFETY_MCU, "MAXN")
