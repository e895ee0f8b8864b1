"""YAML text as a tree of raw nodes with line and column, composed from a parser's events.

libyaml's parser is many times faster than one written in Python, but ruamel.yaml explains mistakes better. So libyaml
reads first; text that it refuses, or whose lines it would count differently, goes to ruamel.yaml, whose messages people
get. Plain scalars get their types by the rules of YAML 1.2, whichever parser read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from rt_sched.config.problems import Problems, quoted

CORE = "tag:yaml.org,2002:"
STR, MERGE = CORE + "str", CORE + "merge"
#: Levels of lists and mappings, aliases followed. Reading recurses, and stays far from the interpreter's limit.
MAX_LEVELS = 100

#: Tags of a collection and a scalar that have none.
_DEFAULT_TAGS = {"mapping": CORE + "map", "sequence": CORE + "seq", "scalar": STR}

#: Characters that end a line for one of the two parsers only.
_ODD_LINE_ENDS = re.compile("[\x85\u2028\u2029]|\r(?!\n)")

#: What plain scalars that start with a digit, sign or point are; anything else is looked up in `_WORDS`.
_NUMBERS = (
    (CORE + "int", re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|[0-9][0-9_]*|0x[0-9a-fA-F_]+)")),
    (
        CORE + "float",
        re.compile(
            r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
            r"|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
        ),
    ),
)
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), CORE + "null"),
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), CORE + "bool"),
    "<<": MERGE,
}


class Raw:
    """A node as parsed: `kind` is mapping, sequence or scalar; line and column count from 1.

    `value`: list of (key, value) pairs, list of nodes, or text. Nodes behind aliases are shared.
    """

    __slots__ = ("column", "kind", "line", "tag", "value")

    def __init__(self, kind: str, tag: str, value: Any, mark: Any) -> None:
        self.kind = kind
        self.tag = tag
        self.value = value
        self.line: int = mark.line + 1
        self.column: int = mark.column + 1


def compose(text: str, problems: Problems, what: str = "system file") -> Raw | None:
    """The root node of the one document in `text`, a `what`, or None with the reason added to `problems`."""
    if _ODD_LINE_ENDS.search(text) is None:
        found = Problems("")
        try:
            root = _compose(yaml.parse(text, Loader=yaml.CSafeLoader), found, what)
        except (yaml.YAMLError, ValueError):
            root = None
        if root is not None:
            return root
    try:
        return _compose(YAML(typ="safe", pure=True).parse(text), problems, what)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        problems.add_at(line, column, "", _syntax_message(error))
    except ReaderError as error:
        before = text[: error.position]
        column = len(before) - (before.rfind("\n") + 1) + 1
        code = error.character if isinstance(error.character, int) else ord(str(error.character)[:1] or "\0")
        problems.add_at(before.count("\n") + 1, column, "", f"not YAML: the character U+{code:04X} is not allowed")
    except RecursionError:
        problems.add_at(0, 0, "", f"the file nests more than {MAX_LEVELS} levels of lists or mappings")
    except (YAMLError, ValueError, IndexError) as error:
        problems.add_at(0, 0, "", f"not YAML: {' '.join(str(error).split())[:200]}")
    return None


def _syntax_message(error: MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem or error.context or "syntax error").split())
    if "'\\t'" in problem:
        return "not YAML: a tab stands where only spaces may; indent with spaces"
    context = " ".join(str(error.context).split()) if error.context and error.context not in problem else ""
    return f"not YAML: {problem}{f' ({context})' if context else ''}"


def _compose(events: Iterator[Any], problems: Problems, what: str = "system file") -> Raw | None:
    """The tree of the events of either parser, whose event classes have the same names and attributes."""
    anchors: dict[str, Raw] = {}
    root: Raw | None = None
    open_nodes: list[Raw] = []
    keys: list[Raw | None] = []  # of each open node: the key that waits for its value
    for event in events:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            node = Raw("scalar", _scalar_tag(event), event.value, event.start_mark)
        elif kind == "AliasEvent":
            target = anchors.get(event.anchor)
            if target is None:
                place = event.start_mark
                message = f"not YAML: found undefined alias {quoted(event.anchor)}"
                problems.add_at(place.line + 1, place.column + 1, "", message)
                return None
            node = target
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            shape = kind[: -len("StartEvent")].lower()
            tag = event.tag
            node = Raw(shape, _DEFAULT_TAGS[shape] if tag is None or tag == "!" else str(tag), [], event.start_mark)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            open_nodes.pop()
            keys.pop()
            continue
        elif kind == "DocumentStartEvent" and root is not None:
            place = event.start_mark
            message = f"not a {what}: it holds several YAML documents; keep one"
            problems.add_at(place.line + 1, place.column + 1, "", message)
            return None
        else:
            continue
        if kind != "AliasEvent" and event.anchor is not None:
            anchors[event.anchor] = node
        if not open_nodes:
            root = node
        elif open_nodes[-1].kind == "sequence":
            open_nodes[-1].value.append(node)
        elif keys[-1] is None:
            keys[-1] = node
        else:
            open_nodes[-1].value.append((keys[-1], node))
            keys[-1] = None
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            open_nodes.append(node)
            keys.append(None)
    if root is None:
        problems.add_at(0, 0, "", "the file is empty: it holds comments only")
    return root


def _scalar_tag(event: Any) -> str:
    tag = event.tag
    if tag is not None and tag != "!":
        return str(tag)
    if not event.implicit[0]:
        return STR
    text = event.value
    if text[:1] in "-+.0123456789" and text:
        return next((number for number, pattern in _NUMBERS if pattern.fullmatch(text)), STR)
    return _WORDS.get(text, STR)
