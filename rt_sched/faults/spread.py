"""What became of many faults, kind by kind: verdicts, and how detection and reaction times are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rt_sched.faults.kinds import KINDS
from rt_sched.faults.outcomes import Verdict

Row = dict[str, Any]

#: Of a spread, beside the smallest and the largest.
UPPER_QUANTILE = "99th percentile"
#: Intervals of a histogram; up to the declared worst case there are `_PROMISED` of them.
_INTERVALS, _PROMISED = 20, 18
_QUANTILES = (("min_ns", 0), ("p50_ns", 50), ("p99_ns", 99), ("max_ns", 100))


def by_kind(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One row per kind, in the order in which kinds are listed. `rows`: one per fault, as a run's document has them."""
    names = [kind.name for kind in KINDS]
    found = dict.fromkeys(name for name in names if any(row["kind"] == name for row in rows))
    return [{"kind": name, **counted([row for row in rows if row["kind"] == name])} for name in found]


def counted(rows: Sequence[Mapping[str, Any]]) -> Row:
    """Verdicts, and spreads in ns from the first instant of a fault on; None where there is nothing to spread.

    `detected_ns`: of faults whose monitor promises a time, the largest of which is `worst_case_max_ns`; `reacted_ns`:
    until the first other decision, or MINIMAL_RISK at the actuators' side; `recovered_ns`: until all is as before.
    `detected_histogram`: how many were detected in each interval of `bin_ns`, all later ones in the last.
    """
    promised = [row for row in rows if row["worst_case_ns"] is not None]
    reactions = [row["reaction"] for row in rows if row.get("reaction") is not None]
    recovered = [one["recovered_after_ns"] for one in reactions if one["recovered_after_ns"] is not None]
    detected = [row["detected_after_ns"] for row in promised]
    worst_ns = max((row["worst_case_ns"] for row in promised), default=None)
    return {
        "runs": len(rows),
        **{verdict.value: sum(row["verdict"] == verdict.value for row in rows) for verdict in Verdict},
        "detected_after_max_ns": max(detected, default=None),
        "worst_case_max_ns": worst_ns,
        "detected_ns": spread(detected),
        "detected_histogram": None if worst_ns is None else histogram(detected, worst_ns),
        "reacted_ns": spread([one["after_ns"] for one in reactions]),
        "recovered_ns": spread(recovered),
    }


def spread(values: Sequence[int]) -> Row | None:
    """Smallest, median, 99th percentile and largest, each one of the values; None of none."""
    if not values:
        return None
    return {key: int(np.percentile(values, share, method="higher")) for key, share in _QUANTILES}


def histogram(values: Sequence[int], worst_ns: int) -> Row:
    """`counts` in intervals of `bin_ns` from 0 on; the last ones hold only what is above `worst_ns`."""
    bin_ns = worst_ns // _PROMISED + 1
    places = np.minimum(np.asarray(values, np.int64) // bin_ns, _INTERVALS - 1)
    return {"bin_ns": bin_ns, "counts": [int(count) for count in np.bincount(places, minlength=_INTERVALS)]}
