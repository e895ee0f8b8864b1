"""Which cores of this host stand for a modelled processing element in a paced run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deployment:
    """`pe`: (device, processing element). `cores`: host core of each of its cores, by the numbers that Linux gives.

    Elements may share a core: then what they do delays each other, and times say nothing about the devices.
    """

    pe: tuple[str, str]
    cores: tuple[int, ...]
