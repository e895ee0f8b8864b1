"""What people see while a job runs and when it is done: everything on stderr but the final table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rt_sched.app.health.table import print_health
from rt_sched.app.plain_tables import chain_table, plain_table, red_above
from rt_sched.errors import DeploymentError
from rt_sched.units import NS_PER_S, format_ms

if TYPE_CHECKING:
    from rt_sched.app.runs.result import ReplayResult

_STATUS_STYLE = {"ok": "bold green", "incomplete": "bold yellow", "assumption_violated": "bold yellow"}


#: Where there is no bar, a line tells how far a step is: at every tenth, but not more often than this.
_TENTHS, _PAUSE_S = 10, 5.0


class _Stream(Console):
    """A console that leaves it to the caller what a reader that has gone away means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Terminal:
    """Progress bar on a terminal, lines elsewhere; silent on stdout when `quiet`.

    `clock`: seconds, for the pace of the lines. Progress that cannot be written is dropped, as it is no result; tables
    that cannot be written raise OSError.
    """

    def __init__(self, *, quiet: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._err = _Stream(stderr=True, highlight=False)
        width = None if sys.stdout.isatty() else 150
        self._out = _Stream(stderr=quiet, width=width, highlight=False)
        self._bar: Progress | None = None
        self._clock = clock
        self._step, self._tenth, self._told_s = "", 0, 0.0

    def step(self, text: str) -> None:
        """A new part of the job begins."""
        self._end_bar()
        self._step, self._tenth, self._told_s = text, 0, self._clock()
        if self._err.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._err,
                transient=True,
            )
            self._bar.add_task(text, total=None)
            self._bar.start()
        else:
            self.note(f"{text} ...")

    def advance(self, done_ns: int, total_ns: int) -> None:
        """Virtual time reached, of the whole."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done_ns, total=total_ns)
            return
        tenth = _TENTHS * done_ns // total_ns
        if tenth > self._tenth and self._clock() - self._told_s >= _PAUSE_S:
            self._tenth, self._told_s = tenth, self._clock()
            reached = f"{done_ns / NS_PER_S:.1f} of {total_ns / NS_PER_S:.1f} s"
            self.note(f"{self._step}: {100 * done_ns // total_ns} %, {reached}")

    def note(self, text: str) -> None:
        """Something worth a line while a step goes on."""
        try:
            self._err.print(Text(text, style="dim"), soft_wrap=True)
        except OSError:
            self._err.quiet = True

    def close(self) -> None:
        """Leaves the terminal as it was."""
        self._end_bar()

    def screen(self) -> Console:
        """Where something moving may be shown; the bar is gone. Raises DeploymentError where stderr is no terminal."""
        if not self._err.is_terminal:
            raise DeploymentError("--live needs a terminal on stderr")
        self._end_bar()
        return self._err

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show_replay(self, result: ReplayResult) -> None:
        """The tables at the end of a replay."""
        summary = result.summary
        self._out.print(chain_table(summary["chains"]))
        self._out.print(_task_table(summary))
        self._out.print(_topic_table(summary))
        for fault in summary["faults"]:
            self._out.print(_fault_line(fault))
        idle = sum(1 for task in summary["tasks"] if not task["jobs"])
        if idle:
            self._out.print(Text(f"{idle} further tasks had no job", style="dim"))
        if summary["detections"]:
            self._out.print(_found_line(summary))
        if summary["arbiter"]["state_time_ns"]:
            self._out.print(_arbiter_line(summary["arbiter"]))
        print_health(summary.get("health"), self._out)
        self._out.print(_assumptions_line(summary))
        for note in summary["notes"]:
            self._out.print(Text(f"note: {note}", style="yellow"))
        self._out.print(_verdict(summary, result.wall_s))
        self._out.print(Text(f"report    {result.folder / 'report.html'}"))
        self._out.print(Text(f"schedule  {result.manifest['schedule_sha256']}", style="dim"))
        self._out.print(Text(f"outputs   {result.manifest['outputs_sha256']}", style="dim"))

    def show_trace_check(self, document: Mapping[str, Any]) -> None:
        """Violations, one a line, and how many rules were checked."""
        for violation in document["violations"]:
            at_ms = format_ms(violation["time_ns"], 6)
            rule = f"rule {violation['semantics']}, {violation['rule'].replace('_', ' ')}"
            self._out.print(Text(f"{at_ms} ms  {violation['where']}: {violation['expected']} ({rule})"))
        found = sum(document["violation_counts"].values())
        if found:
            style, words = "bold red", f"{found} violation{'s' if found > 1 else ''}"
        else:
            style, words = "bold green", "no violation"
        self._out.print(Text(f"{words}, {len(document['checked'])} rules checked", style=style))

    def show_scenes(self, document: Mapping[str, Any]) -> None:
        """The table of scenes that can be made."""
        table = Table(title="scenes", title_justify="left")
        for heading in ("name", "what happens", "lasts", "conditions", "right reaction"):
            table.add_column(heading)
        for row in document["scenes"]:
            lasts = f"{row['duration_ns'] / NS_PER_S:g} s"
            table.add_row(row["name"], row["summary"], lasts, row["conditions"], row["reaction"])
        self._out.print(table)
        self._out.print(Text(f"under any --conditions: {', '.join(document['conditions'])}", style="dim"))

    def show_scene(self, document: Mapping[str, Any]) -> None:
        """Where a scene was written and what is expected of who sees it."""
        wanted = document["expected"]
        size_mb = document["size_bytes"] / 1e6
        self._out.print(Text(f"recording  {document['recording']}  ({size_mb:.1f} MB)"))
        self._out.print(Text(f"truth      {document['truth']}"))
        line = f"expected   {wanted['reaction']}: {wanted['summary']}"
        if wanted["last_chance_ns"] is not None:
            hazard_s, last_s, contact_s = (
                wanted[key] / NS_PER_S for key in ("hazard_ns", "last_chance_ns", "contact_ns")
            )
            line += (
                f"; in sight from {hazard_s:.2f} s, full braking helps until {last_s:.2f} s, contact {contact_s:.2f} s"
            )
        self._out.print(Text(line))

    def show_info(self, document: Mapping[str, Any]) -> None:
        """The table of a recording's topics."""
        numbers = ("messages", "rate Hz", "jitter ms", "gaps", "undecodable")
        table = plain_table(document["path"], ("topic", "schema", "kind"), numbers)
        for topic in document["topics"]:
            table.add_row(
                *(Text(topic[key]) for key in ("name", "schema", "kind")),
                str(topic["messages"]),
                "–" if topic["rate_hz"] is None else f"{topic['rate_hz']:.2f}",
                format_ms(topic["jitter_ns"]),
                str(topic["gaps"]),
                str(topic["undecodable"]),
            )
        self._out.print(table)
        if document["damage"]:
            self._out.print(Text(f"damaged: {document['damage']}", style="bold yellow"))


def _task_table(summary: Mapping[str, Any]) -> Table:
    table = plain_table(
        "Tasks (response in ms)",
        ("task", "runs on"),
        ("jobs", "misses", "drops", "p99", "max", "bound", "deadline"),
    )
    for task in summary["tasks"]:
        if not task["jobs"]:
            continue
        table.add_row(
            Text(task["name"]),
            Text(task["pe"]),
            str(task["jobs"]),
            Text(str(task["misses"]), style=_missed_style(task)),
            Text(str(task["drops"]), style="yellow" if task["drops"] else ""),
            format_ms(task["response_p99_ns"]),
            Text(format_ms(task["response_max_ns"]), style=red_above(task["response_max_ns"], task["bound_ns"])),
            Text(format_ms(task["bound_ns"]), style="dim"),
            format_ms(task["deadline_ns"]),
        )
    return table


def _missed_style(task: Mapping[str, Any]) -> str:
    """Misses that a miss limit allows are not bad."""
    limit = task.get("miss_limit")
    broken = task["misses"] if limit is None else limit["violations"]
    return "red" if broken else "yellow" if task["misses"] else ""


def _topic_table(summary: Mapping[str, Any]) -> Table:
    rare = [fate for fate in ("quarantined", "after_end") if any(topic[fate] for topic in summary["topics"])]
    counts = ("recorded", "delivered", "unread", "dropped", "undecodable", *rare, "lost_to_faults", "unmapped")
    table = plain_table(
        "Messages",
        ("topic", "sensor"),
        tuple(count.replace("_", " ") for count in counts),
    )
    for topic in summary["topics"]:
        table.add_row(Text(topic["name"]), Text(topic["sensor"] or "–"), *(str(topic[key]) for key in counts))
    return table


def _assumptions_line(summary: Mapping[str, Any]) -> Text:
    """Whether the assumptions behind the bounds held, and what exceeded a bound."""
    broken = [one["assumption"] for one in summary["monitors"] if not one["holds"]]
    exceeded = len(summary["bounds_exceeded"])
    checked = sum(one["checked"] for one in summary["monitors"])
    if broken:
        text, style = f"broken: {', '.join(broken)}; the bounds do not cover this run", "yellow"
    else:
        text, style = f"all {len(summary['monitors'])} held ({checked} values)", "green"
    over = f"{exceeded} bounds exceeded" if exceeded else "no bound exceeded"
    return Text("assumptions  ").append(text, style=style).append(f"; {over}", style="red" if exceeded else "")


def _found_line(summary: Mapping[str, Any]) -> Text:
    """What the detectors found, camera by camera."""
    text = Text()
    for camera in summary["detections"]:
        classes = (
            ", ".join(f"{row['frames']} with {row['class']}" for row in camera["classes"]) or "none with an object"
        )
        text.append(f"{camera['camera']}: {camera['frames']} frames, {classes}\n")
    text.rstrip()
    return text


def _arbiter_line(arbiter: Mapping[str, Any]) -> Text:
    states = ", ".join(f"{state} {time_ns / NS_PER_S:.2f} s" for state, time_ns in arbiter["state_time_ns"].items())
    first = arbiter["first_emergency_ns"]
    braking = "no emergency braking" if first is None else f"emergency braking from {first / NS_PER_S:.3f} s on"
    return Text(f"arbiter: {states}; {braking}")


def _fault_line(fault: Mapping[str, Any]) -> Text:
    detected, recovered = fault["detected_after_ns"], fault["recovered_after_ns"]
    words = f"fault {fault['fault']} at {fault['time_ns'] / NS_PER_S:.3f} s: "
    words += "not detected" if detected is None else f"detected after {format_ms(detected, 1)} ms"
    if fault["switched_after_ns"] is not None:
        words += f" by {fault['detected_by']}, taken over after {format_ms(fault['switched_after_ns'], 1)} ms"
    words += ", not recovered" if recovered is None else f", recovered after {format_ms(recovered, 1)} ms"
    if fault["recovery_bound_ns"] is not None:
        words += f" (bound {format_ms(fault['recovery_bound_ns'], 1)} ms)"
    if fault["returned_after_ns"] is not None:
        words += f", back after {format_ms(fault['returned_after_ns'], 1)} ms"
    return Text(words, style="yellow" if recovered is None else "")


def _verdict(summary: Mapping[str, Any], wall_s: float) -> Text:
    status = summary["status"]
    text = Text()
    text.append(status, style=_STATUS_STYLE.get(status, "bold red"))
    text.append(f"  {summary['reason']}")
    text.append(
        f"  ({summary['duration_ns'] / NS_PER_S:.2f} s of driving in {wall_s:.1f} s; {_durations(summary)})",
        style="dim",
    )
    return text


def _durations(summary: Mapping[str, Any]) -> str:
    """Where the times come from."""
    if summary.get("clock") == "paced":
        return f"durations are measured on this host, tier {summary['tier']}"
    return "durations are modelled"
