"""`rt-sched simulate`: many runs without stages."""
