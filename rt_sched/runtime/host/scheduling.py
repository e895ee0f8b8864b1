"""Scheduling classes of threads, by sched_setattr(2): set, read, and restored."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import IntFlag

from rt_sched.runtime.host.libc import system_call
from rt_sched.runtime.host.scheduling_class import Scheduling, SchedulingClass
from rt_sched.runtime.host.scheduling_refusal import why_refused

__all__ = ["Scheduling", "SchedulingClass", "scheduled", "scheduling_of", "set_scheduling"]


class _Flag(IntFlag):
    RESET_ON_FORK = 1
    DL_OVERRUN = 4


class _SchedAttr(ctypes.Structure):
    """struct sched_attr in its first version, which all kernels since 3.14 take."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def scheduling_of(tid: int = 0) -> Scheduling:
    """The class of a thread as the kernel has it; 0 stands for the calling one. Raises OSError when it is gone."""
    attr = _SchedAttr()
    system_call("sched_getattr", tid, ctypes.byref(attr), ctypes.sizeof(attr), 0)
    found = SchedulingClass(attr.policy)
    is_deadline = found is SchedulingClass.DEADLINE
    return Scheduling(
        found,
        priority=attr.priority,
        nice=0 if found.is_real_time else attr.nice,
        runtime_ns=attr.runtime if is_deadline else 0,
        deadline_ns=attr.deadline if is_deadline else 0,
        period_ns=attr.period if is_deadline else 0,
        reset_on_fork=bool(attr.flags & _Flag.RESET_ON_FORK),
        overrun_signal=bool(attr.flags & _Flag.DL_OVERRUN),
    )


def set_scheduling(wanted: Scheduling, tid: int = 0) -> None:
    """Gives a thread a class. Raises Refused, which says what is missing, and ProcessLookupError when it is gone."""
    try:
        _set(wanted, tid)
    except ProcessLookupError:
        raise
    except OSError as error:
        raise why_refused(wanted, tid, error) from error


@contextmanager
def scheduled(wanted: Scheduling) -> Iterator[None]:
    """The calling thread has the class `wanted` meanwhile, and then its own again.

    Whoever lacks CAP_SYS_NICE cannot take RESET_ON_FORK back; the thread keeps that flag then.
    """
    before = scheduling_of()
    set_scheduling(wanted)
    try:
        yield
    finally:
        try:
            _set(before, 0)
        except PermissionError:
            if before.reset_on_fork or not wanted.reset_on_fork:
                raise
            _set(replace(before, reset_on_fork=True), 0)


def _set(wanted: Scheduling, tid: int) -> None:
    flags = _Flag.RESET_ON_FORK if wanted.reset_on_fork else _Flag(0)
    if wanted.overrun_signal:
        flags |= _Flag.DL_OVERRUN
    attr = _SchedAttr(
        size=ctypes.sizeof(_SchedAttr),
        policy=wanted.scheduling_class,
        flags=flags,
        nice=wanted.nice,
        priority=wanted.priority,
        runtime=wanted.runtime_ns,
        deadline=wanted.deadline_ns,
        period=wanted.period_ns,
    )
    system_call("sched_setattr", tid, ctypes.byref(attr), 0)
