"""`rt-sched what-if`: a verdict before and after changes."""
