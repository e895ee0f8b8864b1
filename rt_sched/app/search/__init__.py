"""`rt-sched search`: for the runs that come nearest to the bounds."""
