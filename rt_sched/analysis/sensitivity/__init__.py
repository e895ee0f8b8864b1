"""By how much a system may change until something that is proven of it no longer is."""

from rt_sched.analysis.sensitivity.execution import MILLION
from rt_sched.analysis.sensitivity.margins import Sensitivity, sensitivity

__all__ = ["MILLION", "Sensitivity", "sensitivity"]
