"""Schedulability analysis: bounds that hold for every legal run, each with its assumptions and its source."""

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import AnalysisReport, Bound, Term, Verdict

__all__ = ["AnalysisReport", "Bound", "Term", "Verdict", "analyze"]
