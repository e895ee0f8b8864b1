"""What is told of a run, whichever command made it."""
