"""The examination behind `rt-sched doctor`: what this machine allows, what stands in the way, and how to mend it."""
