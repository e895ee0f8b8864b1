"""Task sets in YAML, in the form that POET reads.

scheduling policy: EDF            # or FP
preemption model: non-preemptive  # or fully-preemptive, or their short forms NP and FP
task set:
  - id: 1
    worst-case execution time: 3
    period: 10                    # or: min interarrival: 10, or: arrival curve: [20, [[1, 1], [5, 2]]]
    deadline: 9
    priority: 2                   # the larger, the more urgent
"""

from __future__ import annotations

from rt_sched.config.problems import Problems, unknown
from rt_sched.config.task_set_fields import (
    FIELDS,
    POLICY_WORDS,
    PREEMPTION_WORDS,
    UNSUPPORTED_PREEMPTION,
    Cell,
    CurveCell,
    Orders,
    TaskFields,
    field_of,
    plain,
    word_of,
)
from rt_sched.config.yaml_nodes import Node, parse

_ROOT = {
    **dict.fromkeys(("schedulingpolicy", "policy"), "policy"),
    **dict.fromkeys(("preemptionmodel", "preemption"), "preemption"),
    **dict.fromkeys(("taskset", "tasks"), "tasks"),
}
_ROOT_SHOWN = ("scheduling policy", "preemption model", "task set")
_TASK_SHOWN = (
    "id",
    "worst-case execution time",
    "best-case execution time",
    "period",
    "min interarrival",
    "arrival curve",
    "deadline",
    "priority",
    "jitter",
    "offset",
)


def read_yaml(data: bytes, problems: Problems) -> tuple[Orders, list[TaskFields]]:
    """What the file says of all tasks, and the fields of each."""
    root = parse(data, problems, what="task set")
    if root is None:
        return Orders(failed=True), []
    found: dict[str, Node] = {}
    for name, entry in root.entries.items():
        key = _ROOT.get(plain(name))
        if key is None:
            problems.add(entry.key, unknown("key", name, _ROOT_SHOWN))
        elif key in found:
            problems.add(entry.key, f"the {key} is given twice")
        else:
            found[key] = entry.value
    policy = _word(found.get("policy"), "scheduling policy", POLICY_WORDS, ("FP", "EDF", "FIFO"), problems)
    preemption = _preemption(found.get("preemption"), problems)
    failed = ("policy" in found and policy is None) or ("preemption" in found and preemption is None)
    return Orders(policy, preemption, failed), _tasks(root, found.get("tasks"), problems)


def _word(
    node: Node | None, what: str, words: dict[str, str], shown: tuple[str, ...], problems: Problems
) -> str | None:
    if node is None:
        return None
    found = word_of(node.text, words) if node.is_scalar else None
    if found is None:
        problems.add(node, unknown(what, node.text if node.is_scalar else node.shown, shown))
    return found


def _preemption(node: Node | None, problems: Problems) -> str | None:
    if node is not None and node.is_scalar and plain(node.text) in UNSUPPORTED_PREEMPTION:
        problems.add(node, "the file has no lengths of regions, which this model needs; use a system file instead")
        return None
    return _word(node, "preemption model", PREEMPTION_WORDS, ("fully-preemptive", "non-preemptive"), problems)


def _tasks(root: Node, node: Node | None, problems: Problems) -> list[TaskFields]:
    if node is None:
        problems.add(root, "the task set is missing: write a list under the key task set")
        return []
    if not node.is_sequence:
        problems.add(node, f"the task set is a list of tasks, not {node.shown}")
        return []
    if not node.items:
        problems.add(node, "the task set is empty")
    return [_task(item, problems) for item in node.items]


def _task(node: Node, problems: Problems) -> TaskFields:
    row = TaskFields(node)
    if not node.is_mapping:
        problems.add(node, f"a task is a mapping of keys to values, not {node.shown}")
        return row
    for name, entry in node.entries.items():
        key = field_of(name)
        if key is None:
            problems.add(entry.key, unknown("key", name, _TASK_SHOWN))
            continue
        if key in row.given:
            problems.add(entry.key, f"the {FIELDS[key][0]} is given twice")
        row.given.add(key)
        if key == "curve":
            row.curve = _curve(entry.value, problems)
        elif not entry.value.is_scalar or entry.value.is_null:
            problems.add(entry.value, f"expected a number or word, found {entry.value.shown}")
        else:
            row.cells[key] = _cell(entry.value)
    return row


def _cell(node: Node) -> Cell:
    return Cell(node.line, node.column, node.path, node.text.replace("_", "") if _is_number(node) else node.text)


def _is_number(node: Node) -> bool:
    return node.scalar_type in ("int", "float")


def _curve(node: Node, problems: Problems) -> CurveCell | None:
    """[horizon, [[length, jobs], ...]], or a mapping with the keys horizon and steps."""
    if node.is_mapping:
        horizon, steps = (node.entries[key].value if key in node.entries else None for key in ("horizon", "steps"))
    else:
        items = node.items if node.is_sequence else ()
        horizon, steps = items if len(items) == 2 else (None, None)
    pairs = list(steps.items) if steps is not None and steps.is_sequence else []
    shaped = all(p.is_sequence and len(p.items) == 2 and all(i.is_scalar for i in p.items) for p in pairs)
    if horizon is None or not horizon.is_scalar or not pairs or not shaped:
        problems.add(node, "an arrival curve is [horizon, [[length, jobs], ...]], as in [20, [[1, 1], [5, 2]]]")
        return None
    return CurveCell(_cell_at(node), _cell(horizon), tuple((_cell(p.items[0]), _cell(p.items[1])) for p in pairs))


def _cell_at(node: Node) -> Cell:
    return Cell(node.line, node.column, node.path, node.shown)
