"""JSON documents that earlier commands wrote, read back with a clear word on what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rt_sched.errors import DataError

#: Larger files are no documents of ours.
MAX_BYTES = 256 << 20


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises DataError, with line and column where the text is no JSON."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{path}: is larger than any document that rt-sched writes ({MAX_BYTES >> 20} MiB)")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not a text in UTF-8 (byte {error.start})") from error
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}:{error.colno}  is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise DataError(f"{path}: is nested too deeply") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: holds no JSON object")
    return found


def named_rows(document: Mapping[str, Any], key: str, file: str) -> list[dict[str, Any]]:
    """The rows under `key`, each with a name; none where it is missing. Raises DataError for anything else."""
    rows = document.get(key) or []
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows
    ):
        raise DataError(f"{file}: {key} is not a list of objects with names, so it is no document that rt-sched wrote")
    return rows
