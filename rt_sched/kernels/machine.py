"""The scheduling state machine: instants in order, and at each instant the phases in order.

`advance`, at the end of the file, is the only entry. In bulk no Python runs between instants; stepped, one call
processes one instant. The phases are `changes.make_changes`, four functions of `phases`, and `dispatch.dispatch`.
"""

from __future__ import annotations

from rt_sched.kernels.changes import make_changes
from rt_sched.kernels.codes import (
    ADVANCED,
    ENDED,
    FULL,
    NONE,
    REACHED,
)
from rt_sched.kernels.compiled import entry, part, sources_digest
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.dispatch import dispatch
from rt_sched.kernels.phases import arrivals, completions, deliveries, expiries, take_up_late_checks
from rt_sched.kernels.tables import Machine
from rt_sched.kernels.timers import earliest


@part
def _next_instant(m):
    """The next time at which anything happens, NEVER_NS when nothing does."""
    clock = m.clock[0]
    clock["progress_min_ns"] = earliest(m, 0, clock["deadline_timers"])
    clock["deadline_min_ns"] = earliest(m, clock["deadline_timers"], clock["arrival_timers"])
    clock["arrival_min_ns"] = earliest(m, clock["arrival_timers"], clock["rest_timers"])
    clock["rest_min_ns"] = earliest(m, clock["rest_timers"], clock["last_timer"])
    instant_ns = min(clock["progress_min_ns"], clock["deadline_min_ns"])
    instant_ns = min(instant_ns, clock["arrival_min_ns"], clock["rest_min_ns"])
    if clock["late_checks"] > 0:
        instant_ns = min(instant_ns, clock["now_ns"] + 1)
    if clock["next_sample"] < len(m.samples):
        instant_ns = min(instant_ns, m.samples[clock["next_sample"]]["arrival_ns"])
    if clock["next_change"] < len(m.changes):
        instant_ns = min(instant_ns, m.changes[clock["next_change"]]["time_ns"])
    return instant_ns


@part
def _room_for_instant(m, instant_ns):
    """Whether the growing tables have room for the most that one instant can add; says in the clock what is needed.

    Every message delivered at the instant activates at most one job on each edge it travels. Each job that is active
    or new causes at most six events beside those of the log; the log tells at most that an active job was rescaled and
    how it ended, and four things of a new one, beside what `log_room` counts.
    """
    clock = m.clock[0]
    samples = 0
    while (
        clock["next_sample"] + samples < len(m.samples)
        and m.samples[clock["next_sample"] + samples]["arrival_ns"] == instant_ns
    ):
        samples += 1
    deliveries = len(m.edges) * (clock["burst"] + samples)
    clock["jobs_needed"] = len(m.tasks) * clock["burst"] + deliveries
    clock["slices_needed"] = len(m.cores)
    clock["drops_needed"] = deliveries + len(m.rings)
    clock["transfers_needed"] = deliveries if len(m.lanes) > 0 else 0
    clock["log_needed"] = clock["log_room"] + 2 * clock["active_jobs"] + 4 * clock["jobs_needed"]
    clock["events_needed"] = 6 * (clock["active_jobs"] + clock["jobs_needed"])
    clock["events_needed"] += clock["drops_needed"] + samples + len(m.changes) + clock["log_needed"]
    return (
        clock["jobs"] + clock["jobs_needed"] <= len(m.jobs)
        and clock["slices"] + clock["slices_needed"] <= len(m.slices)
        and clock["drops"] + clock["drops_needed"] <= len(m.drops)
        and clock["transfers"] + clock["transfers_needed"] <= len(m.transfers)
        and clock["log"] + clock["log_needed"] <= len(m.log)
        and (clock["record_events"] == 0 or clock["events"] + clock["events_needed"] <= len(m.events))
    )


@part
def _end(m):
    """The horizon: running jobs stay unfinished with what they executed so far."""
    clock = m.clock[0]
    clock["now_ns"] = clock["horizon_ns"]
    clock["ended"] = 1
    for core in range(len(m.cores)):
        if m.cores[core]["running"] != NONE:
            leave_core(m, core)


def _entry(sources):
    """`advance`, compiled for these sources: a constant that the function refers to is part of its key in the cache."""

    @entry
    def advance(
        clock,
        timers,
        soonest,
        processors,
        cores,
        tasks,
        declarations,
        edges,
        sensors,
        steps,
        spans,
        resources,
        lanes,
        links,
        quantiles,
        explicit,
        samples,
        changes,
        rings,
        jobs,
        inputs,
        slices,
        drops,
        transfers,
        log,
        events,
        until_ns,
        most,
    ):
        """Process the instants up to and including `until_ns`, `most` of them at most.

        Returns ADVANCED (`most` instants were processed), REACHED (nothing more happens up to `until_ns`), ENDED (the
        horizon is behind), or FULL: a growing table lacks room for the next instant, which is untouched; call again
        with tables that have clock.jobs_needed ... spare rows. Events are appended; the caller sets clock.events to 0.
        """
        _ = sources
        m = Machine(
            clock,
            timers,
            soonest,
            processors,
            cores,
            tasks,
            declarations,
            edges,
            sensors,
            steps,
            spans,
            resources,
            lanes,
            links,
            quantiles,
            explicit,
            samples,
            changes,
            rings,
            jobs,
            inputs,
            slices,
            drops,
            transfers,
            log,
            events,
        )
        time = m.clock[0]
        instants = 0
        while True:
            if time["ended"] == 1:
                return ENDED
            instant_ns = _next_instant(m)
            if instant_ns > time["horizon_ns"]:
                if until_ns < time["horizon_ns"]:
                    return REACHED
                if not _room_for_instant(m, time["horizon_ns"]):
                    return FULL
                _end(m)
                return ENDED
            if instant_ns > until_ns:
                return REACHED
            if not _room_for_instant(m, instant_ns):
                return FULL
            time["now_ns"] = instant_ns
            if time["late_checks"] > 0:
                take_up_late_checks(m)
            if time["next_change"] < len(changes):
                make_changes(m)
            if time["progress_min_ns"] == instant_ns or time["spins_ended"] > 0:
                completions(m)
            if instant_ns < time["horizon_ns"]:
                deliveries(m)
            expiries(m)
            if instant_ns == time["horizon_ns"]:
                _end(m)
            else:
                arrivals(m)
                dispatch(m)
            instants += 1
            if instants == most:
                return ADVANCED

    return advance


advance = _entry(sources_digest())
