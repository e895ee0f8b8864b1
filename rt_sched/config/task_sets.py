"""Task set files: YAML in the form that POET reads, or CSV. They become a TaskSet, or a ConfigError with every mistake.

Both name the same things; `config.task_set_fields` has the names and the checks. Numbers without a unit count in
`unit_ns`. Larger priorities are more urgent, unless `lowest_first`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from rt_sched.config.problems import Problems
from rt_sched.config.task_set_csv import read_csv
from rt_sched.config.task_set_fields import POLICY_WORDS, PREEMPTION_WORDS, Draft, Orders, read_tasks, word_of
from rt_sched.config.task_set_yaml import read_yaml
from rt_sched.config.yaml_nodes import MAX_FILE_BYTES
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Policy, SetTask, TaskSet


def load_task_set(
    path: str | Path,
    *,
    policy: str | None = None,
    preemption: str | None = None,
    unit_ns: int = 1,
    lowest_first: bool = False,
) -> TaskSet:
    """Read and check the task set at `path`, CSV where its name ends so, else YAML.

    `policy`, `preemption`: as words, in place of what the file says. `rms` and `dm` order tasks by period or deadline,
    whatever priorities the file gives.

    Raises ConfigError with every problem of the file, AnalysisNotApplicable for an unknown word.
    """
    file = Path(path)
    orders = Orders(
        None if policy is None else _known(policy, POLICY_WORDS, "policy"),
        None if preemption is None else _known(preemption, PREEMPTION_WORDS, "preemption model"),
    )
    problems = Problems(str(path))
    data = _read(file, problems)
    problems.raise_if_any()
    read = read_csv if file.suffix.casefold() in (".csv", ".tsv") else read_yaml
    given, rows = read(data, problems)
    chosen, preemptive = orders.policy or given.policy, orders.preemptive
    if preemptive is None:
        preemptive = given.preemptive is not False
    if chosen is None and not given.failed:
        problems.add_at(0, 0, "", f"no scheduling policy is given; use --policy with one of {', '.join(_CHOICES)}")
    drafts = read_tasks(rows, unit_ns, problems, needs_priority=chosen == "fp")
    problems.raise_if_any()
    tasks = _with_levels(drafts, chosen, lowest_first)
    return TaskSet(file.stem, _POLICIES.get(chosen or "", Policy.FIXED_PRIORITY), preemptive, tasks)


_POLICIES = {"edf": Policy.EDF, "fifo": Policy.FIFO}
_CHOICES = ("fp", "rms", "dm", "edf", "fifo")


def _known(text: str, words: dict[str, str], what: str) -> str:
    found = word_of(text, words)
    if found is None:
        raise AnalysisNotApplicable(f"unknown {what} {text!r}; valid: {', '.join(dict.fromkeys(words.values()))}")
    return found


def _with_levels(drafts: list[Draft], policy: str | None, lowest_first: bool) -> tuple[SetTask, ...]:
    """Tasks with the same urgency share a level."""

    def urgency(draft: Draft) -> Fraction:
        if policy == "fp":
            return Fraction(draft.priority or 0) * (1 if lowest_first else -1)
        return draft.separation_ns if policy == "rms" else Fraction(draft.task.deadline_ns)

    level_of = {key: level for level, key in enumerate(sorted({urgency(draft) for draft in drafts}))}
    return tuple(replace(draft.task, level=level_of[urgency(draft)]) for draft in drafts)


def _read(file: Path, problems: Problems) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        problems.add_at(0, 0, "", "there is no such file")
    except IsADirectoryError:
        problems.add_at(0, 0, "", "this is a folder, not a task set")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problems.add_at(0, 0, "", f"the file cannot be read: {reason}")
    return b""
