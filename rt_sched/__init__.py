"""Deadline-aware scheduling of perception pipelines: one system file, one plan, four uses."""

__version__ = "0.1.0"
