"""System files: YAML in, a checked System out, every mistake at once with line and column."""

from rt_sched.config.loader import load_system, load_system_text
from rt_sched.config.notes import system_notes

__all__ = ["load_system", "load_system_text", "system_notes"]
