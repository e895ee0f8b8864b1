"""Results of a run as pages that a person reads."""
