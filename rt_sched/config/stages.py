"""The keys `stage` and `parameters` of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rt_sched.config import fields
from rt_sched.config.problems import lacking, quoted
from rt_sched.config.table import Table, mapping_entries
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
    table: Table, stage: str, description: StageDescription | None, stages: StageCatalogue
) -> tuple[tuple[str, Any], ...]:
    node = table.get("parameters")
    entries = {} if node is None else mapping_entries(node, "parameters", table.problems)
    values = {key: fields.plain_value(entry.value, table.problems) for key, entry in entries.items()}
    if description is not None and (node is None or node.is_mapping):
        place = node or table.node
        complaints = _parameter_name_complaints(values, description)
        for key, message in complaints:
            table.problems.add(entries[key].key if key in entries else place, message)
        refusal = None if complaints else stages.check_parameters(stage, values)
        if refusal is not None:
            named = re.match(r"(\w+): (.*)", refusal, re.DOTALL)
            if named and named[1] in entries:
                table.problems.add(entries[named[1]].value, named[2])
            else:
                table.problems.add(place, f"{stage} refuses its parameters: {refusal}")
    return tuple(sorted(values.items()))


def _parameter_name_complaints(values: Mapping[str, Any], description: StageDescription) -> list[tuple[str, str]]:
    known = description.parameters
    misspelt = [] if description.open_parameters else [key for key in values if key not in known]
    missing = [key for key, parameter in known.items() if parameter.required and key not in values]
    return [
        *((key, lacking("this stage", "parameter", key, known)) for key in misspelt),
        *((key, f"the stage needs the parameter {key!r}") for key in missing),
    ]
