"""`rt-sched analyze`: bounds and verdicts."""
