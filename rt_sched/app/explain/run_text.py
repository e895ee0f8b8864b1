"""The explanation of a job or frame of a run, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rt_sched.units import NS_PER_S, format_ns

Row = Mapping[str, Any]

_KINDS = {
    "sensor": "from capture to arrival",
    "newer_frame": "until the capture of {who}, which was used in its place",
    "link_queue": "behind other messages on link {resource}",
    "link": "on link {resource}, with its latency",
    "partner": "waiting for its partner",
    "sampling": "waiting to be read (sampling delay)",
    "publishing": "finished; published at the deadline (LET)",
    "release_jitter": "release jitter",
    "earlier_job": "behind an earlier job of its task",
    "core": "waiting for the core",
    "window": "outside of its time ({resource})",
    "lock": "waiting for {resource}",
    "suspension": "suspended",
    "budget": "out of budget, until it is paid again",
    "execution": "execution",
    "switch": "switch and migration costs",
    "spin": "spinning for {resource}",
    "unexplained": "waiting; the trace gives no reason (rt-sched check-trace says which rule it breaks)",
}
_WHY = {
    "higher_priority": "higher priority",
    "earlier_deadline": "earlier deadline",
    "earlier_release": "released earlier",
    "came_first": "as urgent, came first",
    "lock_held": "holds {resources}",
    "non_preemptive": "less urgent, but had begun and cannot be preempted",
    "budget": "goes first, as this job's budget was used up",
    "ceiling": "holds {resources}, below whose ceiling nothing starts",
    "slice": "its time slice",
    "entry": "its table entry",
    "owner": "holds it",
    "before": "goes first",
    "newer": "",
    "partner": "came last",
}
_FATES = {
    "read": "read by {by}",
    "reader_ended": "read by {by}, which gave no output",
    "superseded": "overwritten by {by} at {time} before it was read",
    "dropped": "dropped at {time}: {drop}",
    "not_delivered": "never arrived there",
    "waiting": "not read any more when the run ended",
    "not_published": "there was no output",
}
_DROPS = {
    "full_oldest": "the queue was full, and it was the oldest",
    "full_newest": "the queue was full",
    "unmatched": "it found no partner",
    "inactive": "its reader did not exist in that mode",
}
#: Readers that a line names.
_MOST_NAMED = 6


def run_explanation_text(document: Row) -> str:
    """The document, one part a line."""
    lines = _job_lines(document) if document["what"] == "job" else _frame_lines(document)
    return "\n".join(lines)


def _job_lines(document: Row) -> list[str]:
    job = document["job"]
    how = f", {document['chosen']}" if document["chosen"] else ""
    lines = [f"{job['name']} on {', '.join(job['cores'])}{how}: {_outcome(job)}"]
    lines.append(f"   arrived at {_seconds(job['arrival_ns'])}, {_bound_text(job)}")
    if job["reads"]:
        read = ", ".join(f"{one['message']} ({one['input']})" for one in job["reads"] if one["message"])
        empty = ", ".join(one["input"] for one in job["reads"] if not one["message"])
        lines.append(f"   read {read or 'nothing'}" + (f"; there was nothing on {empty}" if empty else ""))
    lines += ["", "1. From arrival to end"]
    lines += _part_lines(job["parts"]) or ["   nothing: it ended as it arrived"]
    lines.append(f"   together {format_ns(job['response_ns'])}")
    if job["stretched_ns"]:
        more = "more" if job["stretched_ns"] > 0 else "less"
        changed = format_ns(abs(job["stretched_ns"]))
        lines.append(f"   at the frequencies that it met it had {changed} {more} to execute than declared")
    lines += ["", "2. What that adds up to, and what the bound counts for it", *_sum_lines(job["sums"])]
    if job["output"]:
        lines += ["", "3. Its output", *(f"   {_fate_text(fate)}" for fate in job["output"])]
    if document["link"] is not None:
        lines += ["", f"report  {document['link']}"]
    return lines


def _outcome(job: Row) -> str:
    response, deadline = format_ns(job["response_ns"]), format_ns(job["deadline_ns"])
    if job["status"] == "completed":
        return f"response {response} {'>' if job['missed'] else '<='} deadline {deadline}"
    return f"{job['status']} after {response}, as {job['ended_because']}; deadline {deadline}"


def _bound_text(job: Row) -> str:
    if job["bound_ns"] is None:
        why = f": {job['bound_missing']}" if job["bound_missing"] else " is known"
        return f"no bound{why}"
    return f"bound {format_ns(job['bound_ns'])} ({job['bound_method']})"


def _part_lines(parts: Sequence[Row]) -> list[str]:
    if not parts:
        return []
    starts = [f"+{format_ns(part['at_ns'])}" for part in parts]
    lengths = [format_ns(part["value_ns"]) for part in parts]
    left, right = max(map(len, starts)), max(map(len, lengths))
    return [
        f"   {start:>{left}}  {length:>{right}}  {_part_text(part)}"
        for start, length, part in zip(starts, lengths, parts, strict=True)
    ]


def _part_text(part: Row) -> str:
    names = [one["who"] for one in part["by"]]
    text = _KINDS[part["kind"]].format(resource=part["resource"], who=", ".join(names))
    if part["frequency_hz"] is not None:
        text += f" at {part['frequency_hz'] / 1e6:g} MHz"
    if part["kind"] == "newer_frame" or not names:
        return text
    return f"{text}: {'; '.join(_cause_text(one) for one in part['by'])}"


def _cause_text(cause: Row) -> str:
    return f"{cause['who']} ({_why(cause['why'], cause['resources'])})"


def _why(reason: str, resources: Sequence[str]) -> str:
    return _WHY[reason].format(resources=", ".join(resources) or "a lock")


def _sum_lines(sums: Iterable[Row]) -> list[str]:
    rows = []
    for one in sums:
        text = _KINDS[one["kind"]].partition(" {")[0].partition(" (")[0]
        by = f": {', '.join(one['by'])}" if one["by"] else ""
        why = f" ({', '.join(_why(reason, ()) for reason in one['why'])})" if one["why"] else ""
        jobs = f", {one['jobs']} jobs" if one["jobs"] > 1 else ""
        counted = "" if one["in_bound_ns"] is None else f"   in the bound {format_ns(one['in_bound_ns'])}"
        rows.append((format_ns(one["value_ns"]), f"{text}{by}{why}{jobs}", counted))
    width, words = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return [f"   {value:>{width}}  {text:{words}}{counted}".rstrip() for value, text, counted in rows] or ["   nothing"]


def _frame_lines(document: Row) -> list[str]:
    frame = document["frame"]
    arrived = "never arrived" if frame["arrival_ns"] is None else f"arrived at {_seconds(frame['arrival_ns'])}"
    how = f", {document['chosen']}" if document["chosen"] else ""
    lines = [f"{frame['name']}{how}: captured at {_seconds(frame['capture_ns'])}, {arrived}"]
    lines += [f"   {_fate_text(fate)}" for fate in frame["readers"]]
    for chain in frame["chains"]:
        lines += ["", *_chain_lines(chain, frame["name"])]
    return lines


def _chain_lines(chain: Row, frame: str) -> list[str]:
    bound, limit = (
        f"{word} {format_ns(chain[key])}" if chain[key] is not None else f"no {word}"
        for word, key in (("bound", "latency_bound_ns"), ("limit", "latency_limit_ns"))
    )
    if chain["latency_ns"] is None:
        lines = [f"{chain['name']}: led to no output; {bound}, {limit}"]
    else:
        took = format_ns(chain["latency_ns"])
        lines = [f"{chain['name']}: {took} from capture to the output of {chain['output']}; {bound}, {limit}"]
    if chain["used"] is not None and chain["used"] != frame:
        lines.append(f"   the output stands for {chain['used']}, a newer frame")
    for step in chain["steps"]:
        terms = ", ".join(
            f"{term['kind'].replace('_', ' ')} {format_ns(term['value_ns'])}" for term in step["in_bound"]
        )
        counted = f"; in the bound {terms}" if terms else ""
        lines.append(f"   {step['name']}: {format_ns(step['value_ns'])}{counted}")
        lines += [f"   {line}" for line in _part_lines(step["parts"])]
    if chain["latency_ns"] is not None:
        lines.append(f"   together {format_ns(chain['latency_ns'])}")
    lines += [f"   {_fate_text(fate)}" for fate in chain["lost"]]
    lines += [
        f"   note: {one['jobs']} jobs of {one['task']} published nothing in this run; the trace does not say which"
        for one in chain["without_data"]
    ]
    return lines


def _fate_text(fate: Row) -> str:
    by = ", ".join(fate["by"][:_MOST_NAMED])
    if len(fate["by"]) > _MOST_NAMED:
        by += f" and {len(fate['by']) - _MOST_NAMED} more"
    at = "" if fate["time_ns"] is None else _seconds(fate["time_ns"])
    text = _FATES[fate["fate"]].format(by=by, time=at, drop=_DROPS.get(fate["drop"] or "", ""))
    return f"{fate['message']} -> {fate['reader']}.{fate['input']}: {text}"


def _seconds(time_ns: int) -> str:
    """An instant of the run."""
    return f"{time_ns / NS_PER_S:.6f} s"
