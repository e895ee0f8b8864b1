"""Mutations of the scheduling kernel: each breaks one rule of the semantics by a replacement of its text."""

from __future__ import annotations

from mutation import Mutation
from mutations_of_budgets import BUDGET_MUTATIONS
from mutations_of_dispatch import DISPATCH_MUTATIONS
from mutations_of_messages import MESSAGE_MUTATIONS

MUTATIONS: tuple[Mutation, ...] = (*DISPATCH_MUTATIONS, *BUDGET_MUTATIONS, *MESSAGE_MUTATIONS)
