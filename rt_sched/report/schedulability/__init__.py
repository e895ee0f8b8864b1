"""The schedulability report: one document with all results becomes one page that needs nothing else."""

from rt_sched.report.schedulability.page import render_schedulability_report

__all__ = ["render_schedulability_report"]
