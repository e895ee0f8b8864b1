"""System files and task sets: text in, checked data out, every mistake at once with line and column."""

from rt_sched.config.loader import load_system, load_system_text
from rt_sched.config.notes import system_notes
from rt_sched.config.task_sets import load_task_set

__all__ = ["load_system", "load_system_text", "load_task_set", "system_notes"]
