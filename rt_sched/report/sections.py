"""The parts of the run report as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from rt_sched.report.histograms import Band, chain_figure, response_histogram
from rt_sched.report.run_data import AnnotatedFrame, ChainResult, RunReport
from rt_sched.report.text import count
from rt_sched.report.verdict import CHAIN_MEASURES, chain_limits, chain_maxima, tone_of
from rt_sched.trace.records import Trace
from rt_sched.trace.statistics import measure_tasks, response_ns

Times = npt.NDArray[np.int64]
T = TypeVar("T")

#: More of a kind than this is not printed; the page says so.
MOST_TASK_ROWS = 2000
MOST_HISTOGRAMS = 400
MOST_CHAIN_FIGURES = 40
MOST_ROWS = 500

#: Histograms that stand open; the others fold.
OPEN_HISTOGRAMS = 24

#: Colours of kinds of work; the last one is for whatever has no other.
COLOURS = 8


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task's line. `row`: its entry in the summary; `share`: largest response over deadline.

    `censored`: the largest response is that of a job the run's end cut off, so only a lower bound.
    """

    row: Mapping[str, Any]
    processor: str
    share: float | None
    tone: str
    censored: bool


@dataclass(frozen=True, slots=True)
class Card:
    """A small figure with a heading. `peak_ns`, `limit_ns`: printed beside the name."""

    name: str
    figure: Markup
    peak_ns: int | None
    limit_ns: int | None
    tone: str


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured maximum with its limit and bound, any of them None."""

    value_ns: int | None
    limit_ns: int | None
    bound_ns: int | None
    share: float | None
    tone: str


@dataclass(frozen=True, slots=True)
class ChainRow:
    """A chain's line."""

    name: str
    path: tuple[str, ...]
    measures: tuple[Measure, Measure, Measure]
    samples: int | None
    unreflected: int | None
    lost: int | None


@dataclass(frozen=True, slots=True)
class Legend:
    """Kinds of work and the colour number of each task."""

    names: tuple[str, ...]
    colours: tuple[int, ...]


def task_rows(summary: Mapping[str, Any], trace: Trace, notes: list[str]) -> list[TaskRow]:
    """Lines of the task table, in the order of the summary."""
    processors = _processors_of(trace)
    censored = {t.name for t in measure_tasks(trace) if t.largest_is_censored}
    rows = capped(summary.get("tasks") or (), MOST_TASK_ROWS, "tasks", notes)
    return [
        TaskRow(row, processors.get(row["name"], ""), share, tone_of(share), row["name"] in censored)
        for row in rows
        for share in (_share_of(row),)
    ]


def _share_of(row: Mapping[str, Any]) -> float | None:
    response, deadline = row.get("response_max_ns"), row.get("deadline_ns")
    return None if response is None or not deadline else float(response / deadline)


def _processors_of(trace: Trace) -> dict[str, str]:
    """The processors each task ran on; one is named, several are counted."""
    if not len(trace.slices):
        return {}
    width = max(len(trace.processor_names), 1)
    tasks = trace.jobs.task[trace.slices.job].astype(np.int64)
    pairs = np.unique(tasks * width + trace.slices.processor)
    found: dict[str, list[str]] = {}
    for pair in pairs.tolist():
        found.setdefault(trace.task_names[pair // width], []).append(trace.processor_names[pair % width])
    return {task: names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}" for task, names in found.items()}


def responses_by_task(trace: Trace) -> dict[str, Times]:
    """Response times of every task that has any, unfinished jobs counted with what they had waited at the end."""
    responses, _ = response_ns(trace)
    counted = np.flatnonzero(responses >= 0)
    order = counted[np.argsort(trace.jobs.task[counted], kind="stable")]
    tasks = trace.jobs.task[order]
    starts = np.flatnonzero(np.diff(tasks, prepend=-1))
    pieces = np.split(responses[order], starts[1:]) if starts.size else []
    return {trace.task_names[int(tasks[s])]: piece for s, piece in zip(starts.tolist(), pieces, strict=True)}


def task_cards(summary: Mapping[str, Any], trace: Trace, notes: list[str]) -> list[Card]:
    """A histogram per task that has a response time, the one nearest to its deadline first."""
    responses = responses_by_task(trace)
    rows = [r for r in summary.get("tasks") or () if r["name"] in responses]
    rows.sort(key=lambda r: -(_share_of(r) or 0.0))
    return [
        Card(
            row["name"],
            response_histogram(row["name"], responses[row["name"]], row.get("deadline_ns"), row.get("response_p99_ns")),
            row.get("response_max_ns"),
            row.get("deadline_ns"),
            tone_of(_share_of(row)),
        )
        for row in capped(rows, MOST_HISTOGRAMS, "response-time histograms", notes)
    ]


def chain_rows(summary: Mapping[str, Any], results: Sequence[ChainResult], notes: list[str]) -> list[ChainRow]:
    """Lines of the chain table, in the order of the summary."""
    by_name = {r.chain.name: r for r in results}
    rows = []
    for row in capped(summary.get("chains") or (), MOST_ROWS, "chains", notes):
        result = by_name.get(row["name"])
        limits = chain_limits(row, result)
        measures = [
            Measure(value, limit, row.get(f"{kind}_bound_ns"), share, tone_of(share))
            for kind, value, limit in zip(CHAIN_MEASURES, chain_maxima(row, result), limits, strict=True)
            for share in (None if value is None or limit is None else value / max(limit, 1),)
        ]
        rows.append(
            ChainRow(
                row["name"],
                result.chain.path if result else (),
                (measures[0], measures[1], measures[2]),
                result.measurement.samples if result else row.get("samples"),
                result.measurement.unreflected if result else row.get("unreflected"),
                result.measurement.lost if result else row.get("lost"),
            )
        )
    return rows


def chain_cards(results: Sequence[ChainResult], notes: list[str]) -> list[Card]:
    """A figure per chain with its three measures on one axis."""
    cards = []
    for result in capped(results, MOST_CHAIN_FIGURES, "chain figures", notes):
        chain, measured = result.chain, result.measurement
        bands = (
            Band("Reaction time", measured.reaction_ns, chain.max_reaction_ns),
            Band("Latency from capture", measured.latency_ns, chain.max_latency_ns),
            Band("Data age", measured.data_age_ns, chain.max_data_age_ns),
        )
        cards.append(Card(chain.name, chain_figure(chain.name, bands), None, None, ""))
    return cards


def legend(data: RunReport) -> Legend:
    """Colours of the tasks: by kind of work as given, else by stage, else by the first chain each is part of."""
    names = data.trace.task_names
    stages = {r["name"]: r["stage"] for r in data.summary.get("tasks") or () if r.get("stage")}
    groups = {**{task: _kind_of_work(stage) for task, stage in stages.items()}, **data.task_groups}
    for result in data.chains:
        for task in result.chain.path:
            groups.setdefault(task, result.chain.name)
    order = list(dict.fromkeys(groups[n] for n in names if n in groups))
    shown = order if len(order) < COLOURS else order[: COLOURS - 1]
    number = {group: index for index, group in enumerate(shown)}
    colours = tuple(number.get(groups.get(n, ""), COLOURS - 1) for n in names)
    labels = tuple(shown) + (("other",) if COLOURS - 1 in colours and len(shown) < COLOURS else ())
    return Legend(labels, colours)


def _kind_of_work(stage: str) -> str:
    """The last part of the module of a stage `module:Class`; the whole safety path is one kind."""
    module = stage.partition(":")[0]
    return "safety" if module.split(".")[0] == "safety" else module.rpartition(".")[2]


def fitting_frames(frames: Sequence[AnnotatedFrame], budget_bytes: int, notes: list[str]) -> list[AnnotatedFrame]:
    """As many frames as fit, evenly spread and in order of time.

    Counted per frame: base64, which makes four bytes of three, and the markup around it.
    """
    frames = sorted(frames, key=lambda f: (f.time_ns, f.camera))
    kept = frames
    number = len(kept)
    while kept and sum(len(f.jpeg) * 4 // 3 + 700 for f in kept) > budget_bytes:
        number = number * 9 // 10
        kept = [frames[i * len(frames) // number] for i in range(number)]
    if len(kept) < len(frames):
        notes.append(f"{count(len(kept))} of {count(len(frames))} camera frames are shown, to keep the page small.")
    return kept


def capped(rows: Sequence[T], most: int, noun: str, notes: list[str]) -> Sequence[T]:
    """At most `most` rows; says so in `notes` when that leaves any out."""
    if len(rows) <= most:
        return rows
    notes.append(f"The first {count(most)} of {count(len(rows))} {noun} are shown.")
    return rows[:most]
