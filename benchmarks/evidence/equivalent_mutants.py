"""Mutants of the monitors that no exploration can object to, each with the reason."""

from __future__ import annotations

from source_mutants import Mutant

_TEXT = "no more than the text of the finding changes, which the tests of the monitors hold"
_BY_FIRST = "the first message sets it anew, whatever it was"
_PAYLOAD = "usual = int(np.median(self._points)) if len(self._points) >= USUAL_LEAST else 0"
_PIXELS = "return 100 * int(np.count_nonzero(chosen)) // max(chosen.size, 1)"
_ENERGY = "usual = float(np.median(self._energies)) if len(self._energies) >= USUAL_LEAST else 0.0"
_BEGIN = "begin = int(sectors[0]) * width - 180"
_STUCK = "pipelines/imu_health.py"

#: (file, line, old text, new text) -> why.
EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    ("safety/monitors/payload.py", _PAYLOAD, "0", "-1"): "no number of points is below a quarter of none",
    ("safety/monitors/payload.py", _PAYLOAD, "0", "1"): "one point or more is not below a quarter of one",
    ("safety/monitors/pictures.py", _PIXELS, "1", "0"): "what is decoded has at least one pixel",
    ("safety/monitors/pictures.py", _ENERGY, "0.0", "-1.0"): "no energy is below a fifth of none",
    ("safety/monitors/repeats.py", "self._repeats = 0", "0", "-1"): _BY_FIRST,
    ("safety/monitors/repeats.py", "self._repeats = 0", "0", "1"): _BY_FIRST,
    ("safety/monitors/sectors.py", "width = 360 // SECTORS", "360", "359"): _TEXT,
    ("safety/monitors/sectors.py", "width = 360 // SECTORS", "360", "361"): _TEXT,
    ("safety/monitors/sectors.py", _BEGIN, "int(sectors[0]) * width - 180", "int(sectors[0]) * width + 180"): _TEXT,
    ("safety/monitors/sectors.py", _BEGIN, "180", "179"): _TEXT,
    ("safety/monitors/sectors.py", _BEGIN, "180", "181"): _TEXT,
    (
        "safety/monitors/stamps.py",
        "if stamp_ns == newest_ns:",
        "stamp_ns == newest_ns",
        "stamp_ns != newest_ns",
    ): _TEXT,
    (_STUCK, "self._since_ns = [0, 0]", "0", "-1"): _BY_FIRST,
    (_STUCK, "self._since_ns = [0, 0]", "0", "1"): _BY_FIRST,
    (_STUCK, "self._repeats = [0, 0]", "0", "-1"): _BY_FIRST,
    (_STUCK, "self._repeats = [0, 0]", "0", "1"): _BY_FIRST,
}


def reason_of(mutant: Mutant) -> str | None:
    """Why nothing can notice this mutant; None where something must."""
    return EQUIVALENT.get((mutant.file, mutant.text, mutant.old, mutant.new))
