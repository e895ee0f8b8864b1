"""From one takeover to the next: what is lost while the first is in force, or not yet, leads to the second.

**What is counted while the second comes into force.** The first may have come into force a moment before, so its
additional arrivals count beside those of the second. Nothing is left out for being lost: every task that goes on, that
the first had brought or that the losses stop arrives as usually. Then in any interval no more jobs arrive on a
processor than these streams allow, as for one takeover.

**Recovery.** What the first had restored may have put out nothing yet: paths that any of the losses cuts, at home or
where the first put their tasks, begin anew at the second switch.

**Refused** is what this does not show: tasks that leave a processor that goes on, while their messages are on their
way; other variants of what stays where the first put it, whose jobs of both variants may be there at one time; arrivals
that are left out anew; and what the first stopped and the second lets begin again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rt_sched import model
from rt_sched.analysis.faults.takeover_loads import faults_of
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.losses import lost_devices, lost_sensors


def changes_schedule(takeover: model.Takeover) -> bool:
    """Whether a takeover does more than weigh views in the fusion."""
    return any((takeover.moves, takeover.dropped, takeover.redone, takeover.at_once, takeover.variants))


def new_losses(system: model.System, first: model.Takeover, second: model.Takeover) -> tuple[str, ...]:
    """What of the losses of `second` came on top of those of `first`.

    Raises AnalysisNotApplicable where nothing came, or something is back: then `second` is no answer to a further loss.
    """
    silent = lost_sensors(system, faults_of(second.losses))
    back = [one for one in first.losses if one not in second.losses and one.partition(":")[2] not in silent]
    more = tuple(one for one in second.losses if one not in first.losses)
    if back:
        raise AnalysisNotApplicable(f"{', '.join(back)} came back while something else was lost")
    if not more:
        raise AnalysisNotApplicable("nothing more was lost")
    return more


def joined(mode: ModeLoad, first: model.Takeover, second: model.Takeover) -> model.Takeover:
    """All that runs while `second` follows `first`: the moves of both, nothing dropped, residents as usually.

    Raises AnalysisNotApplicable for what is not analysed.
    """
    stopped = lost_devices(faults_of(second.losses))
    before = {one.task: one for one in first.moves}
    after = {one.task: one for one in second.moves}
    for placement in mode.plan.placements:
        name = placement.task
        old, new = before.get(name, placement), after.get(name, placement)
        place = mode.plan.processors[old.processor]
        stays = (old.processor, old.level) == (new.processor, new.level)
        _refuse_variants(mode.system, name, first, second, stays=stays, moved=name in before or name in after)
        if not stays and name in after and place.device not in stopped:
            raise AnalysisNotApplicable(f"{name} leaves {place.name}, which goes on")
    again = [name for name in first.dropped if name not in second.dropped]
    if again:
        raise AnalysisNotApplicable(f"{again[0]}, which the takeover in force had stopped, begins again")
    vanishing = tuple(one for name, one in before.items() if name not in after)
    moved = {*before, *after}
    variants = {**dict(first.variants), **dict(second.variants)}
    return replace(
        second,
        moves=(*second.moves, *vanishing),
        dropped=(),
        variants=tuple((name, chosen) for name, chosen in variants.items() if name in moved),
    )


def late_arrivals(
    system: model.System, takeover: model.Takeover, before: Mapping[int, TaskBound], across: Mapping[int, TaskBound]
) -> model.Takeover | None:
    """One more arrival of every task that is moved and may answer later before its move than behind it; None: of none.

    What it had sent late, before, then comes closer to what it sends from its new place than one stream allows: by as
    many messages as fit in between the two responses. They count as if they came from its new place, too. `before`,
    `across`: bounds until the takeover, and while it comes into force without these arrivals.
    """
    moved = {one.task for one in takeover.moves}
    found: dict[str, int] = {}
    for index, task in enumerate(system.tasks):
        old, new = before.get(index), across.get(index)
        if task.name not in moved or old is None or new is None or old.bound is None or new.bound is None:
            continue
        if old.bound.value_ns > new.bound.value_ns:
            found[task.name] = -((new.bound.value_ns - old.bound.value_ns) // task.separation_ns)
    if not found:
        return None
    timed = {task.name for task in system.tasks if task.is_timed}
    again = [name for name, count in found.items() for _ in range(count)]
    return replace(
        takeover,
        redone=tuple(name for name in again if name not in timed),
        at_once=tuple((name, 0) for name in again if name in timed),
    )


def _refuse_variants(
    system: model.System, name: str, first: model.Takeover, second: model.Takeover, *, stays: bool, moved: bool
) -> None:
    """Raise where jobs of two variants, or arrivals that are counted anew, may meet on a processor."""
    chosen = [dict(one.variants).get(name) for one in (first, second)]
    task = next(one for one in system.tasks if one.name == name)
    every = [next((one.every for one in task.variants if one.name == wanted), 1) for wanted in chosen]
    if not moved or (stays and chosen[0] == chosen[1]):
        return
    if stays:
        raise AnalysisNotApplicable(f"{name} goes on in another variant where the takeover in force had put it")
    if max(every) > 1 and name in {one.task for one in first.moves}:
        raise AnalysisNotApplicable(f"{name} leaves out arrivals, and counts them anew")
