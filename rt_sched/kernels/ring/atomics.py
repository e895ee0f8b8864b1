"""Atomic accesses to words of memory at bare addresses, with the order that other processors may rely on.

Each becomes one atomic instruction of LLVM, and from there what the processor needs: plain moves and a locked operation
on x86-64, acquiring and releasing accesses and barriers on ARM. Memory model: that of C++11 (ISO/IEC 14882, [atomics]).
Addresses are int64, aligned to the size of the word.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

#: Its declared type knows the signature of what it decorates, not of what it makes.
intrinsic: Any = extending.intrinsic

_WORD = ir.IntType(64)
_HALF = ir.IntType(32)


@intrinsic
def load(_context, _address):
    """int64 at an address: what the store that is read from released is visible from here on (acquire)."""

    def code(_, builder, _signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(types.int64), code


@intrinsic
def store(_context, _address, _value):
    """Writes int64: who reads it also sees everything before (release)."""

    def code(_, builder, _signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        builder.store_atomic(arguments[1], pointer, "release", 8)

    return types.void(types.int64, types.int64), code


@intrinsic
def fence(_context):
    """A full barrier: of two processors that each store, fence and load, one sees the store of the other."""

    def code(_, builder, _signature, _arguments):
        builder.fence("seq_cst")

    return types.void(), code


@intrinsic
def load_half(_context, _address):
    """uint32 at an address as int64, acquiring."""

    def code(_, builder, _signature, arguments):
        pointer = builder.inttoptr(arguments[0], _HALF.as_pointer())
        return builder.zext(builder.load_atomic(pointer, "acquire", 4), _WORD)

    return types.int64(types.int64), code


@intrinsic
def increase_half(_context, _address):
    """Adds one to the uint32 at an address, modulo 2^32, in one step that is a full barrier."""

    def code(_, builder, _signature, arguments):
        pointer = builder.inttoptr(arguments[0], _HALF.as_pointer())
        builder.atomic_rmw("add", pointer, _HALF(1), "seq_cst")

    return types.void(types.int64), code
