"""`rt-sched profile`: execution times of stages on this host."""
