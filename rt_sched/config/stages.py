"""The keys `stage` and `parameters` of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rt_sched.config import fields
from rt_sched.config.problems import Problems, lacking, listed, quoted, unknown
from rt_sched.config.table import Table, mapping_entries
from rt_sched.config.yaml_nodes import Node
from rt_sched.ports import StageCatalogue, StageDescription

_STAGE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"
STAGE_SCHEMA = {"type": "string", "pattern": f"^{_STAGE}$"}


def read_stage(
    table: Table, stages: StageCatalogue, descriptions: dict[str, StageDescription | str]
) -> tuple[str, StageDescription | None]:
    node = table.get("stage")
    stage = fields.text(node, table.problems) if node else None
    if node is None or stage is None:
        return "", None
    if re.fullmatch(_STAGE, stage, re.ASCII) is None:
        message = f"{quoted(stage)} does not name a stage; write module:Class, such as pipelines.camera:Preprocess"
        table.problems.add(node, message)
        return stage, None
    if stage not in descriptions:
        descriptions[stage] = stages.describe(stage)
    description = descriptions[stage]
    if isinstance(description, str):
        table.problems.add(node, description)
        return stage, None
    return stage, description


def read_parameters(
    table: Table,
    stage: str,
    description: StageDescription | None,
    stages: StageCatalogue,
    sensors: Mapping[str, str | None],
) -> tuple[tuple[str, Any], ...]:
    """The parameters of the task in `table`. `sensors`: name -> kind, None where the file does not say it rightly."""
    return read_changed_parameters(table, stage, description, stages, sensors, replaced={})


def read_changed_parameters(
    table: Table,
    stage: str,
    description: StageDescription | None,
    stages: StageCatalogue,
    sensors: Mapping[str, str | None],
    *,
    replaced: Mapping[str, Any],
) -> tuple[tuple[str, Any], ...]:
    """The parameters in `table`, which stand in for some of `replaced`; the stage is asked about all together."""
    node = table.get("parameters")
    entries = {} if node is None else mapping_entries(node, "parameters", table.problems)
    values = {key: fields.plain_value(entry.value, table.problems) for key, entry in entries.items()}
    if description is not None and (node is None or node.is_mapping):
        place = node or table.node
        together = {**replaced, **values}
        complaints = [one for one in _parameter_name_complaints(together, description) if one[0] not in replaced]
        for key, message in complaints:
            table.problems.add(entries[key].key if key in entries else place, message)
        usable = {key: value for key, value in together.items() if key not in dict(complaints)}
        lacks = any(key not in entries for key, _ in complaints)
        for refusal in () if lacks else stages.check_parameters(stage, usable):
            named = re.match(r"(\w+): (.*)", refusal, re.DOTALL)
            if named and named[1] in entries:
                table.problems.add(entries[named[1]].value, named[2])
            elif named is None or named[1] not in replaced:
                table.problems.add(place, f"{stage} refuses its parameters: {refusal}")
        for key in description.sensor_parameters.keys() & entries.keys():
            _check_sensors(entries[key].value, description.sensor_parameters[key], sensors, table.problems)
    return tuple(sorted(values.items()))


def _check_sensors(node: Node, kinds: tuple[str, ...], sensors: Mapping[str, str | None], problems: Problems) -> None:
    """Report names of sensors that are none, or of another kind than a parameter may name."""
    if node.is_mapping:
        places = [entry.key for entry in node.entries.values()]
    else:
        places = list(node.items) if node.is_sequence else [node]
    valid = [name for name, kind in sensors.items() if kind is None or kind in kinds]
    for place in places:
        if not place.is_scalar or place.scalar_type != "str" or place.text in valid:
            continue
        if place.text in sensors:
            problems.add(place, f"{quoted(place.text)} is a {sensors[place.text]}; valid: {listed(valid)}")
        else:
            problems.add(place, unknown(" or ".join(kinds), place.text, valid))


def _parameter_name_complaints(values: Mapping[str, Any], description: StageDescription) -> list[tuple[str, str]]:
    known = description.parameters
    misspelt = [] if description.open_parameters else [key for key in values if key not in known]
    missing = [key for key, parameter in known.items() if parameter.required and key not in values]
    return [
        *((key, lacking("this stage", "parameter", key, known)) for key in misspelt),
        *((key, f"the stage needs the parameter {key!r}") for key in missing),
    ]
