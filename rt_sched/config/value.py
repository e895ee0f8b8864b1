"""A reader of one value together with the JSON Schema of what it accepts, so that neither goes without the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from rt_sched.config.problems import Problems
from rt_sched.config.yaml_nodes import Node

T = TypeVar("T")
Reader = Callable[[Node, Problems], T | None]
Schema = Mapping[str, Any]


class Value(Generic[T]):
    """Called with a node, it returns the value, or None after adding the reason to the problems.

    `schema`: a JSON Schema; where it holds another table's schema it names that table's `Spec` under the key "$spec".
    """

    def __init__(self, read: Reader[T], schema: Schema) -> None:
        self._read = read
        self.schema = schema
        self.__doc__ = read.__doc__

    def __call__(self, node: Node, problems: Problems) -> T | None:
        return self._read(node, problems)


def value(schema: Schema) -> Callable[[Reader[T]], Value[T]]:
    """Decorates a reader with the schema of what it accepts."""
    return lambda read: Value(read, schema)


def list_of(item: Schema, least: int = 1, most: int | None = None) -> Schema:
    """The schema of a list of at least and at most so many elements."""
    return {"type": "array", "items": item, "minItems": least, **({} if most is None else {"maxItems": most})}
