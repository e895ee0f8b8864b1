"""What `explain` found, as text for people: one step a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.app.analyze.tables import refusal_lines
from rt_sched.app.explain.chain import CHAIN_EXPLANATION_SCHEMA, chain_text
from rt_sched.units import format_ns

#: Jobs and iterations that the text shows at the begin, around the worst, and at the end.
_EDGE, _MOST_SHOWN = 3, 8


def text_of(document: dict[str, Any]) -> str:
    """An explanation for people, of a task or of a chain."""
    return chain_text(document) if document["schema"] == CHAIN_EXPLANATION_SCHEMA else explanation_text(document)


def explanation_text(document: dict[str, Any]) -> str:
    """The document for people, one step a line."""
    lines = [f"{document['task']} on {document['processor']}, mode {document['mode']}: {_answer(document)}"]
    own = document["own"]
    if own is not None:
        order = f"{document['policy']}, {'preemptive' if document['preemptive'] else 'not preemptive'}"
        lines += ["", f"1. The job itself ({order})", *_own_lines(own)]
        lines += ["", "2. Who can delay it", *_other_lines(document)]
    lines += ["", "3. The windows", *_window_lines(document)]
    lines += ["", "4. The bound, term by term", *_term_lines(document)]
    lines += ["", "5. The verdict", f"   {document['verdict']}: {document['reason']}"]
    if document["lost_work"] is not None:
        lines.append(f"   but {document['lost_work']}")
    if document["method"] is not None:
        kind = "exact: some legal run attains it" if document["exact"] else "sufficient: no legal run exceeds it"
        lines += [f"   method {document['method']} ({kind})", f"   source {document['source']}"]
    lines += [f"   assumes {one['key']}: {one['text']}" for one in document["assumptions"]]
    if document["response_bound_ns"] is None:
        lines += [f"   {line}" for line in refusal_lines(document["refusals"])]
    return "\n".join(lines)


def _answer(document: dict[str, Any]) -> str:
    bound_ns = document["response_bound_ns"]
    if bound_ns is None:
        return "no bound on the response was found"
    sign = "<=" if bound_ns <= document["deadline_ns"] else ">"
    return f"response at most {format_ns(bound_ns)} {sign} deadline {format_ns(document['deadline_ns'])}"


def _own_lines(own: dict[str, Any]) -> list[str]:
    parts = [f"execution {format_ns(own['wcet_ns'])}"]
    parts += [f"switches {format_ns(own['overhead_ns'])}"] if own["overhead_ns"] else []
    parts += [f"spinning {format_ns(own['spin_ns'])}"] if own["spin_ns"] else []
    lines = [f"   cost C = {' + '.join(parts)} = {format_ns(own['cost_ns'])}", f"   arrivals: {_stream_text(own)}"]
    if own["suspension_ns"]:
        lines.append(f"   it waits inside for up to {format_ns(own['suspension_ns'])}")
    if own["last_region_ns"] > 1:
        lines.append(f"   its last {format_ns(own['last_region_ns'])} cannot be preempted")
    return lines


def _stream_text(row: dict[str, Any]) -> str:
    texts = []
    for one in row["arrivals"]:
        if one["curve"] is not None:
            curve = one["curve"]
            steps = ", ".join(f"{jobs} in {format_ns(length)}" for length, jobs in curve["steps"][:_MOST_SHOWN])
            text = f"at most {steps}; again every {format_ns(curve['horizon_ns'])}"
        else:
            text = f"at least {format_ns(one['separation_ns'])} apart"
        texts.append(text + (f", up to {format_ns(one['jitter_ns'])} late" if one["jitter_ns"] else ""))
    jitter = f", released up to {format_ns(row['release_jitter_ns'])} later" if row["release_jitter_ns"] else ""
    return " and ".join(texts) + jitter


def _other_lines(document: dict[str, Any]) -> list[str]:
    lines = []
    by_level = document["policy"] == "fixed_priority"
    for other in document["others"]:
        if by_level and other["urgency"] == "less":
            continue
        rank = f"level {other['level']}" if by_level else f"deadline {format_ns(other['deadline_ns'])}"
        lines.append(f"   {other['name']} ({rank}): C = {format_ns(other['cost_ns'])}, {_stream_text(other)}")
    jitter_ns = 0 if by_level else document["own"]["release_jitter_ns"]
    regions = [
        one
        for one in document["others"]
        if one["region_ns"] > 1
        and (one["urgency"] == "less" or (jitter_ns and one["deadline_ns"] > document["deadline_ns"] - jitter_ns))
    ]
    if document["policy"] in ("fixed_priority", "edf") and regions:
        longest = max(regions, key=lambda one: one["region_ns"])
        goes_on = format_ns(longest["region_ns"] - 1)
        who = "less urgent" if by_level else "with a later deadline"
        lines.append(f"   {longest['name']}, {who}, may have begun 1ns before and goes on for {goes_on}")
    lines += [f"   blocked by {one['by']}: {format_ns(one['value_ns'])}" for one in document["own"]["blocked_by"]]
    return lines or ["   nobody"]


def _window_lines(document: dict[str, Any]) -> list[str]:
    steps = document["derivation"]
    if steps is None:
        if document["method"] is None:
            return ["   no method found one"]
        window = "" if document["window_ns"] is None else f" in a window of {format_ns(document['window_ns'])}"
        return [f"   {document['method']} counts the terms below{window}"]
    lines = [f"   the longest busy period: {_chain(steps['busy_period_ns'])}"]
    jobs = steps["jobs"]
    worst = max(range(len(jobs)), key=lambda place: jobs[place]["response_ns"])
    near = {worst + distance for distance in range(-_EDGE, _EDGE + 1)}
    shown = sorted(place for place in {*range(_EDGE), *near, len(jobs) - 1} if 0 <= place < len(jobs))
    before = -1
    for place in shown:
        if place > before + 1:
            lines.append(f"   ... {place - before - 1} more, none with a longer response")
        before = place
        lines += _job_lines(jobs[place], steps["last_region_ns"], place == worst)
    if not steps["all_jobs"]:
        lines.append("   others were looked at too; none has a longer response")
    return lines


def _job_lines(job: dict[str, Any], last_region_ns: int, worst: bool) -> list[str]:
    arrival = format_ns(job["arrival_ns"])
    ends = format_ns(job["finish_ns"])
    begins = f"its last region begins: {_chain(job['windows_ns'])}; " if last_region_ns > 1 else ""
    window = begins + (f"ends at {ends}" if begins else f"ends: {_chain(job['windows_ns'])}")
    held = f", held up for {format_ns(job['blocking_ns'])}" if job["blocking_ns"] else ""
    mark = "  <- the worst" if worst else ""
    if job["finish_ns"] <= job["arrival_ns"]:
        return [f"   job {job['job']} would arrive at {arrival}, when all that counts is done: {window}"]
    return [
        f"   job {job['job']} arrives at {arrival}{held}; {window}",
        f"      response {ends} - {arrival} = {format_ns(job['response_ns'])}{mark}",
    ]


def _chain(values: Sequence[int]) -> str:
    """Iterates of a fixed point."""
    shown = [format_ns(value) for value in values]
    if len(shown) > _MOST_SHOWN:
        shown = [*shown[:_EDGE], "...", *shown[-_EDGE:]]
    return " -> ".join(shown)


def _term_lines(document: dict[str, Any]) -> list[str]:
    lines = []
    for term in document["terms"]:
        by = f" ({term['by']})" if term["by"] else ""
        count = f" = {term['jobs']} x {format_ns(term['each_ns'])}" if term["jobs"] is not None else ""
        lines.append(f"   {term['kind'].replace('_', ' ')}{by}: {format_ns(term['value_ns'])}{count}")
    if not lines:
        return ["   there is none"]
    return [*lines, f"   together {format_ns(document['response_bound_ns'])}"]
