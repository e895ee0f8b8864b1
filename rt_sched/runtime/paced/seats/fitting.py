"""Where a process beside the tasks goes in the tier `deadline`: onto a core where all reservations keep deadlines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from rt_sched.analysis.batch import Status, edf_response_times
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.analysis.system.spare_time import workload_ns
from rt_sched.model import Plan, System
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.paced.deployment import core_mates
from rt_sched.runtime.paced.seats.reservations import SHORTER, task_reservations
from rt_sched.runtime.paced.seats.wakeups import Wakeups, with_switches
from rt_sched.units import floor_int


@dataclass(frozen=True, slots=True)
class Room:
    """Of every processor of a plan: the reservations that its core has so far, as they count in the analysis.

    `share`: the part of a core that the kernel admits. `loss`: what it lends to others where they have had less, which
    leaves no bounds. `switch_ns`, `mates`: of each processor, the latter as of `core_mates`; `taken`: on it alone.
    """

    share: Fraction
    loss: SupplyLoss | None
    switch_ns: Sequence[int]
    mates: Sequence[Sequence[int]]
    taken: list[list[Reservation]] = field(default_factory=list)

    @classmethod
    def beside(cls, system: System, plan: Plan, share: Fraction, loss: SupplyLoss | None) -> Room:
        """What the tasks leave."""
        kinds = {(device.name, one.name): one for device in system.devices for one in device.processing_elements}
        switch_ns = [kinds[one.device, one.pe].switch_cost_ns for one in plan.processors]
        taken: list[list[Reservation]] = [[] for _ in plan.processors]
        for index, one in task_reservations(system, plan).items():
            taken[plan.placements[index].processor].append(one)
        return cls(share, loss, switch_ns, core_mates(system, plan), taken)

    def copy(self) -> Room:
        """One in which something may be tried."""
        return Room(self.share, self.loss, self.switch_ns, self.mates, [list(mine) for mine in self.taken])

    def greedy(self) -> Room:
        """The same, for those that leave others less than what the kernel lends them."""
        return Room(self.share, None, self.switch_ns, self.mates, self.taken)

    def place(
        self, tries: Iterable[tuple[int, Reservation]], wakeups: Sequence[Wakeups]
    ) -> tuple[int, Reservation] | None:
        """The first processor with a reservation that fits there, which is taken from now on; None where none fits."""
        for processor, one in tries:
            counted = self._counted(processor, one, wakeups)
            if self._fits(processor, counted):
                self.taken[processor].append(counted)
                return processor, one
        return None

    def part(self, processor: int) -> Fraction:
        """What is taken of its core."""
        return sum((Fraction(one.runtime_ns, one.period_ns) for one in self._on_core_of(processor)), Fraction(0))

    def _on_core_of(self, processor: int) -> list[Reservation]:
        return [one for mate in self.mates[processor] for one in self.taken[mate]]

    def _counted(self, processor: int, one: Reservation, wakeups: Sequence[Wakeups]) -> Reservation:
        switch_ns = self.switch_ns[processor]
        whole, period_ns = with_switches(one, wakeups, switch_ns), floor_int(one.period_ns * SHORTER)
        return Reservation(whole.runtime_ns + 2 * switch_ns, period_ns, period_ns)

    def _fits(self, processor: int, one: Reservation) -> bool:
        everyone = [*self._on_core_of(processor), one]
        part = self.part(processor) + Fraction(one.runtime_ns, max(one.period_ns, 1))
        if one.runtime_ns > one.deadline_ns or part > self.share:
            return False
        found = edf_response_times(
            [[each.runtime_ns for each in everyone]],
            [[each.period_ns for each in everyone]],
            [[each.deadline_ns for each in everyone]],
        )
        if not ((found.status == Status.OK).all() and found.schedulable.all()):
            return False
        return self.loss is None or self._spare_ns(everyone, found.response_ns[0].tolist()) >= self.loss.lost_ns

    def _spare_ns(self, everyone: Sequence[Reservation], response_ns: Sequence[int]) -> int:
        """What they leave in each period of the loss."""
        window_ns = 0 if self.loss is None else self.loss.period_ns
        return window_ns - sum(
            workload_ns(one.runtime_ns, one.period_ns, latest_ns, window_ns)
            for one, latest_ns in zip(everyone, response_ns, strict=True)
        )
