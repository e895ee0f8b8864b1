"""Sensors watched while a paced run goes on, and whoever watches them watched too."""
