"""Fault scripts: what may be injected, runs with faults, and campaigns of them."""
