"""Who waits for a compiler is told so, once; who does not wait is not."""

import pytest
from numba import njit

from rt_sched.kernels.compiling import numba_cache
from rt_sched.kernels.compiling.waiting import told_before_compiling


@pytest.mark.parametrize("kept", [True, False])
def test_the_first_compilation_is_told_before_it_begins(monkeypatch, kept):
    monkeypatch.setattr(numba_cache, "CACHE", kept)
    said = []

    @njit
    def twice(x):
        return 2 * x

    with told_before_compiling(lambda kept: said.append((kept, len(twice.signatures)))):
        assert said == []
        twice(1)
        twice(1.5)
    assert said == [(kept, 0)]


def test_what_is_compiled_already_is_not_told():
    said = []
    twice = njit(lambda x: 2 * x)
    twice(1)
    with told_before_compiling(said.append):
        assert twice(2) == 4
    assert said == []
    njit(lambda x: x)(1)
    assert said == []
