"""Edges between the processes of one host.

`channels` says what is to be carried. `segment` carries it in shared memory of this product (`rt_sched.kernels.ring`),
without leaving anything in the file system; `iceoryx` has iceoryx2 carry it. Both are behind `rt_sched.ports.Port`.
"""

from rt_sched.transport.channels import Channel, ChannelReader
from rt_sched.transport.segment import Segment

__all__ = ["Channel", "ChannelReader", "Segment"]
