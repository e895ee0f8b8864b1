"""Faults that a run is given on purpose: what may be injected, the scripts that say so, and what notices it."""
