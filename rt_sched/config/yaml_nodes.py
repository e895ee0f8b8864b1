"""YAML text as nodes that know their line and column. No values are built from it, so nothing in a file can run code.

Aliases share nodes, so a small text can stand for a huge tree. Its expanded size is computed without expanding it and
refused above a limit.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rt_sched.config.problems import MAX_VALUE_SHOWN, Problems, quoted
from rt_sched.config.yaml_events import CORE, MAX_LEVELS, MERGE, Raw, compose

MAX_FILE_BYTES = 16 * 2**20
MAX_EXPANDED_NODES = 2_000_000
_SCALAR_TAGS = {CORE + name: name for name in ("str", "int", "float", "bool", "null")}


class Node:
    """One value of the file. `line` and `column` count from 1; `path` such as tasks.fuse.inputs[2].

    For a value behind an alias, line and column are those of the anchor: the text to change stands there.
    """

    def __init__(self, raw: Raw, path: str, key: Node | None = None) -> None:
        self._raw = raw
        self.path = path
        # The parser places an absent value at whatever follows it; its key is where the reader looks.
        at_key = key is not None and self.is_null and not raw.value
        self.line: int = key.line if key and at_key else raw.line
        self.column: int = key.column if key and at_key else raw.column

    @property
    def raw(self) -> Raw:
        """The node as parsed; nodes behind aliases share it."""
        return self._raw

    @property
    def is_mapping(self) -> bool:
        return self._raw.kind == "mapping"

    @property
    def is_sequence(self) -> bool:
        return self._raw.kind == "sequence"

    @property
    def is_scalar(self) -> bool:
        return self._raw.kind == "scalar"

    @property
    def is_null(self) -> bool:
        return self.is_scalar and self.scalar_type == "null"

    @property
    def scalar_type(self) -> str:
        """str, int, float, bool or null for a scalar; the tag's own text when it is none of YAML's core types."""
        return _SCALAR_TAGS.get(self._raw.tag, self._raw.tag)

    @property
    def text(self) -> str:
        """A scalar as written, without quotes."""
        text: str = self._raw.value
        return text

    @property
    def shown(self) -> str:
        """The value as a message quotes it."""
        if self.is_mapping:
            return "a mapping"
        if self.is_sequence:
            return "a list"
        return "nothing" if self.is_null and not self.text else quoted(self.text)

    @cached_property
    def items(self) -> tuple[Node, ...]:
        """The elements of a sequence."""
        return tuple(Node(raw, f"{self.path}[{i}]") for i, raw in enumerate(self._raw.value))

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Key -> entry of a mapping, own keys first, then those merged in with `<<`."""
        own: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for raw_key, raw_value in self._raw.value:
            if _is_merge(raw_key):
                for raw_source in raw_value.value if raw_value.kind == "sequence" else (raw_value,):
                    for key, entry in Node(raw_source, self.path).entries.items():
                        merged.setdefault(key, entry)
            else:
                name: str = raw_key.value
                shown = name if name.isprintable() and len(name) <= MAX_VALUE_SHOWN else quoted(name)
                path = f"{self.path}.{shown}" if self.path else shown
                key_node = Node(raw_key, path)
                own.setdefault(name, Entry(key_node, Node(raw_value, path, key_node)))
        return own | {key: entry for key, entry in merged.items() if key not in own}


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping, for messages about the key, and its value."""

    key: Node
    value: Node


def parse(data: bytes, problems: Problems, what: str = "system file") -> Node | None:
    """The root mapping of the content of a file, which messages call `what`; None with the reason in `problems`.

    Whatever `entries` and `items` rely on is checked here, for every node: keys are scalars and unique, merges are of
    mappings, only core types, no recursion, bounded size.
    """
    text = _decode(data, problems, what)
    if text is None:
        return None
    root = compose(text, problems, what)
    if root is None:
        return None
    if root.kind != "mapping":
        problems.add(Node(root, ""), f"a {what} is a mapping of keys to values, not {Node(root, '').shown}")
        return None
    return Node(root, "") if _check_structure(root, problems) else None


def _decode(data: bytes, problems: Problems, what: str) -> str | None:
    if len(data) > MAX_FILE_BYTES:
        problems.add_at(0, 0, "", f"the file has {len(data)} bytes; a {what} has at most {MAX_FILE_BYTES}")
        return None
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        problems.add_at(
            line, column, "", f"byte {data[error.start]:#04x} is not {encoding[:6].upper().strip('-')} text"
        )
        return None
    if not text.strip():
        problems.add_at(0, 0, "", "the file is empty")
        return None
    return text


def _is_merge(raw_key: Raw) -> bool:
    return raw_key.tag == MERGE


def _check_structure(root: Raw, problems: Problems) -> bool:
    """Check each distinct node once, what it contains first; False when the tree must not be walked."""
    usable = True
    extents: dict[int, tuple[int, int]] = {}
    open_nodes = {id(root)}
    stack: list[tuple[Raw, Iterator[Raw]]] = [(root, iter(_children(root)))]
    while stack:
        raw, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            open_nodes.discard(id(raw))
            usable = _check_node(raw, problems) and usable
            if not _measure(raw, extents, problems):
                return False
        elif id(child) in open_nodes:
            problems.add(Node(child, ""), "this anchor contains an alias to itself")
            return False
        elif id(child) in extents:
            continue
        elif child.kind == "scalar":  # most nodes are, and contain nothing
            usable = _check_node(child, problems) and usable
            extents[id(child)] = (1, 0)
        else:
            open_nodes.add(id(child))
            stack.append((child, iter(_children(child))))
    return usable


def _measure(raw: Raw, extents: dict[int, tuple[int, int]], problems: Problems) -> bool:
    """Note the expanded size and depth of a node whose children have theirs; False above a limit."""
    inner = [extents[id(child)] for child in _children(raw)]
    size = 1 + sum(child_size for child_size, _ in inner)
    levels = 1 + max((child_levels for _, child_levels in inner), default=-1)
    extents[id(raw)] = (size, levels)
    if levels > MAX_LEVELS:
        problems.add(Node(raw, ""), f"this nests more than {MAX_LEVELS} levels of lists or mappings")
    elif size > MAX_EXPANDED_NODES:
        problems.add(Node(raw, ""), f"aliases expand this to more than {MAX_EXPANDED_NODES} values")
    else:
        return True
    return False


def _children(raw: Raw) -> list[Raw]:
    if raw.kind == "mapping":
        return [node for pair in raw.value for node in pair]
    return list(raw.value) if raw.kind == "sequence" else []


def _check_node(raw: Raw, problems: Problems) -> bool:
    if raw.kind == "scalar":
        if raw.tag in _SCALAR_TAGS or raw.tag == MERGE:
            return True
    elif raw.tag in (CORE + "map", CORE + "seq"):
        return _check_keys(raw, problems) if raw.kind == "mapping" else True
    problems.add(Node(raw, ""), f"the tag {quoted(raw.tag.replace(CORE, '!!'))} is not supported; write plain values")
    return False


def _check_keys(raw: Raw, problems: Problems) -> bool:
    usable = True
    first_lines: dict[str, int] = {}
    for key, value in raw.value:
        if key.kind != "scalar":
            problems.add(Node(key, ""), f"a key must be a word, not {Node(key, '').shown}")
            usable = False
        elif _is_merge(key):
            sources = value.value if value.kind == "sequence" else [value]
            for source in sources:
                if source.kind != "mapping":
                    problems.add(Node(source, ""), "<< merges mappings only; give it an alias of a mapping")
                    usable = False
        elif key.value in first_lines:
            message = (
                f"the key {quoted(key.value)} stands twice in this mapping, first in line {first_lines[key.value]}"
            )
            problems.add(Node(key, ""), message)
        else:
            first_lines[key.value] = key.line
    return usable
