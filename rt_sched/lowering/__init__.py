"""From a System and a Plan to the numbers of the scheduling machine; `check_plan` is the one structural gate."""

from rt_sched.lowering.check_plan import check_plan
from rt_sched.lowering.losses import lost_devices, lost_sensors
from rt_sched.lowering.lower import Execution, input_role, lower
from rt_sched.lowering.machine_input import Role

__all__ = ["Execution", "Role", "check_plan", "input_role", "lost_devices", "lost_sensors", "lower"]
