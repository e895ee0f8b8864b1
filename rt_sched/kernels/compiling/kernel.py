"""Kernels: functions that numba compiles when they are first called, and loads only then.

Importing a kernel costs nothing but Python. What a command never calls is never loaded, and what it calls for a moment
can be carried out by Python (`Kernel.interpreted`) while numba itself would take longer to import.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any


class Kernel:
    """A function in the part of Python that numba compiles. `kept`: in the cache of this installation.

    Other kernels that call it are compiled against it as if numba had decorated it directly.
    """

    def __init__(self, function: Callable[..., Any], *, kept: bool, **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._kept, self._options = kept, options

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba made of the function."""
        from rt_sched.kernels.compiling import dispatchers

        return dispatchers.dispatcher_of(self.py_func, kept=self._kept, **self._options)

    @functools.cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The same function carried out by Python, with all kernels that it calls.

        For integers within int64 and operations that numba and Python share, as in `kernels.rta`: same results, a few
        hundred times slower.
        """
        function: Any = self.py_func
        meant = {name: _interpreted(function.__globals__[name]) for name in _names(function)}
        cells = tuple(CellType(_interpreted(cell.cell_contents)) for cell in function.__closure__ or ())
        return FunctionType(
            function.__code__, function.__globals__ | meant, function.__name__, function.__defaults__, cells
        )

    @property
    def _numba_type_(self) -> Any:
        """Asked by numba where another kernel refers to this one."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)


def cached(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator of a kernel, compiled with these options of `numba.njit` and kept in the cache."""
    return lambda function: Kernel(function, kept=True, **options)


def uncached(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator of a kernel that only kernels call, and that is compiled into them."""
    return lambda function: Kernel(function, kept=False, **options)


def _names(function: Any) -> list[str]:
    return [name for name in function.__code__.co_names if name in function.__globals__]


def _interpreted(value: Any) -> Any:
    return value.interpreted if isinstance(value, Kernel) else value
