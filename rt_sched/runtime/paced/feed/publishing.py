"""The process that publishes samples: it takes its class before the begin, and gives every sample to its readers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from rt_sched.ports import Writer
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.paced.feed.feeder import Playback, publish_on_time


def publish(
    playback: Playback,
    writers_of: Callable[[], Sequence[Writer | None]],
    scheduling: Scheduling | None,
    go_to_core: Callable[[], None],
) -> None:
    """The whole life of the process; one that has nothing to publish takes no class.

    `writers_of`: claims them, by sensor, None where nobody reads it. `go_to_core`: confines the process to its core.
    """
    name_process("rt-publish")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    writers = writers_of()
    lines = [line for line in playback.lines if line is not None]
    for line in lines:
        line.open()
    if scheduling is not None and lines:  # before the begin: on a busy host it would take too long after it
        go_to_core()
        set_scheduling(scheduling)
    if playback.clock.wait_until_begun():
        name_process("rt-publishing")
        publish_on_time(playback, writers)
