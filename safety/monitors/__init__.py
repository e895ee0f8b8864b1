"""Monitors of what sensors and tasks deliver: each small, each with a declared worst time until it notices."""
