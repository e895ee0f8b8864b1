"""`rt-sched plan`: placement, priorities, tables, failover."""
