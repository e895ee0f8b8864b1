"""`rt-sched report`: the schedulability report."""
