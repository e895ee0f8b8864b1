"""Kernels that a process loads from the cache without loading the compiler.

numba prepares its compiler before it looks into a cache: it imports what every function that a kernel could call is
compiled to, scipy.linalg among it, which takes longer than to analyse an example. Machine code that lies in the cache
needs none of that, and numba does the same again before it compiles anything. So a kernel's cache is asked first here,
and numba goes its ordinary way only for kernels that are not in it.

This reaches into numba, whose insides may change: it is done for the versions it was tried with, and with any other one
kernels are loaded as numba does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

from rt_sched.kernels.compiling.numba_cache import CACHE

#: Versions of numba, without the last number, that load machine code as `_QuickCache` expects.
_TRIED = ((0, 68),)
#: Part of the names of what only the compiler defines for machine code; kernels that hash something refer to it.
_DEFINED_BY_COMPILER = b"_numba_hashsecret_"


def dispatcher_of(function: Callable[..., Any], *, kept: bool, **options: Any) -> Any:
    """What `numba.njit` makes of a function with these options; `kept`: in the cache of this installation."""
    made = numba.njit(cache=kept and CACHE, **options)(function)
    if numba.version_info.short in _TRIED and isinstance(getattr(made, "_cache", None), FunctionCache):
        made._cache = _QuickCache(function)
    return made


class _QuickCache(FunctionCache):
    """Gives what the cache of numba gives, and prepares the compiler only for what it does not hold."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with self._guard_against_spurious_io_errors():
            held = self._cache_file.load(self._index_key(sig, target_context.codegen())) if self._enabled else None
            if held is not None and not _needs_compiler(held):
                rtsys.initialize(target_context)
                return self._impl.rebuild(target_context, held)
        return super().load_overload(sig, target_context)


def _needs_compiler(held: Any) -> bool:
    (_name, _kind, machine_code), *_rest = held
    return any(_DEFINED_BY_COMPILER in part for part in machine_code)
