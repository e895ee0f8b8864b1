"""On which processing element each task runs: one problem, several methods that solve it."""
