"""A broken rule of the kernel is noticed; the whole list of mutations is part of the evidence."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "evidence"))

from mutation import Mutation  # noqa: E402
from mutation_list import MUTATIONS  # noqa: E402
from mutations import run  # noqa: E402

SAMPLE = (
    "expiries before arrivals",
    "a non-preemptive processor does not preempt",
    "jobs are preempted at slice ends",
    "enforcement waits for the release of locks",
    "keys are inherited at all",
    "work left is rounded up",
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.says)
def test_every_mutation_still_has_its_place(mutation: Mutation) -> None:
    text = (ROOT / "rt_sched" / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1
    assert text.replace(mutation.old, mutation.new) != text


def test_mutations_break_every_rule_of_the_semantics() -> None:
    assert {mutation.rule for mutation in MUTATIONS} == set(range(1, 19))
    assert len({mutation.says for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("says", SAMPLE)
def test_a_broken_rule_is_noticed(says: str) -> None:
    (mutation,) = (mutation for mutation in MUTATIONS if mutation.says == says)
    assert run(mutation, systems=150, more=0)["caught"]
