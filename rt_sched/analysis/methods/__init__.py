"""The analyses of one processor, each with what it needs and what it finds."""

from rt_sched.analysis.methods.curves import EDF_CURVES, FIFO_CURVES, FP_CURVES
from rt_sched.analysis.methods.edf import EDF_RESPONSE_TIME
from rt_sched.analysis.methods.fifo import FIFO_RESPONSE_TIME
from rt_sched.analysis.methods.fixed_priority import FP_RESPONSE_TIME
from rt_sched.analysis.methods.method import Found, Method

#: Every method, in the order in which they are tried.
METHODS: tuple[Method, ...] = (
    FP_RESPONSE_TIME,
    EDF_RESPONSE_TIME,
    FIFO_RESPONSE_TIME,
    FP_CURVES,
    EDF_CURVES,
    FIFO_CURVES,
)

__all__ = ["METHODS", "Found", "Method"]
