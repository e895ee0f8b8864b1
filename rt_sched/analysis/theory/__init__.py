"""Analyses as the literature states them: plain numbers in, bounds out; nothing here knows a system or a plan."""
