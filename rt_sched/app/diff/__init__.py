"""`rt-sched diff`: two systems, analyses or runs side by side."""
