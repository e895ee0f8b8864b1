"""`rt-sched replay`: a recording through the stages, in lockstep."""
