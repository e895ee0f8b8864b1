"""A paced run as it goes on: a table on the terminal, and keys that pause it and step from sample to sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.text import Text

from rt_sched.app.paced.keys import Keys
from rt_sched.app.plain_tables import plain_table, red_above
from rt_sched.units import NS_PER_S, format_ms

if TYPE_CHECKING:
    from rich.console import Console

    from rt_sched.app.terminal import Terminal
    from rt_sched.runtime.paced.executor import PacedRun

PAUSE, STEP = " ", "n"


def live_views(terminal: Terminal) -> Callable[[PacedRun], AbstractContextManager[Callable[[int], None]]]:
    """What shows runs on this terminal. Raises DeploymentError where it is none."""
    console = terminal.screen()
    return lambda run: _shown(run, terminal, console)


@contextmanager
def _shown(run: PacedRun, terminal: Terminal, console: Console) -> Iterator[Callable[[int], None]]:
    terminal.close()
    starting = Text("starting the processes", style="dim")
    with Keys() as keys, Live(starting, console=console, auto_refresh=False, transient=True) as picture:

        def look(_now_ns: int) -> None:
            for key in keys.pressed():
                obey(run, key)
            if not keys.there:
                run.clock.resume()  # nobody is left who could
            picture.update(_page(run, run.clock.now_ns(), keys=keys.there), refresh=True)

        yield look


def obey(run: PacedRun, key: str) -> None:
    """Does what a key asks for; others mean nothing.

    A step goes on to the instant of the next sample and pauses there, so that its jobs are about to begin.
    """
    clock = run.clock
    if key == PAUSE:
        if clock.paused:
            clock.resume()
        else:
            clock.pause()
    elif key == STEP:
        due_ns = run.order.samples.arrival_ns
        coming_ns = due_ns[due_ns > clock.now_ns()]
        if len(coming_ns):
            clock.resume()
            clock.sleep_until(int(coming_ns.min()))
            clock.pause()


def _page(run: PacedRun, now_ns: int, *, keys: bool) -> Group:
    table = plain_table("Tasks (response in ms)", ("task", ""), ("jobs", "misses", "last", "max", "deadline"))
    for standing, row in zip(run.standings(now_ns), run.order.setup.tasks, strict=True):
        table.add_row(
            Text(standing.task),
            "runs" if standing.at_work else "",
            str(standing.jobs),
            Text(str(standing.misses), style="red" if standing.misses else ""),
            format_ms(standing.response_last_ns),
            Text(format_ms(standing.response_max_ns), style=red_above(standing.response_max_ns, row.deadline_ns)),
            format_ms(row.deadline_ns),
        )
    return Group(table, _foot(run, now_ns, keys=keys))


def _foot(run: PacedRun, now_ns: int, *, keys: bool) -> Text:
    words = f"{max(now_ns, 0) / NS_PER_S:.3f} of {run.order.horizon_ns / NS_PER_S:.3f} s"
    if run.clock.paused:
        words += ", paused"
    if keys:
        words += "   space: pause, go on   n: to the next sample   Ctrl-C: end"
    return Text(words, style="yellow" if run.clock.paused else "dim")
