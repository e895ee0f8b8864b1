"""The safety arbiter over the run: state, selected path, braking, time to collision, faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.messages import ArbiterDecision
from rt_sched.report import svg
from rt_sched.report.text import axis_labels, axis_values_ns, count, time_with_unit
from rt_sched.units import NS_PER_S

Decisions = Sequence[tuple[int, ArbiterDecision]]

#: More runs of one state, or decisions, than this are drawn per interval; the page says so.
MOST_DRAWN = 1500

#: Times to collision above this are drawn at the upper edge.
LONGEST_TTC_NS = 10 * NS_PER_S

#: Widths of the chart on a desk and on a phone that labels are fitted to.
_WIDE_PX, _NARROW_PX = 640, 330

_SEVERITY = ("NOMINAL", "STARTING", "DEGRADED", "BACKUP", "MINIMAL_RISK")


@dataclass(frozen=True, slots=True)
class TimeLine:
    """`figure`: the chart. `sources`: names in the order of their colours. `notes`: what was drawn coarser.

    `emergency`, `recovery`: whether it shows emergency braking, and faults that were recovered from.
    """

    figure: Markup
    emergency: bool
    recovery: bool
    sources: tuple[str, ...]
    notes: tuple[str, ...]


def arbiter_time_line(
    decisions: Decisions, faults: Sequence[Mapping[str, Any]], horizon_ns: int, silent_ns: int = 0
) -> TimeLine | None:
    """The chart, or None without a decision. `silent_ns`: how long before the horizon the arbiter itself was lost."""
    if not decisions:
        return None
    horizon = max(horizon_ns, decisions[-1][0], 1)
    end = max(horizon - silent_ns, decisions[-1][0])
    chosen = Counter(d.selected for _, d in decisions)
    sources = tuple(source for source, _ in chosen.most_common())
    drawn = thinned(decisions, horizon)
    notes = []
    if len(drawn) < len(decisions):
        notes.append(
            f"{count(len(decisions))} decisions are drawn in {count(MOST_DRAWN)} intervals; "
            "each shows its gravest decision."
        )
    top = 24 if any(f.get("time_ns") is not None for f in faults) else 4
    bottom = top + 236
    states = _runs([(t, d.state.value) for t, d in drawn], end)
    selected = _runs([(t, d.selected) for t, d in drawn], end)
    colour_of = {source: f"group-{index % 8}" for index, source in enumerate(sources)}
    braking, braking_label = _acceleration(drawn, horizon, end, top + 88)
    closing, closing_label = _time_to_collision(drawn, horizon, end, top + 168)
    parts = [
        _fault_spans(faults, horizon, bottom - 16),
        *(_labelled_bar(run, horizon, top + 15, f"state-{run[2].lower()}") for run in states),
        *(_labelled_bar(run, horizon, top + 57, colour_of[run[2]]) for run in selected),
        braking,
        closing,
        _time_axis(horizon, bottom),
        _fault_marks(faults, horizon, bottom),
        # Last, so that no curve or mark runs through them.
        svg.text(0, top + 10, "State", "row-label"),
        svg.text(0, top + 52, "Selected command", "row-label"),
        svg.text(0, top + 98, braking_label, "row-label"),
        svg.text(0, top + 178, closing_label, "row-label"),
    ]
    label = f"Arbiter over {time_with_unit(horizon)}: {count(len(decisions))} decisions, " + ", ".join(
        f"{count(chosen[s])} from {s}" for s in sources[:8]
    )
    return TimeLine(
        figure=svg.chart(bottom + 18, *parts, label=label, class_="chart arbiter"),
        emergency=any(d.command.emergency for _, d in decisions),
        recovery=any(f.get("time_ns") is not None and f.get("recovered_after_ns") is not None for f in faults),
        sources=sources,
        notes=tuple(notes),
    )


def thinned(decisions: Decisions, horizon_ns: int) -> Decisions:
    """All decisions, or, of too many, the gravest of each of `MOST_DRAWN` equal intervals.

    Gravest: the worse state, then the harder braking.
    """
    if len(decisions) <= MOST_DRAWN:
        return decisions
    worst: dict[int, tuple[int, ArbiterDecision]] = {}
    for time_ns, decision in decisions:
        place = time_ns * MOST_DRAWN // (horizon_ns + 1)
        if place not in worst or _gravity(decision) > _gravity(worst[place][1]):
            worst[place] = (time_ns, decision)
    return [worst[place] for place in sorted(worst)]


def _gravity(decision: ArbiterDecision) -> tuple[int, float]:
    return _SEVERITY.index(decision.state.value), -decision.command.acceleration_m_s2


def _runs(values: Sequence[tuple[int, str]], end_ns: int) -> list[tuple[int, int, str]]:
    runs: list[tuple[int, int, str]] = []
    for time_ns, value in values:
        if runs and runs[-1][2] == value:
            continue
        if runs:
            runs[-1] = (runs[-1][0], time_ns, runs[-1][2])
        runs.append((time_ns, end_ns, value))
    return runs


def _labelled_bar(run: tuple[int, int, str], horizon: int, y_px: int, colour: str) -> Markup:
    start, end, label = run
    share = (end - start) / horizon
    hover = f"{label} from {time_with_unit(start)} for {time_with_unit(end - start)}"
    parts = [svg.element("rect", width="100%", height="20", class_=f"band {colour}"), svg.element("title", hover)]
    wanted = len(label) * 7.6 + 10
    if wanted <= share * _WIDE_PX:
        css = "band-label" if wanted <= share * _NARROW_PX else "band-label wide-only"
        parts.append(svg.element("text", label, x="6", y="14", class_=css))
    return svg.element("svg", *parts, x=svg.at(start / horizon), y=y_px, width=svg.at(share), height="20")


def _acceleration(decisions: Decisions, horizon: int, end: int, top: int) -> tuple[Markup, str]:
    values = [d.command.acceleration_m_s2 for _, d in decisions]
    low, high = min(-1.0, *values), max(0.5, *values)
    height, span = 62, high - low
    points = [(t / horizon, (d.command.acceleration_m_s2 - low) / span) for t, d in decisions]
    zero = top + 18 + height * high / span
    parts = []
    for start, until, kind in _runs([(t, "emergency" if d.command.emergency else "") for t, d in decisions], end):
        if kind:
            hover = f"Emergency braking from {time_with_unit(start)} for {time_with_unit(until - start)}"
            parts.append(svg.bar(start / horizon, until / horizon, top + 18, height, "emergency", hover))
    parts.append(svg.element("line", x1="0", x2="100%", y1=zero, y2=zero, class_="axis"))
    parts.append(svg.step_line([*points, (end / horizon, points[-1][1])], top + 18, height, "line"))
    return svg.joined(parts), f"Requested acceleration: {min(values):.1f} to {max(values):.1f} m/s²"


def _time_to_collision(decisions: Decisions, horizon: int, end: int, top: int) -> tuple[Markup, str]:
    known = [d.command.time_to_collision_ns for _, d in decisions if d.command.time_to_collision_ns is not None]
    if not known:
        return Markup(""), "Time to collision: nothing closed in"
    ceiling = max(min(max(known), LONGEST_TTC_NS), NS_PER_S)
    points: list[tuple[float, float] | None] = []
    for time_ns, decision in decisions:
        value = decision.command.time_to_collision_ns
        points.append(None if value is None else (time_ns / horizon, max(0.0, min(value / ceiling, 1.0))))
    if points[-1] is not None:
        points.append((end / horizon, points[-1][1]))
    base = top + 18 + 48.5
    axis = svg.element("line", x1="0", x2="100%", y1=base, y2=base, class_="axis")
    label = f"Time to collision: least {time_with_unit(min(known))}, scale to {time_with_unit(ceiling)}"
    return svg.joined([axis, svg.step_line(points, top + 18, 48, "line")]), label


def _fault_spans(faults: Sequence[Mapping[str, Any]], horizon: int, height: int) -> Markup:
    spans = []
    for fault in faults:
        start, recovered = fault.get("time_ns"), fault.get("recovered_after_ns")
        if start is not None and recovered is not None:
            spans.append(svg.bar(start / horizon, (start + recovered) / horizon, 16, height, "fault-span"))
    return svg.joined(spans)


def _fault_marks(faults: Sequence[Mapping[str, Any]], horizon: int, bottom: int) -> Markup:
    parts = []
    for number, fault in enumerate(faults, 1):
        start = fault.get("time_ns")
        if start is None:
            continue
        hover = f"F{number} {fault.get('fault', '')} at {time_with_unit(start)}"
        detected, recovered = fault.get("detected_after_ns"), fault.get("recovered_after_ns")
        hover += f"; detected after {time_with_unit(detected)}; recovered after {time_with_unit(recovered)}"
        marks = [svg.element("title", hover), svg.vertical(start / horizon, 16, bottom, "fault")]
        if detected is not None:
            marks.append(svg.vertical((start + detected) / horizon, 16, bottom, "fault-detected"))
        anchor = "end" if start / horizon > 0.97 else "start" if start / horizon < 0.03 else "middle"
        marks.append(svg.text(start / horizon, 11, f"F{number}", "fault-label", anchor))
        parts.append(svg.element("g", *marks))
    return svg.joined(parts)


def _time_axis(horizon: int, y_px: int) -> Markup:
    values = axis_values_ns(0, horizon, 8)
    parts = [svg.element("line", x1="0", x2="100%", y1=y_px + 0.5, y2=y_px + 0.5, class_="axis")]
    for value, label in zip(values, axis_labels(values, horizon), strict=True):
        anchor = "start" if value == 0 else "end" if value / horizon > 0.96 else "middle"
        parts.append(svg.text(value / horizon, y_px + 14, label, "tick", anchor))
    return svg.joined(parts)
