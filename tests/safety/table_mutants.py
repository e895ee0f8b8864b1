"""Every change of one cell of the arbiter's table, and whether it can change anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from rt_sched.messages.control import ArbiterState
from safety.transitions import TABLE, Choice, Fact, Row, row_for


def situations() -> Iterator[tuple[ArbiterState, dict[Fact, bool]]]:
    for state, values in product(ArbiterState, product((False, True), repeat=len(Fact))):
        yield state, dict(zip(Fact, values, strict=True))


def can_be(state: ArbiterState, facts: dict[Fact, bool]) -> bool:
    """Trust ends both the start and the waiting; the waiting begins after the start, and only it leaves STARTING."""
    trusted = facts[Fact.PRIMARY] or facts[Fact.BACKUP]
    if facts[Fact.STARTUP] and state not in (ArbiterState.STARTING, ArbiterState.MINIMAL_RISK):
        return False
    return not (facts[Fact.STARTUP] and facts[Fact.OVERDUE]) and not (
        trusted and (facts[Fact.STARTUP] or facts[Fact.OVERDUE])
    )


def mutants() -> Iterator[tuple[str, tuple[Row, ...]]]:
    """One change of one cell each, and each row left out; those that change nothing that can be are not wrong."""
    for index, row in enumerate(TABLE):
        changed = [replace(row, to=to) for to in ArbiterState if to is not row.to]
        changed += [replace(row, choice=choice) for choice in Choice if choice is not row.choice]
        changed += [replace(row, states=row.states ^ {state}) for state in ArbiterState]
        for fact in Fact:
            others = {key: value for key, value in row.needs.items() if key is not fact}
            for value in (None, False, True):
                if value != row.needs.get(fact):
                    changed.append(replace(row, needs=others if value is None else {**others, fact: value}))
        for other in changed:
            # A row that grew must win over its neighbours to show.
            yield f"{row.name}: {other}", (other, *TABLE[:index], *TABLE[index + 1 :])
        yield f"without {row.name}", (*TABLE[:index], *TABLE[index + 1 :])


def differs(table: tuple[Row, ...]) -> bool:
    return any(
        (row_for(state, facts, table).to, row_for(state, facts, table).choice)
        != (row_for(state, facts).to, row_for(state, facts).choice)
        for state, facts in situations()
        if can_be(state, facts)
    )
