"""One-way latency between two processes: rt-sched's channels beside other transports, in one run.

    64 B           at 500 Hz, from before the call that sends until the receiver has the content
    64 B, rare     the same at 30 Hz: a core that has rested for longer wakes up later
    6.2 MB         at 30 Hz, a 1920 x 1080 RGB frame in memory of the sender, until the receiver has all of it
    in place       at 500 Hz, the same frame already written into a slot of the transport, from before its publication
    in place, rare the same at 30 Hz

The receiver sleeps until it is woken: nobody polls. The transports take turns, so that each meets the same load; each
round has a receiver of its own. Messages that a full queue loses are not in the figures, only in the count. Peers that
are not installed (`pip install 'rt-sched[bench]'`) are named. Run it from the root of a checkout:

    python benchmarks/transport.py [--rounds N] [--priority P] [--json]
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import platform
import signal
import statistics
import struct
import sys
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rt_sched.runtime.host.polling import comes

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

SCHEMA = "rt-sched/benchmark-transport/1"
#: Module of `transports` -> the distribution that it needs, None where that is no other than this one.
PEERS = {"ring": None, "pipe": None, "iceoryx": "iceoryx2", "cyclone": "cyclonedds"}


@dataclass(frozen=True, slots=True)
class Case:
    """`count` messages a round after `warm_up` others. `in_place`: only what can write into its own memory."""

    name: str
    size: int
    rate_hz: int
    count: int
    warm_up: int
    in_place: bool = False


CASES = (
    Case("64 B", 64, 500, 600, 60),
    Case("64 B, rare", 64, 30, 60, 10),
    Case("6.2 MB", 1920 * 1080 * 3, 30, 60, 10),
    Case("in place", 1920 * 1080 * 3, 500, 600, 60, in_place=True),
    Case("in place, rare", 1920 * 1080 * 3, 30, 60, 10, in_place=True),
)
#: Percentile, case and transport, those that it is compared with, and the largest ratio that is good.
TARGETS = (
    ("p50", ("64 B", "rt-sched"), ("64 B", "pipe"), 1.5),
    *(("p50", ("64 B", "rt-sched"), ("64 B", peer), 1.0) for peer in ("iceoryx2", "Cyclone DDS")),
    *(
        (part, ("6.2 MB", "rt-sched"), ("6.2 MB", peer), 1.0)
        for part in ("p50", "p99")
        for peer in ("pipe", "iceoryx2", "Cyclone DDS")
    ),
    *(("p50", (f"in place{rate}", "rt-sched"), (f"64 B{rate}", "rt-sched"), 2.0) for rate in ("", ", rare")),
    *(("p50", (f"in place{rate}", "rt-sched"), (f"in place{rate}", "iceoryx2"), 1.0) for rate in ("", ", rare")),
)
_STAMP = struct.Struct("<q")


def installed() -> tuple[dict[str, ModuleType], list[str]]:
    """The transports that can be measured, and why others cannot."""
    found, missing = {}, []
    for name, distribution in PEERS.items():
        try:
            found[name] = importlib.import_module(f"transports.{name}")
        except ImportError as error:
            missing.append(f"{distribution or name} is not measured: {error}")
    return found, missing


def measure(transport: ModuleType, case: Case) -> list[int]:
    """One-way latencies of one round, in ns."""
    peer = transport.Peer(case.size)
    results, written = os.pipe()
    child = os.fork()
    if not child:
        try:
            _receive(peer, case, written)
        finally:
            os._exit(1)
    os.close(written)
    try:
        with os.fdopen(results, "rb", buffering=0) as answers:
            answers.read(1)
            peer.sender()
            time.sleep(0.5)  # discovery, where there is one
            gc.disable()
            _send(peer, case)
            gc.enable()
            if not comes(answers, 1.0):
                os.kill(child, signal.SIGALRM)  # some were lost
            content = answers.read()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    peer.close()
    latencies = np.frombuffer(content, np.int64)[case.warm_up :].tolist()
    if len(latencies) < case.count // 2:
        raise SystemExit(f"{transport.TITLE}, {case.name}: only {len(latencies)} of {case.count} messages arrived")
    return latencies


def _receive(peer: Any, case: Case, written: int) -> None:
    """The child: takes all messages and answers with their latencies, those of lost ones left out."""
    gc.disable()
    latencies: list[int] = []

    def finish(*_: object) -> None:
        os.write(written, np.array(latencies, np.int64).tobytes())
        os._exit(0)

    signal.signal(signal.SIGALRM, finish)
    os.write(written, b"!")
    for content in peer.receiver():
        (stamp,) = _STAMP.unpack_from(content)
        latencies.append(time.monotonic_ns() - stamp)
        if len(latencies) == case.count + case.warm_up:
            finish()


def _send(peer: Any, case: Case) -> None:
    source = np.random.default_rng(0).integers(0, 256, case.size, np.uint8)
    begin = time.monotonic_ns() + 10_000_000
    for number in range(case.count + case.warm_up):
        if case.in_place:
            loan = peer.loan()
            loan[:] = source.data
        pause_ns = begin + number * 1_000_000_000 // case.rate_hz - time.monotonic_ns()
        if pause_ns > 0:
            time.sleep(pause_ns / 1e9)
        if case.in_place:
            _STAMP.pack_into(loan, 0, time.monotonic_ns())
            peer.publish()
        else:
            _STAMP.pack_into(source.data, 0, time.monotonic_ns())
            peer.send(source)


def measure_all(rounds: int) -> dict[str, Any]:
    """Every case with every transport, in turns, and what follows from it."""
    transports, missing = installed()
    samples: dict[tuple[str, str], list[int]] = {}
    load = [os.getloadavg()[0]]
    for number in range(rounds):
        print(f"round {number + 1} of {rounds} ...", file=sys.stderr)
        for case in CASES:
            for transport in transports.values():
                if not case.in_place or transport.IN_PLACE:
                    samples.setdefault((case.name, transport.TITLE), []).extend(measure(transport, case))
        load.append(os.getloadavg()[0])
    results = [
        {"case": case, "transport": title, "messages": len(found), **_percentiles(found)}
        for (case, title), found in samples.items()
    ]
    return {
        "schema": SCHEMA,
        "rounds": rounds,
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "kernel": platform.release()},
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for peer, name in PEERS.items() if name and peer in transports},
        },
        "load": load,
        "missing": missing,
        "results": results,
        "ratios": _ratios(results),
    }


def _percentiles(latencies: list[int]) -> dict[str, int]:
    cuts = statistics.quantiles(latencies, n=100, method="inclusive")
    return {"p50_ns": round(cuts[49]), "p99_ns": round(cuts[98]), "max_ns": max(latencies)}


def _ratios(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the targets ask for, as far as it was measured."""
    value = {(row["case"], row["transport"], part): row[f"{part}_ns"] for row in results for part in ("p50", "p99")}
    found = []
    for part, (case, title), (other_case, other), limit in TARGETS:
        if (case, title, part) in value and (other_case, other, part) in value:
            ratio = value[case, title, part] / value[other_case, other, part]
            found.append(
                {
                    "what": f"{part} of {title}, {case}, over {other}, {other_case}",
                    "ratio": round(ratio, 3),
                    "target": limit,
                    "met": ratio <= limit,
                }
            )
    return found


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(document: dict[str, Any]) -> str:
    machine = document["machine"]
    lines = [f"{'':16}{'transport':14}{'p50 us':>10}{'p99 us':>10}{'max us':>10}{'messages':>10}"]
    lines += [
        f"{row['case']:16}{row['transport']:14}"
        + "".join(f"{row[part] / 1000:10.1f}" for part in ("p50_ns", "p99_ns", "max_ns"))
        + f"{row['messages']:10}"
        for row in document["results"]
    ]
    lines.append("")
    lines += [
        f"{row['what']}: {row['ratio']:.2f} (target: <= {row['target']}{'' if row['met'] else ', missed'})"
        for row in document["ratios"]
    ]
    lines += document["missing"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    load = ", ".join(f"{load:.1f}" for load in document["load"])
    scheduling = "default scheduling" if document["priority"] is None else f"SCHED_FIFO {document['priority']}"
    lines.append(f"{machine['cores']} cores {machine['processor']}, Linux {machine['kernel']}, {versions}")
    lines.append(f"{scheduling}, load average before and after each round {load}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="turns of every transport (default: 5)")
    parser.add_argument("--priority", type=int, help="run all processes under SCHED_FIFO with this priority, 1 to 99")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    if arguments.priority is not None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(arguments.priority))
        except (OSError, ValueError) as error:
            parser.error(f"--priority: {error}")
    document = measure_all(arguments.rounds)
    document["priority"] = arguments.priority
    print(json.dumps(document, indent=2) if arguments.json else table(document))


if __name__ == "__main__":
    main()
