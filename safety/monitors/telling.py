"""What a monitor goes on to find is told once, when it begins; told again only after a look that found nothing."""

from __future__ import annotations

from safety.monitors.delivery import Delivery, Monitor


class Telling:
    """A monitor, and whether it finds something now: `finds`."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.finds = False

    def see(self, delivery: Delivery) -> str | None:
        """What is wrong, where nothing was at the delivery before; None while nothing new is."""
        reason, before = self.monitor.see(delivery), self.finds
        self.finds = reason is not None
        return None if before else reason
