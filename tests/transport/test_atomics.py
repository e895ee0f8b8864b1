"""What the accesses of a ring are to other processors, those of x86-64 and of ARM."""

import ast
import re
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit

from rt_sched.kernels.ring import atomics, bell, read, write

ACCESSES = {
    "load": njit("int64(int64)")(lambda address: atomics.load(address)),
    "store": njit("void(int64, int64)")(lambda address, value: atomics.store(address, value)),
    "fence": njit("void()")(lambda: atomics.fence()),
    "load_half": njit("int64(int64)")(lambda address: atomics.load_half(address)),
    "increase_half": njit("void(int64)")(lambda address: atomics.increase_half(address)),
}


def text(name):
    """LLVM's code of an access."""
    (code,) = ACCESSES[name].inspect_llvm().values()
    return code


def assembly(name, triple, features=""):
    """What LLVM makes of an access for a processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        machine = llvm.Target.from_triple(triple).create_target_machine(features=features, opt=2)
    except RuntimeError as error:
        pytest.skip(f"this llvmlite has no {triple}: {error}")
    code = re.sub(r"target (triple|datalayout) = .*", "", text(name))
    module = llvm.parse_assembly(code)
    module.triple = triple
    module.data_layout = str(machine.target_data)
    return machine.emit_assembly(module)


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("load", r"load atomic i64, ptr \S+ acquire, align 8"),
        ("store", r"store atomic i64 \S+, ptr \S+ release, align 8"),
        ("fence", r"fence seq_cst"),
        ("load_half", r"load atomic i32, ptr \S+ acquire, align 4"),
        ("increase_half", r"atomicrmw add ptr \S+, i32 1 seq_cst"),
    ],
)
def test_an_access_is_one_atomic_instruction(name, instruction):
    assert len(re.findall(instruction, text(name))) == 1


@pytest.mark.parametrize(
    ("name", "instruction"),
    [("load", "ldar"), ("store", "stlr"), ("fence", r"dmb\s+ish\b"), ("load_half", "ldar"), ("increase_half", "ldaxr")],
)
def test_on_arm_it_is_ordered(name, instruction):
    """Plain loads and stores (ldr, str) would let ARM deliver a message before its content."""
    assert re.search(rf"^\s+{instruction}", assembly(name, "aarch64-linux-gnu"), re.MULTILINE)


@pytest.mark.parametrize(("name", "instruction"), [("fence", "mfence|lock"), ("increase_half", "lock")])
def test_on_x86_64_stores_do_not_overtake_later_loads(name, instruction):
    assert re.search(rf"^\s+({instruction})", assembly(name, "x86_64-linux-gnu"), re.MULTILINE)


def test_accesses_reach_memory():
    memory = np.array([5, -1, 0xFFFFFFFF], np.int64)
    address = memory.ctypes.data
    ACCESSES["store"](address + 8, ACCESSES["load"](address) + 2)
    assert memory.tolist() == [5, 7, 0xFFFFFFFF]
    assert ACCESSES["load_half"](address + 16) == 0xFFFFFFFF
    ACCESSES["increase_half"](address + 16)  # from the largest value on to 0, and not into the upper half
    assert memory[2] == 0


@pytest.mark.parametrize("module", [read, write, bell])
def test_operations_reach_memory_in_no_other_way(module):
    """They get addresses, which only the atomics can follow: there is no indexing, no attribute, no array."""
    tree = ast.parse(Path(module.__file__).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert functions
    for function in functions:
        assert not [node for node in ast.walk(function) if isinstance(node, ast.Subscript | ast.Attribute)]
