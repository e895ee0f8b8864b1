"""Sensors watched in a run, in lockstep or on this host: what is asked of the watch, and what is told of it."""
