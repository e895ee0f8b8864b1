"""A whole trace as one file, `trace.npz`: every table as columns, names and setup as JSON; no pickle, integers only.

The archive holds `header` (UTF-8 bytes of a JSON document with the schema, names, horizon, seed and setup) and one
array per column, named `table.column`.
"""

from __future__ import annotations

import json
import types
import typing
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rt_sched.errors import DataError
from rt_sched.trace.records import (
    DropTable,
    EdgeName,
    EventTable,
    JobTable,
    SampleTable,
    SliceTable,
    Trace,
    TransferTable,
)
from rt_sched.trace.setup import Setup

TRACE_SCHEMA = "rt-sched/trace/1"
TRACE_FILE = "trace.npz"

_TABLES: dict[str, type] = {
    "jobs": JobTable,
    "slices": SliceTable,
    "drops": DropTable,
    "samples": SampleTable,
    "transfers": TransferTable,
    "events": EventTable,
}
_NAMES = ("task_names", "processor_names", "sensor_names")

Row = TypeVar("Row")


def save_trace(trace: Trace, path: Path) -> None:
    """Write a trace; the same trace gives the same columns on every machine."""
    header = {
        "schema": TRACE_SCHEMA,
        "horizon_ns": trace.horizon_ns,
        "seed": trace.seed,
        **{name: list(getattr(trace, name)) for name in _NAMES},
        "edges": [_plain(edge) for edge in trace.edges],
        "setup": None if trace.setup is None else _plain(trace.setup),
    }
    columns = {
        f"{name}.{column.name}": getattr(getattr(trace, name), column.name)
        for name, table in _TABLES.items()
        for column in fields(table)
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    with path.open("wb") as file:
        np.savez_compressed(file, header=np.frombuffer(text, np.uint8), **columns)


def load_trace(path: Path) -> Trace:
    """Read a trace back. Raises DataError when the file is not there, not a trace, or of another schema."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes().decode("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: is not a trace that rt-sched wrote") from error
    schema = header.get("schema") if isinstance(header, dict) else None
    if schema != TRACE_SCHEMA:
        raise DataError(f"{path}: holds {schema or 'no schema'}; this version reads {TRACE_SCHEMA}")
    try:
        tables: dict[str, Any] = {name: _table(table, name, arrays) for name, table in _TABLES.items()}
        names: dict[str, Any] = {name: tuple(header[name]) for name in _NAMES}
        return Trace(
            **names,
            **tables,
            edges=tuple(_restored(EdgeName, edge) for edge in header["edges"]),
            horizon_ns=header["horizon_ns"],
            seed=header["seed"],
            setup=None if header["setup"] is None else _restored(Setup, header["setup"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: is damaged ({type(error).__name__}: {error})") from error


def _table(table: type[Row], name: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Row:
    return table(**{column.name: arrays[f"{name}.{column.name}"] for column in fields(typing.cast(Any, table))})


def _plain(value: Any) -> Any:
    """Rows as JSON objects, exact numbers as they are written, codes as integers; fields at their default left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: _plain(content) for one in fields(value) if (content := getattr(value, one.name)) != one.default
        }
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Fraction):
        return str(value)
    return int(value) if isinstance(value, IntEnum) else value


def _restored(row: type[Row], values: Mapping[str, Any]) -> Row:
    hints = typing.get_type_hints(row)
    return row(**{name: _value(hints[name], content) for name, content in values.items()})


def _value(hint: Any, content: Any) -> Any:
    """A JSON value as what the annotation of its field asks for."""
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        choices = [one for one in typing.get_args(hint) if one is not type(None)]
        if content is None:
            return None
        listed = isinstance(content, list)
        return _value(next(one for one in choices if (typing.get_origin(one) is tuple) == listed), content)
    if origin is tuple:
        items = typing.get_args(hint)
        each = items[:1] * len(content) if items[-1] is Ellipsis else items
        return tuple(_value(one, item) for one, item in zip(each, content, strict=True))
    if is_dataclass(hint):
        return _restored(typing.cast(Any, hint), content)
    return hint(content) if hint in (Fraction, int, float, str) or issubclass(hint, IntEnum) else content
