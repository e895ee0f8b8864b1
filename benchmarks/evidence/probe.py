"""On which random systems do the oracle and the trace checker object to the kernel on the path? One JSON line.

Takes the number of systems, and how many more are run when one of the two has objected. Stops when both have.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "kernel"))

from agreement import bulk, difference, in_rows
from kernel_systems import ALL_FEATURES, random_system
from oracle import simulate
from takeover_systems import takeover_system

from rt_sched.trace.checker import check_trace

#: A system takes hundredths of a second; a kernel that needs this long does not come to an end.
_SECONDS = 20


def _give_up(*_: object) -> None:
    raise TimeoutError(f"no end within {_SECONDS} s")


def main() -> None:
    """Print what objected first, as {"oracle": ..., "checker": ...}."""
    signal.signal(signal.SIGALRM, _give_up)
    last, more = int(sys.argv[1]), int(sys.argv[2])
    seed = 0
    first: dict[str, str | None] = {"oracle": None, "checker": None}
    while seed < last and None in first.values():
        given = takeover_system(seed) if seed % 4 == 3 else random_system(seed, ALL_FEATURES)
        objections: dict[str, str | None] = dict.fromkeys(first)
        signal.alarm(_SECONDS)
        try:
            trace = bulk(given)
        except (ArithmeticError, IndexError, TimeoutError, ValueError) as error:
            signal.alarm(0)
            objections["oracle"] = f"the kernel failed: {error}"
        else:
            signal.alarm(0)
            objections["oracle"] = difference(in_rows(trace), simulate(given))
            violations = check_trace(trace).violations
            objections["checker"] = str(violations[0]) if violations else None
        for name, objection in objections.items():
            if objection is not None and first[name] is None:
                first[name] = f"system {seed}: {objection}"
                last = min(last, seed + 1 + more)
        seed += 1
    print(json.dumps(first))


if __name__ == "__main__":
    main()
