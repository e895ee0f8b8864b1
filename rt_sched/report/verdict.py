"""The first screen: what the run's status means, and the few figures that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rt_sched.report.run_data import ChainResult
from rt_sched.report.text import count, of_limit, plural, time_with_unit

#: Prefix of the summary's keys -> name, in the order in which measures are shown.
CHAIN_MEASURES = {"reaction": "reaction time", "latency": "latency from capture", "data_age": "data age"}

#: What can become of a recorded message that is not delivered.
TOPIC_FATES = ("dropped", "undecodable", "quarantined", "unread", "lost_to_faults", "after_end", "unmapped")

#: A value from this share of its limit on is called close to it.
CLOSE = 0.9


@dataclass(frozen=True, slots=True)
class Meaning:
    """`tone`: good, caution or bad; `mark`: the sign beside the words, so that colour never speaks alone."""

    tone: str
    mark: str
    title: str
    explanation: str


_MEANINGS = {
    "ok": Meaning(
        "good",
        "✓",
        "Every deadline was met",
        "No job missed its deadline, no bound was exceeded and no monitor tripped.",
    ),
    "deadline_miss": Meaning(
        "bad",
        "✕",
        "Deadlines were missed",
        "At least one job finished after its deadline, or was unfinished when it passed.",
    ),
    "assumption_violated": Meaning(
        "caution",
        "!",
        "An assumption did not hold",
        "A monitor tripped, so the bounds do not cover this run. The warnings name the assumption.",
    ),
    "bound_violated": Meaning(
        "bad",
        "✕",
        "A bound was exceeded",
        "All monitors held and still something took longer than its bound: the analysis or the model is wrong.",
    ),
    "incomplete": Meaning(
        "caution", "!", "The run is incomplete", "Part of the recording or of the work is missing from these results."
    ),
    "failed": Meaning("bad", "✕", "The run failed", "The tool or a stage failed: do not rely on these results."),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the first screen. `share`: value over limit, drawn as a bar, or None; `tone` as in Meaning."""

    label: str
    value: str
    detail: str
    share: float | None = None
    tone: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ChainPeak:
    """The largest of one measure of a chain, against its limit if it has one."""

    chain: str
    measure: str
    value_ns: int
    limit_ns: int | None

    @property
    def share(self) -> float | None:
        """Value over limit."""
        return None if self.limit_ns is None else self.value_ns / max(self.limit_ns, 1)


def meaning(summary: Mapping[str, Any], results: Sequence[ChainResult]) -> Meaning:
    """The words for the run's status, with its reason where the summary gives one.

    A deadline miss without a missed job is that of a chain or of a recovery. A status that is not known is shown as
    it is.
    """
    status = str(summary.get("status", "unknown"))
    peak = tightest(chain_peaks(summary.get("chains") or (), results))
    if status == "deadline_miss" and not _misses(summary) and peak and peak.limit_ns and peak.value_ns > peak.limit_ns:
        return Meaning(
            "bad",
            "✕",
            "A chain exceeded its limit",
            f"No job missed its deadline, but the {peak.measure} of {peak.chain} reached "
            f"{time_with_unit(peak.value_ns)}; the limit is {time_with_unit(peak.limit_ns)}.",
        )
    known = _known_meaning(status)
    if status == "deadline_miss" and not _misses(summary):
        known = replace(known, title="A limit was exceeded")
    if status == "ok" and _misses(summary):
        known = replace(known, title="No limit was exceeded")
    reason = str(summary.get("reason") or "").strip()
    return replace(known, explanation=reason[:1].upper() + reason[1:].rstrip(".") + ".") if reason else known


def _misses(summary: Mapping[str, Any]) -> int:
    return sum(t.get("misses") or 0 for t in summary.get("tasks") or ())


def _known_meaning(status: str) -> Meaning:
    unknown = Meaning("caution", "?", f"Status: {status}", "This report does not know this status.")
    return _MEANINGS.get(status, unknown)


def tone_of(share: float | None) -> str:
    """good below `CLOSE`, caution up to the limit itself, bad beyond it."""
    if share is None:
        return ""
    return "bad" if share > 1 else "caution" if share >= CLOSE else "good"


def tightest(peaks: Sequence[ChainPeak]) -> ChainPeak | None:
    """The peak nearest to, or furthest beyond, its limit; without any limit the largest one."""
    limited = [p for p in peaks if p.share is not None]
    if limited:
        return max(limited, key=lambda p: p.share or 0.0)
    return max(peaks, key=lambda p: p.value_ns, default=None)


def chain_limits(row: Mapping[str, Any], result: ChainResult | None) -> tuple[int | None, int | None, int | None]:
    """Limits of reaction time, latency and data age: the chain's, or those that its entry in the summary states."""
    if result is not None:
        return result.chain.max_reaction_ns, result.chain.max_latency_ns, result.chain.max_data_age_ns
    return row.get("reaction_limit_ns"), row.get("latency_limit_ns"), row.get("data_age_limit_ns")


def chain_maxima(row: Mapping[str, Any], result: ChainResult | None) -> tuple[int | None, int | None, int | None]:
    """Largest reaction time, latency and data age: as the summary states them, else as measured."""
    measured: tuple[int | None, int | None, int | None] = (None, None, None)
    if result is not None:
        spreads = result.measurement.reaction, result.measurement.latency, result.measurement.data_age
        measured = spreads[0].max_ns, spreads[1].max_ns, spreads[2].max_ns
    reaction, latency, data_age = (
        row.get(f"{kind}_max_ns", other) for kind, other in zip(CHAIN_MEASURES, measured, strict=True)
    )
    return reaction, latency, data_age


def chain_peaks(summary_chains: Sequence[Mapping[str, Any]], results: Sequence[ChainResult]) -> list[ChainPeak]:
    """Every maximum of every chain that has one."""
    by_name = {r.chain.name: r for r in results}
    peaks = []
    for row in summary_chains:
        result = by_name.get(row["name"])
        for measure, value, limit in zip(
            CHAIN_MEASURES.values(), chain_maxima(row, result), chain_limits(row, result), strict=True
        ):
            if value is not None:
                peaks.append(ChainPeak(row["name"], measure, value, limit))
    return peaks


def figures(summary: Mapping[str, Any], results: Sequence[ChainResult]) -> list[Figure]:
    """The figures of the first screen, those without data left out."""
    found = [_tightest_chain(summary, results), _worst_task(summary), _messages(summary), _recovery(summary)]
    return [f for f in found if f is not None]


def _tightest_chain(summary: Mapping[str, Any], results: Sequence[ChainResult]) -> Figure | None:
    peak = tightest(chain_peaks(summary.get("chains") or (), results))
    if peak is None:
        return None
    detail = f"{peak.measure}, no limit set"
    if peak.limit_ns is not None:
        detail = f"{peak.measure}, {of_limit(peak.value_ns, peak.limit_ns)}"
    return Figure("Tightest chain", time_with_unit(peak.value_ns), detail, peak.share, tone_of(peak.share), peak.chain)


def _worst_task(summary: Mapping[str, Any]) -> Figure | None:
    rows = [t for t in summary.get("tasks") or () if t.get("response_max_ns") is not None and t.get("deadline_ns")]
    if not rows:
        return None
    worst = max(rows, key=lambda t: t["response_max_ns"] / t["deadline_ns"])
    share = worst["response_max_ns"] / worst["deadline_ns"]
    misses = _misses(summary)
    detail = f"response, {of_limit(worst['response_max_ns'], worst['deadline_ns'])}"
    if misses:
        detail += f"; {plural(misses, 'miss', 'misses')} in all"
    return Figure("Worst task", time_with_unit(worst["response_max_ns"]), detail, share, tone_of(share), worst["name"])


def unused_messages(topic: Mapping[str, Any]) -> int:
    """Recorded messages of a topic that its row does not account for."""
    return max((topic.get("recorded") or 0) - sum(topic.get(k) or 0 for k in ("delivered", *TOPIC_FATES)), 0)


def _messages(summary: Mapping[str, Any]) -> Figure | None:
    topics = summary.get("topics") or ()
    if not topics:
        return None
    total = {k: sum(t.get(k) or 0 for t in topics) for k in ("recorded", "delivered", *TOPIC_FATES)}
    detail = (
        f"of {count(total['recorded'])} recorded; {count(total['dropped'])} dropped, "
        f"{count(total['undecodable'])} undecodable"
    )
    if total["quarantined"]:
        detail += f", {count(total['quarantined'])} quarantined"
    if total["lost_to_faults"]:
        detail += f", {count(total['lost_to_faults'])} lost to faults"
    unused = sum(unused_messages(t) + sum(t.get(k) or 0 for k in ("unread", "after_end", "unmapped")) for t in topics)
    if unused:
        detail += f", {count(unused)} not used"
    share = total["delivered"] / total["recorded"] if total["recorded"] else None
    tone = "caution" if total["undecodable"] or total["quarantined"] else "good"
    return Figure("Messages delivered", count(total["delivered"]), detail, share, tone)


def _recovery(summary: Mapping[str, Any]) -> Figure | None:
    """The fault that was recovered from last, or was not at all."""
    faults = summary.get("faults") or ()
    if not faults:
        return None
    lost = [f for f in faults if f.get("recovered_after_ns") is None]
    if lost:
        detail = "not recovered from" if lost[0].get("detected_after_ns") is not None else "not detected"
        return Figure("Slowest recovery", "none", detail, None, "bad", lost[0]["fault"])
    slowest = max(faults, key=lambda f: f["recovered_after_ns"])
    value, limit = slowest["recovered_after_ns"], slowest.get("recovery_limit_ns")
    if limit is None:
        return Figure("Slowest recovery", time_with_unit(value), "no limit set", None, "", slowest["fault"])
    share = value / max(limit, 1)
    return Figure(
        "Slowest recovery", time_with_unit(value), of_limit(value, limit), share, tone_of(share), slowest["fault"]
    )
