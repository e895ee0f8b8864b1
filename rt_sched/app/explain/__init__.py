"""`rt-sched explain`: where a bound or a time in a run comes from."""
