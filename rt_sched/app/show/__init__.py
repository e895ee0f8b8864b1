"""`rt-sched show`: a system as tables."""
