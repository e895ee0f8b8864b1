"""Who waits for a compiler is told so, once; who does not wait is not."""

from numba import njit

from rt_sched.kernels.numba_cache import told_before_compiling


def test_the_first_compilation_is_told_before_it_begins():
    said = []

    @njit
    def twice(x):
        return 2 * x

    with told_before_compiling(lambda: said.append(len(twice.signatures))):
        assert said == []
        twice(1)
        twice(1.5)
    assert said == [0]


def test_what_is_compiled_already_is_not_told():
    said = []
    twice = njit(lambda x: 2 * x)
    twice(1)
    with told_before_compiling(lambda: said.append("compiling")):
        assert twice(2) == 4
    assert said == []
    njit(lambda x: x)(1)
    assert said == []
