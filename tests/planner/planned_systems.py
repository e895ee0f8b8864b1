"""Systems that leave a choice to the planner."""

from __future__ import annotations

from rt_sched.config import load_system_text
from rt_sched.model import System


def system_of(text: str) -> System:
    return load_system_text(f"rt_sched: 1\nname: choice\n{text}", file_name="choice", base_dir=".", stages=None)


#: A fast element that draws much, and a slow one that draws little, on each of two devices, and a link between these.
TRADE = """
devices:
  a: &device
    processing_elements:
      big: {kind: cpu, frequency: 2GHz, busy_power: 10W, idle_power: 2W}
      little: {kind: cpu, frequency: 1GHz, busy_power: 2W, idle_power: 100mW}
  b: *device
links: {wire: {bandwidth: 1Gbit/s, latency: 0.1ms, between: [a, b]}}
sensors:
  left: {kind: camera, rate: 20Hz, attached_to: [a, b], topic: /l, frame_size: 100kB}
  right: {kind: camera, rate: 20Hz, attached_to: [a, b], topic: /r, frame_size: 100kB}
tasks:
  see_left:
    {runs_on: a.little, candidates: [a.big, b.big, b.little], inputs: {x: left}, execution: {wcet: 6ms, at: 2GHz},
     deadline: 50ms, output_size: 50kB}
  track_left:
    {runs_on: a.little, candidates: [a.big, b.big, b.little], inputs: {x: see_left}, execution: {wcet: 3ms, at: 2GHz},
     deadline: 50ms, output_size: 10kB}
  see_right:
    {runs_on: a.little, candidates: [a.big, b.big, b.little], inputs: {x: right}, execution: {wcet: 6ms, at: 2GHz},
     deadline: 50ms, output_size: 50kB}
  track_right:
    {runs_on: a.little, candidates: [a.big, b.big, b.little], inputs: {x: see_right}, execution: {wcet: 3ms, at: 2GHz},
     deadline: 50ms, output_size: 10kB}
  act: {runs_on: a.little, candidates: [a.big, b.big, b.little], activation: {rate: 20Hz},
    inputs: {left: track_left, right: track_right}, execution: {wcet: 2ms, at: 2GHz}, deadline: 20ms}
chains:
  left: {path: [left, see_left, track_left, act], max_latency: 200ms}
  right: {path: [right, see_right, track_right, act], max_latency: 200ms}
"""
