"""Which class a detector means by a number, and what the rest of the product calls that class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.coco import COCO_IDS, COCO_NAMES, ROAD_USERS
from pipelines.parameters import nearest
from rt_sched.errors import DeploymentError

#: Names by the model's class number. "coco91" keeps the gaps of COCO's identifiers, from 1 on; "coco80" has none.
BUILT_IN_LISTS: Mapping[str, tuple[str, ...]] = {
    "coco80": tuple(COCO_NAMES.values()),
    "coco91": tuple(COCO_NAMES.get(identifier, "") for identifier in range(1, max(COCO_NAMES) + 1)),
}

#: What data sets call the road users that this product knows under another name.
SYNONYMS: Mapping[str, str] = {
    "pedestrian": "person",
    "person sitting": "person",
    "rider": "person",
    "cyclist": "bicycle",
    "bike": "bicycle",
    "motorbike": "motorcycle",
    "motorcyclist": "motorcycle",
    "van": "car",
    "lorry": "truck",
    "trailer": "truck",
    "construction vehicle": "truck",
}

#: Identifiers of classes that COCO does not have: this plus the number of the first class of that name.
FIRST_OWN_ID = 1000


@dataclass(frozen=True, slots=True, eq=False)
class ClassList:
    """A detector's classes, by its own class number.

    `names`: what the model calls them, "" for a number without a class. `published`: what is published instead.
    `ids`: int32[n], COCO's identifier of the published name, or one from `FIRST_OWN_ID` on; -1 for a number without a
    class. Two numbers with one published name share an identifier.
    """

    names: tuple[str, ...]
    published: tuple[str, ...]
    ids: npt.NDArray[np.int32]

    @staticmethod
    def of(names: Sequence[str], class_map: Mapping[str, str]) -> ClassList:
        """`class_map`: the model's name -> the published one, for names that `SYNONYMS` does not settle as wanted."""
        published = tuple(class_map.get(name, _usual_name(name)) for name in names)
        first = {name: index for index, name in reversed(list(enumerate(published)))}
        ids = [COCO_IDS.get(name, FIRST_OWN_ID + first[name]) if name else -1 for name in published]
        return ClassList(tuple(names), published, np.array(ids, np.int32))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def known(self) -> tuple[str, ...]:
        """Published names, each once, in the order of their first number."""
        return tuple(dict.fromkeys(name for name in self.published if name))

    def default_kept(self) -> tuple[str, ...]:
        """Road users, or every class of a list without any."""
        return tuple(name for name in self.known if name in ROAD_USERS) or self.known


def checked_class_names(value: Any) -> tuple[str, ...] | str | None:
    """The parameter `class_names`: a list of names, the name of a built-in list, the path of a file, or None."""
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(
            f"class_names: {value!r} is neither a list of names nor a file; built in are {', '.join(BUILT_IN_LISTS)}"
        )
    return _checked_list(value)


def checked_class_map(value: Any) -> dict[str, str]:
    """The parameter `class_map`: the model's name -> the published one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"class_map: {value!r} is not a mapping such as {{pedestrian: person}}")
    for pair in value.items():
        if not all(isinstance(name, str) and name for name in pair):
            raise ValueError(f"class_map: {pair[0]!r}: {pair[1]!r} is not a pair of names")
    return dict(value)


def load_class_list(
    wanted: tuple[str, ...] | str | None, class_map: Mapping[str, str], *, default: str, base_dir: Path
) -> ClassList:
    """The classes that the parameters state; `default`: the built-in list when `wanted` is None.

    A file holds one name a line, or YAML or JSON: a list, a mapping from number to name, or either under `names`.
    Raises DeploymentError for a file that does not, and for a `class_map` with a name that the list does not have.
    """
    source = default if wanted is None else wanted
    if not isinstance(source, str):
        names = source
    elif source in BUILT_IN_LISTS:
        names = BUILT_IN_LISTS[source]
    else:
        names = _read_names(base_dir / source)
    for name in class_map:
        if name not in names:
            raise DeploymentError(
                f"class_map: the model has no class {name!r}; {nearest(name, list(filter(None, names)))}"
            )
    return ClassList.of(names, class_map)


def _usual_name(name: str) -> str:
    plain = " ".join(name.lower().replace("_", " ").split())
    if plain in COCO_IDS:
        return plain
    return SYNONYMS.get(plain, name)


def _checked_list(values: Sequence[Any]) -> tuple[str, ...]:
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"class_names: {value!r} is not a name")
    if not any(values):
        raise ValueError("class_names: no entry of the list has a name")
    return tuple(values)


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DeploymentError(
            f"class_names: {path} cannot be read: {error.strerror}; built in are {', '.join(BUILT_IN_LISTS)}"
        ) from error
    except UnicodeDecodeError as error:
        raise DeploymentError(f"class_names: {path} is not a text file") from error
    try:
        if path.suffix.lower() in (".yaml", ".yml", ".json"):
            return _checked_list(_structured_names(text))
        return _checked_list([line.strip() for line in text.rstrip().splitlines()])
    except ValueError as error:
        raise DeploymentError(f"{error} (in {path})") from error


def _structured_names(text: str) -> list[Any]:
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"class_names: not YAML or JSON: {str(error).splitlines()[0]}") from error
    if isinstance(content, dict) and "names" in content:
        content = content["names"]
    if isinstance(content, dict) and content and all(str(n).isdecimal() and len(str(n)) < 5 for n in content):
        numbered = {int(number): name for number, name in content.items()}
        content = [numbered.get(number, "") for number in range(max(numbered) + 1)]
    if not isinstance(content, list) or not content:
        raise ValueError("class_names: neither a list of names nor a mapping from number to name")
    return content
