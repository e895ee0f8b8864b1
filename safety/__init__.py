"""The safety path: watchdogs, backup decision and arbiter, small enough to review by hand."""
