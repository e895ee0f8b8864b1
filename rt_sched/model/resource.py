"""Shared resources and the critical sections in which tasks hold them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Protocol(str, Enum):
    """How a resource is locked. `none` changes no priority: its inversion is unbounded."""

    PRIORITY_INHERITANCE = "priority_inheritance"
    PRIORITY_CEILING = "priority_ceiling"
    MSRP = "msrp"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SharedResource:
    """Something that one job at a time may hold."""

    name: str
    protocol: Protocol


@dataclass(frozen=True, slots=True)
class CriticalSection:
    """A job holds `resource` from `start_ns` to `end_ns` of its executed time. Sections nest."""

    resource: str
    start_ns: int
    end_ns: int
