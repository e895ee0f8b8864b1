"""Running stage code under a schedule: here the lockstep executor, in virtual time."""
