"""The arbiter's transitions as a table: for every state and all facts exactly one row, and that row decides.

Facts that a row does not name are of no account to it. Rows do not overlap, so their order means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from rt_sched.messages.control import ArbiterState


class Fact(str, Enum):
    """What the arbiter knows in one cycle, true or false; the value is how documents say it."""

    PRIMARY = "primary trusted"
    BACKUP = "backup trusted"
    STALE = "a monitored view is stale"
    STARTUP = "start-up grace, nothing trusted yet"
    OVERDUE = "no trusted path for too long"
    RELEASED = "release requested"


class Choice(str, Enum):
    """Whose command goes to the actuators, before emergency braking is looked at."""

    PRIMARY = "primary"
    BACKUP = "backup"
    HOLD = "hold"
    MINIMAL_RISK = "minimal_risk"


@dataclass(frozen=True, slots=True)
class Row:
    """In one of `states`, with these values of facts: go to `to` and pass on the command of `choice`."""

    name: str
    states: frozenset[ArbiterState]
    needs: Mapping[Fact, bool] = field(compare=False)
    to: ArbiterState
    choice: Choice
    why: str

    def fits(self, state: ArbiterState, facts: Mapping[Fact, bool]) -> bool:
        """Whether the row applies."""
        return state in self.states and all(facts[fact] == value for fact, value in self.needs.items())


_LATCHED = frozenset({ArbiterState.MINIMAL_RISK})
_OPEN = frozenset(ArbiterState) - _LATCHED

TABLE: tuple[Row, ...] = (
    Row(
        "latched",
        _LATCHED,
        {Fact.RELEASED: False},
        ArbiterState.MINIMAL_RISK,
        Choice.MINIMAL_RISK,
        "latched",
    ),
    Row(
        "release refused",
        _LATCHED,
        {Fact.RELEASED: True, Fact.PRIMARY: False, Fact.BACKUP: False},
        ArbiterState.MINIMAL_RISK,
        Choice.MINIMAL_RISK,
        "release refused, no path is trusted",
    ),
    Row(
        "released to the primary path",
        _LATCHED,
        {Fact.RELEASED: True, Fact.PRIMARY: True},
        ArbiterState.DEGRADED,
        Choice.PRIMARY,
        "released",
    ),
    Row(
        "released to the backup path",
        _LATCHED,
        {Fact.RELEASED: True, Fact.PRIMARY: False, Fact.BACKUP: True},
        ArbiterState.BACKUP,
        Choice.BACKUP,
        "released",
    ),
    Row(
        "nominal",
        _OPEN,
        {Fact.PRIMARY: True, Fact.STALE: False},
        ArbiterState.NOMINAL,
        Choice.PRIMARY,
        "primary path trusted",
    ),
    Row(
        "a view is missing",
        _OPEN,
        {Fact.PRIMARY: True, Fact.STALE: True},
        ArbiterState.DEGRADED,
        Choice.PRIMARY,
        "stale",
    ),
    Row(
        "primary path lost",
        _OPEN,
        {Fact.PRIMARY: False, Fact.BACKUP: True},
        ArbiterState.BACKUP,
        Choice.BACKUP,
        "",
    ),
    Row(
        "starting",
        _OPEN,
        {Fact.PRIMARY: False, Fact.BACKUP: False, Fact.STARTUP: True},
        ArbiterState.STARTING,
        Choice.HOLD,
        "",
    ),
    Row(
        "both paths lost",
        _OPEN,
        {Fact.PRIMARY: False, Fact.BACKUP: False, Fact.STARTUP: False, Fact.OVERDUE: False},
        ArbiterState.DEGRADED,
        Choice.HOLD,
        "no trusted path",
    ),
    Row(
        "minimal risk",
        _OPEN,
        {Fact.PRIMARY: False, Fact.BACKUP: False, Fact.STARTUP: False, Fact.OVERDUE: True},
        ArbiterState.MINIMAL_RISK,
        Choice.MINIMAL_RISK,
        "no trusted path for too long",
    ),
)

#: What applies should the table have no row, which the tests exclude: the safe end.
NO_ROW = Row("no row", frozenset(ArbiterState), {}, ArbiterState.MINIMAL_RISK, Choice.MINIMAL_RISK, "no rule applies")


def row_for(state: ArbiterState, facts: Mapping[Fact, bool], table: Sequence[Row] = TABLE) -> Row:
    """The row that applies."""
    return next((row for row in table if row.fits(state, facts)), NO_ROW)


def table_as_markdown(table: Sequence[Row] = TABLE) -> str:
    """The table as the documents show it, one line per row."""
    facts = tuple(Fact)
    lines = [
        "| rule | in | " + " | ".join(fact.value for fact in facts) + " | goes to | commands |",
        "|---" * (len(facts) + 4) + "|",
    ]
    for row in table:
        states = "any other" if row.states == _OPEN else ", ".join(sorted(state.value for state in row.states))
        cells = [{True: "yes", False: "no", None: ""}[row.needs.get(fact)] for fact in facts]
        lines.append(f"| {row.name} | {states} | {' | '.join(cells)} | {row.to.value} | {row.choice.value} |")
    return "\n".join(lines) + "\n"
