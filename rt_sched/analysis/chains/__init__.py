"""Reaction time and data age of cause-effect chains."""
