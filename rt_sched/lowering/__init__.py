"""From a System and a Plan to the numbers of the scheduling machine; `check_plan` is the one structural gate."""
