"""Runs that contain a change of mode: their loads, bounds for every position of the change, and verdicts."""
