"""The analyses of one processor, each with what it needs and what it finds."""

from rt_sched.analysis.methods.curves import EDF_CURVES, FIFO_CURVES, FP_CURVES
from rt_sched.analysis.methods.dag import DAG_RESPONSE_TIME
from rt_sched.analysis.methods.edf import EDF_RESPONSE_TIME
from rt_sched.analysis.methods.fifo import FIFO_RESPONSE_TIME
from rt_sched.analysis.methods.fixed_priority import FP_RESPONSE_TIME
from rt_sched.analysis.methods.method import Found, Method
from rt_sched.analysis.methods.mixed_criticality import AMC_MAX, AMC_RTB
from rt_sched.analysis.methods.multiprocessor import GLOBAL_EDF, GLOBAL_FP
from rt_sched.analysis.methods.offsets import OFFSET_SIMULATION
from rt_sched.analysis.methods.self_suspension import SELF_SUSPENSION, SUSPENSION_OBLIVIOUS
from rt_sched.analysis.methods.sliced import SLICE_SUPPLY
from rt_sched.analysis.methods.table import TABLE_ENTRIES
from rt_sched.analysis.methods.transactions import OFFSET_RESPONSE_TIME

#: Every method, in the order in which they are tried.
METHODS: tuple[Method, ...] = (
    FP_RESPONSE_TIME,
    EDF_RESPONSE_TIME,
    FIFO_RESPONSE_TIME,
    FP_CURVES,
    EDF_CURVES,
    FIFO_CURVES,
    SELF_SUSPENSION,
    SUSPENSION_OBLIVIOUS,
    AMC_RTB,
    AMC_MAX,
    GLOBAL_FP,
    GLOBAL_EDF,
    SLICE_SUPPLY,
    TABLE_ENTRIES,
    OFFSET_SIMULATION,
    OFFSET_RESPONSE_TIME,
    DAG_RESPONSE_TIME,
)

__all__ = ["METHODS", "Found", "Method"]
