"""Many seeds in blocks, each in a process of its own; finished blocks are kept, so an interrupted run goes on."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_KEY = ("first", "count")


@dataclass(frozen=True)
class Blocks:
    """How `script` runs seeds in blocks of `size`.

    Called with `--block FIRST --systems COUNT` it prints what that block found as one JSON object with the keys
    `first` and `count`. `sources`: files whose change makes kept blocks worthless. `failures`: how many of those that
    a run must not have are in one block.
    """

    script: Path
    size: int
    sources: Callable[[], Iterable[Path]]
    failures: Callable[[dict[str, Any]], int]

    def run(self, first: int, systems: int, jobs: int, partial: Path) -> tuple[list[dict[str, Any]], list[str]]:
        """All blocks in order, those kept in `partial` included, and in words the processes that ended badly.

        Raises SystemExit when a source changes meanwhile.
        """
        digest = self._digest()
        end = first + systems
        wanted = [(begin, min(self.size, end - begin)) for begin in range(first, end, self.size)]
        finished = _kept(partial, digest)
        blocks = {key: finished[key] for key in wanted if key in finished}
        crashes: list[str] = []
        begun = time.monotonic()
        partial.parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(jobs) as pool, partial.open("a", encoding="utf-8") as kept:
            waiting = [pool.submit(self._in_own_process, *key) for key in wanted if key not in blocks]
            for number, future in enumerate(as_completed(waiting), 1):
                block = future.result()
                if self._digest() != digest:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise SystemExit("a source has changed since the run began: its blocks do not belong together")
                if isinstance(block, str):
                    crashes.append(block)
                    continue
                blocks[block["first"], block["count"]] = block
                kept.write(json.dumps({"sources": digest, "block": block}) + "\n")
                kept.flush()
                failed = sum(map(self.failures, blocks.values())) + len(crashes)
                left_s = (time.monotonic() - begun) / number * (len(waiting) - number)
                done = sum(one["count"] for one in blocks.values())
                print(f"{done}/{systems} systems, {failed} failures, {left_s / 60:.0f} min left", file=sys.stderr)
        return [blocks[key] for key in wanted if key in blocks], crashes

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for path in sorted(self.sources()):
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    def _in_own_process(self, first: int, count: int) -> dict[str, Any] | str:
        command = [sys.executable, str(self.script), "--block", str(first), "--systems", str(count)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            return f"systems {first} to {first + count - 1}: the process ended with {done.returncode}: {last}"
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _kept(partial: Path, digest: str) -> dict[tuple[int, int], dict[str, Any]]:
    """Blocks of an interrupted run on the same sources, by first system and count."""
    if not partial.exists():
        return {}
    lines = [json.loads(line) for line in partial.read_text(encoding="utf-8").splitlines()]
    return {tuple(line["block"][k] for k in _KEY): line["block"] for line in lines if line["sources"] == digest}


def arguments_of(description: str | None, result: Path, systems: int = 100_000) -> argparse.Namespace:
    """What the scripts take; `partial`: where blocks are kept."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--systems", type=int, default=systems)
    parser.add_argument("--first", type=int, default=0, help="seed of the first system")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes at a time")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    parser.add_argument("--output", type=Path, default=result)
    parser.add_argument("--block", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.partial = given.output.with_suffix(".partial.jsonl")
    if given.fresh:
        given.partial.unlink(missing_ok=True)
    return given
