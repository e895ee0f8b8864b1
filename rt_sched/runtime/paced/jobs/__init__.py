"""What the process of a task does: waits for arrivals, reads its edges, runs the stage, publishes, writes jobs down."""
