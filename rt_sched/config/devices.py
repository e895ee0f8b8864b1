"""The devices of a system and their processing elements, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rt_sched.model import Device, ProcessingElement


class Devices(Mapping[str, Device]):
    """Device name -> device, in file order. Every task asks for elements, so they are not looked through for that."""

    def __init__(self, by_name: Mapping[str, Device]) -> None:
        self._by_name = by_name
        self._elements = {
            name: {element.name: element for element in device.processing_elements} for name, device in by_name.items()
        }

    def __getitem__(self, name: str) -> Device:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def elements(self, device: str) -> Mapping[str, ProcessingElement]:
        """The elements of a device by name; none where there is no such device."""
        return self._elements.get(device, {})

    def element(self, pe: tuple[str, str]) -> ProcessingElement | None:
        """The processing element (device, name), None when there is none."""
        return self.elements(pe[0]).get(pe[1])

    @property
    def every_pe(self) -> list[str]:
        """The names of all processing elements, as `runs_on` takes them."""
        return [f"{device}.{element}" for device, elements in self._elements.items() for element in elements]
