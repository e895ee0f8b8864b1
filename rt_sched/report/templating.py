"""What the templates of all reports share: the environment, and how names and missing values are written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(**filters: Callable[..., Any]) -> Environment:
    """Templates of the package: everything is escaped, and a name that does not exist is a mistake."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("rt_sched.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(cell=cell, breakable=breakable, filled=sort_key, **filters)
    return made


def cell(text: str) -> str:
    """What stands in a cell without a value."""
    return text or "–"


def breakable(name: str) -> Markup:
    """A name that may be broken after its separators."""
    return Markup("<wbr>").join(re.split(r"(?<=[_./-])", name))


def sort_key(value: float | None) -> float:
    """Where a value stands when its column is sorted; what is missing stands below everything measured."""
    return -1 if value is None else value
