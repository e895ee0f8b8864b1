"""Exact simulation in virtual time: machine input in, trace out, in bulk or one instant at a time."""

from rt_sched.sim.simulation import Simulation

__all__ = ["Simulation"]
