"""Rigs that lose things: one by hand, and random ones."""

from __future__ import annotations

from hypothesis import strategies as st

from rt_sched.config import load_system_text
from rt_sched.model import System

#: Camera -> see on a; fuse and decide on b; the arbiter beside the actuators.
RIG = """
rt_sched: 1
name: rig
devices:
  a: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
  b: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
  gateway: {processing_elements: {mcu: {kind: mcu}}}
sensors:
  front: {kind: camera, rate: 20Hz, latency: 2ms, jitter: 500us, attached_to: [a, b], topic: /front}
  rear: {kind: camera, rate: 20Hz, latency: 2ms, jitter: 500us, attached_to: [b, a], topic: /rear}
tasks:
  see: {runs_on: a.cpu, inputs: {image: front}, execution: {bcet: 1ms, wcet: 4ms}, deadline: 20ms, criticality: B}
  watch: {runs_on: b.cpu, inputs: {image: rear}, execution: {bcet: 1ms, wcet: 2ms}, deadline: 20ms, criticality: B}
  fuse: {runs_on: b.cpu, activation: {rate: 20Hz, offset: 15ms}, execution: {bcet: 1ms, wcet: 3ms}, criticality: B,
    inputs: {ahead: {from: see, required: false}, behind: {from: watch, required: false}}}
  decide: {runs_on: b.cpu, inputs: {objects: fuse}, execution: {bcet: 500us, wcet: 1ms}, criticality: B}
  arbiter: {runs_on: gateway.mcu, activation: {rate: 100Hz}, execution: {bcet: 100us, wcet: 500us}, criticality: D,
    inputs: {primary: {from: decide, required: false}}}
  EXTRA
chains:
  ahead: {path: [front, see, fuse, decide, arbiter], max_reaction: 250ms}
  behind: {path: [rear, watch, fuse, decide, arbiter], max_reaction: 250ms}
safety: {arbiter: arbiter, primary: decide, recovery_limit: 100ms}
faults:
  lose_a: {lose: a, at: 1s}
  lose_b: {lose: b, at: 1s}
  lose_front: {lose: front, at: 1s}
"""


def rig(*changes: tuple[str, str], extra: str = "") -> System:
    """The rig with each (old, new) text replaced, and one more task."""
    text = RIG.replace("  EXTRA\n", extra)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return load(text)


def load(text: str) -> System:
    return load_system_text(text, file_name="rig.yaml", base_dir=".", stages=None)


@st.composite
def rigs(draw: st.DrawFn) -> System:
    """Two to four devices with cameras at two of them, a fusion, a decision, an arbiter, and work that may go."""
    devices = draw(st.integers(2, 4))
    cores = draw(st.integers(1, 3))
    memory = draw(st.sampled_from(["", ", memory: 700MB", ", memory: 2GB"]))
    switch = draw(st.sampled_from(["", ", switch_cost: 50us"]))
    linked = draw(st.booleans())
    lines = ["rt_sched: 1", "name: random", f"policy: {draw(st.sampled_from(['rms', 'dm', 'edf']))}", "devices:"]
    for number in range(devices):
        elements = f"cpu: {{kind: cpu, cores: {cores}{switch}}}, gpu: {{kind: gpu, preemptive: false}}"
        lines.append(f"  d{number}: {{processing_elements: {{{elements}}}{memory}}}")
    lines += ["  gateway: {processing_elements: {mcu: {kind: mcu}}}"]
    if linked:
        lines.append("links: {net: {bandwidth: 100MB/s, latency: 200us}}")
    lines.append("sensors:")
    cameras = [(f"cam{n}", n % devices) for n in range(draw(st.integers(1, 2 * devices)))]
    for name, home in cameras:
        homes = f"[d{home}, d{(home + 1) % devices}]" if draw(st.integers(0, 4)) else f"d{home}"
        rate = draw(st.sampled_from(["10Hz", "20Hz", "30Hz"]))
        lines.append(
            f"  {name}: {{kind: camera, rate: {rate}, latency: 2ms, jitter: 300us, attached_to: {homes}, "
            f"topic: /{name}}}"
        )
    if draw(st.booleans()):
        lines.append("  top: {kind: lidar, rate: 10Hz, latency: 1ms, attached_to: [d0, d1], topic: /top}")
        cameras.append(("top", 0))
    lines.append("tasks:")
    over = ", link: net, size: 10kB" if linked else ""
    for name, home in cameras:
        cost = draw(st.integers(1, 8))
        variants = ", variants: {small: {execution: {wcet: 0.6ms}}, seldom: {every: 2}}" if draw(st.booleans()) else ""
        asil = draw(st.sampled_from(["QM", "A", "B"]))
        size = draw(st.sampled_from(["", ", memory: 300MB"]))
        lines.append(
            f"  pre_{name}: {{runs_on: d{home}.cpu, inputs: {{i: {name}}}, criticality: {asil}{variants}{size}, "
            f"execution: {{bcet: 0.5ms, wcet: {cost}ms}}, deadline: {draw(st.integers(10, 30))}ms}}"
        )
        lines.append(
            f"  infer_{name}: {{runs_on: d{home}.gpu, inputs: {{i: pre_{name}}}, criticality: {asil}{size}, "
            f"execution: {{bcet: 1ms, wcet: {draw(st.integers(1, 9))}ms}}, deadline: {draw(st.integers(15, 40))}ms}}"
        )
    reads = ", ".join(f"{name}: {{from: infer_{name}, required: false{over}}}" for name, _ in cameras)
    where = draw(st.integers(0, devices - 1))
    lines += [
        f"  fuse: {{runs_on: d{where}.cpu, activation: {{rate: 20Hz}}, inputs: {{{reads}}}, criticality: B, "
        f"execution: {{bcet: 1ms, wcet: {draw(st.integers(1, 6))}ms}}}}",
        f"  decide: {{runs_on: d{where}.cpu, inputs: {{o: fuse}}, criticality: B, execution: {{wcet: 1ms}}}}",
        "  arbiter: {runs_on: gateway.mcu, activation: {rate: 100Hz}, criticality: D, execution: {wcet: 0.5ms}, "
        "inputs: {p: {from: decide, required: false}}}",
    ]
    for number in range(draw(st.integers(0, 3))):
        lines.append(
            f"  spare{number}: {{runs_on: d{number % devices}.cpu, activation: {{rate: {draw(st.integers(5, 50))}Hz}}, "
            f"execution: {{wcet: {draw(st.integers(1, 6))}ms}}}}"
        )
    first = cameras[0][0]
    lines += [
        f"chains: {{brake: {{path: [{first}, pre_{first}, infer_{first}, fuse, decide, arbiter]}}}}",
        "safety: {arbiter: arbiter, primary: decide, recovery_limit: 150ms}",
    ]
    return load("\n".join(lines) + "\n")


def large(devices: int, cameras: int, spares: int) -> System:
    """Devices in a ring with two cores and a GPU each; cameras, three tasks each, are at home there and at the next."""
    lines = ["rt_sched: 1", "name: large", "devices:"]
    for number in range(devices):
        elements = "cpu: {kind: cpu, cores: 2}, gpu: {kind: gpu, preemptive: false}"
        lines.append(f"  d{number}: {{processing_elements: {{{elements}}}}}")
    lines += ["  gateway: {processing_elements: {mcu: {kind: mcu}}}", "sensors:"]
    views = [(f"c{home}_{number}", home) for home in range(devices) for number in range(cameras)]
    lines += [
        f"  {name}: {{kind: camera, rate: 20Hz, latency: 3ms, jitter: 300us, topic: /{name}, "
        f"attached_to: [d{home}, d{(home + 1) % devices}]}}"
        for name, home in views
    ]
    lines.append("tasks:")
    for name, home in views:
        for stage, source, element, cost, deadline in (
            ("pre", name, "cpu", 2, 15),
            ("infer", f"pre_{name}", "gpu", 3, 25),
            ("post", f"infer_{name}", "cpu", 1, 15),
        ):
            lines.append(
                f"  {stage}_{name}: {{runs_on: d{home}.{element}, inputs: {{i: {source}}}, criticality: B, "
                f"execution: {{bcet: 0.2ms, wcet: {cost}ms}}, deadline: {deadline}ms}}"
            )
    for number in range(spares):
        lines.append(
            f"  spare{number}: {{runs_on: d{number % devices}.cpu, activation: {{rate: 10Hz}}, "
            "execution: {wcet: 2ms}}"
        )
    reads = ", ".join(f"{name}: {{from: post_{name}, required: false}}" for name, _ in views)
    lines += [
        f"  fuse: {{runs_on: d0.cpu, activation: {{rate: 20Hz}}, criticality: B, inputs: {{{reads}}}, "
        "execution: {bcet: 1ms, wcet: 4ms}, deadline: 30ms}",
        "  decide: {runs_on: d0.cpu, inputs: {o: fuse}, criticality: B, execution: {wcet: 1ms}, deadline: 15ms}",
        "  arbiter: {runs_on: gateway.mcu, activation: {rate: 100Hz}, criticality: D, execution: {wcet: 0.5ms}, "
        "inputs: {p: {from: decide, required: false}}}",
        "chains:",
    ]
    lines += [
        f"  by_{name}: {{path: [{name}, pre_{name}, infer_{name}, post_{name}, fuse, decide, arbiter]}}"
        for name, _ in views[:2]
    ]
    lines.append("safety: {arbiter: arbiter, primary: decide, recovery_limit: 150ms}")
    return load("\n".join(lines) + "\n")
