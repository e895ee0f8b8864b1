"""What strikes the processes of a run, and what supervisors notice of it."""
