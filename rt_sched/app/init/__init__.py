"""`rt-sched init`: a first system file for a recording."""
