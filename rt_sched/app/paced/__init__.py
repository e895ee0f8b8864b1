"""`rt-sched replay --paced`: a run of real processes on this host."""
