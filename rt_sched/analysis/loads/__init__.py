"""What each processor carries in a mode: its tasks with their costs, arrivals, sections and blocking."""
