"""`rt-sched chart`: the schedule of a run that was recorded."""
