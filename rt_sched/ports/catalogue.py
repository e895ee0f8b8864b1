"""What a loader of system files needs to know about stages, without importing them itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StageParameter:
    """One keyword parameter of a stage's constructor. `default` means nothing when `required`."""

    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class StageDescription:
    """What a stage class declares.

    `inputs`, `outputs`: port name -> message type; an input name that ends in `*` is a pattern.
    `optional_inputs`: names out of `inputs` that a system file may leave unconnected (patterns always may be).
    `parameters`: name -> parameter; `open_parameters`: any other name is accepted too. `sensor_parameters`: those that
    name sensors -> the kinds of sensor that they may name.
    """

    inputs: Mapping[str, type]
    outputs: Mapping[str, type]
    stateful: bool
    parameters: Mapping[str, StageParameter]
    optional_inputs: frozenset[str] = frozenset()
    open_parameters: bool = False
    sensor_parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class StageCatalogue(Protocol):
    """Answers questions about stages named "module:Class"."""

    def describe(self, stage: str) -> StageDescription | str:
        """The stage's declaration, or what is wrong with the name, as one sentence for the user."""

    def check_parameters(self, stage: str, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Why the stage refuses these parameter values: one complaint for each value where they can be told apart, as
        "name: what is wrong". Asked only for stages that `describe` knows."""
