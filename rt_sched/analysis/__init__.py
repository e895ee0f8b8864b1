"""Schedulability analysis: bounds that hold for every legal run, each with its assumptions and its source."""
