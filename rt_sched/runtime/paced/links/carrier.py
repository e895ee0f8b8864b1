"""What carries the messages of a link in a paced run: emulated, or whatever else has this form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

#: One message on a link. `number`: of the job that sent it, or the row of the sample. Times are run time, -1 for never:
#: `queued_ns` when it was published, [start_ns, end_ns) on the link, `due_ns` when it is to be delivered, and was.
TRANSFER = np.dtype(
    [(name, np.int64) for name in ("edge", "number", "queued_ns", "start_ns", "end_ns", "due_ns", "delivered_ns")]
)


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """The way of one edge over a link. `edge`: its index in the setup.

    `channel`, `reader`: where messages are taken from; `delivered`: the channel into which they are put. `transfer_ns`:
    for which each is on the link. `apart_ns`: the least distance of two.
    """

    edge: int
    channel: str
    reader: str
    delivered: str
    transfer_ns: int
    apart_ns: int


class Carrier(Protocol):
    """Of one link, made before the forks. `kind`: what it is, as results call it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def ready(self) -> bool:
        """Whether it waits for the begin."""

    def run(self) -> None:
        """In a process of its own, until the run has ended."""

    def transfers(self) -> npt.NDArray[Any]:
        """Every message so far, in the order in which the link took them, as `TRANSFER`."""
