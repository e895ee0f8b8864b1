"""From a System and a Plan to the numbers of the scheduling machine; `check_plan` is the one structural gate."""

from rt_sched.lowering.check_plan import check_plan
from rt_sched.lowering.losses import lost_devices, lost_sensors
from rt_sched.lowering.lower import Execution, lower

__all__ = ["Execution", "check_plan", "lost_devices", "lost_sensors", "lower"]
