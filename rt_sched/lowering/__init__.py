"""From a System and a Plan to the numbers of the scheduling machine; `check_plan` is the one structural gate."""

from rt_sched.lowering.check_plan import check_plan
from rt_sched.lowering.losses import lost_devices, lost_links, lost_sensors
from rt_sched.lowering.lower import input_role, lower, uses_let
from rt_sched.lowering.machine_input import Role
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution

__all__ = [
    "Execution",
    "Role",
    "check_plan",
    "input_role",
    "lost_devices",
    "lost_links",
    "lost_sensors",
    "lower",
    "nominal_samples",
    "uses_let",
]
