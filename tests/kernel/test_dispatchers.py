"""Kernels are loaded from the cache without the compiler, and are the same kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit, types
from numba.core.caching import FunctionCache

from rt_sched.kernels.compiling import dispatchers

ROOT = Path(__file__).resolve().parents[2]
KERNELS = """
from rt_sched.kernels.compiling.kernel import cached

@cached(nogil=True)
def weighted(values, weight):
    total = 0.0
    for place in range(len(values)):
        total += values[place] * weight + place // 3
    return total

@cached()
def folded(word):
    return hash(word)
"""
#: Says what kernels gave, whether they lay in the cache, and whether the compiler was loaded.
CALL = """
import json, sys
import numba
import numpy as np
{prelude}
import kernels
values = np.linspace(0, 1, 7)
given = [kernels.weighted(values, 0.3) {more}]
used = [one.dispatcher for one in (kernels.weighted, kernels.folded) if one.dispatcher.signatures]
held = [bool(one.stats.cache_hits) for one in used]
print(json.dumps([given, held, "numba.np.linalg" in sys.modules]))
"""
HASHED = ", kernels.folded('deadline')"
COMPILED = ", numba.njit(lambda x: x * 3)(np.float32(2)), kernels.weighted(values, 2)"
ANOTHER_NUMBA = "numba.version_info = numba.version_info._replace(short=(0, 1))"


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """Runs a program with the kernels in a process of its own; they are compiled by the first that calls them."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.py").write_text(KERNELS)

    def run(more="", prelude=""):
        ended = subprocess.run(
            [sys.executable, "-c", CALL.format(more=more, prelude=prelude)],
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "PYTHONHASHSEED": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    compiled = run(HASHED)
    assert compiled[1:] == [[False, False], True]
    run.compiled = compiled[0]
    return run


def test_what_lies_in_the_cache_needs_no_compiler(call):
    given, held, compiler = call()
    assert given == call.compiled[:1]
    assert (held, compiler) == ([True], False)


def test_what_hashes_needs_what_only_the_compiler_defines(call):
    assert call(HASHED) == [call.compiled, [True, True], True]


def test_after_one_was_loaded_others_can_be_compiled(call):
    given, held, compiler = call(COMPILED)
    assert given[:2] == [call.compiled[0], 6.0]
    assert given[2] == pytest.approx(2 / 0.3 * (given[0] - 5) + 5)
    assert (held, compiler) == ([True], True)


def test_with_another_numba_kernels_are_loaded_as_it_does_it(call):
    assert call(prelude=ANOTHER_NUMBA) == [call.compiled[:1], [True], True]


def test_the_installed_numba_was_tried():
    kernel = dispatchers.dispatcher_of(_nothing, kept=True)
    assert isinstance(kernel, type(njit(_nothing)))
    assert type(kernel._cache) is not FunctionCache


def test_without_a_folder_for_caches_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(dispatchers, "CACHE", False)
    kernel = dispatchers.dispatcher_of(_nothing, kept=True, nogil=True)
    assert kernel(types.int64.bitwidth) == 64
    assert not kernel.stats.cache_path


def _nothing(value):
    return value
