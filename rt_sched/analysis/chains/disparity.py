"""Bounds on the time disparity of inputs, as `trace.disparity` measures it: the difference of the capture stamps that
one job reads.

Every input has a stamp that is between a least and a largest age old when the job reads. Two inputs differ by at most
the largest age of one less the least of the other. Two registers that the samples of one sensor reach by different
ways differ by whole samples: as many as are captured while the one may lag behind the other. Paired inputs differ by
their tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from rt_sched.analysis.chains.ages import Age, Ages
from rt_sched.analysis.chains.delays import Delays, Unbounded
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Bound, DisparityResult, Term, TermKind, Verdict
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.propagation import sensor_gap_ns
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow
from rt_sched.units import NS_PER_S, floor_int, format_ns

METHOD = "disparity_ages"
SOURCE = "Jiang, Luo, Guan, Dong, Liu, Yi 2023 (time disparity); ages as Dürr et al. 2019"


def disparity_results(mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> tuple[DisparityResult, ...]:
    """The tasks of a mode that have several inputs there, with the largest disparity of what their jobs read."""
    disparities = _Disparities(mode, bounds)
    return tuple(disparities.result(index) for index in sorted(bounds) if len(disparities.ages.inputs_of(index)) > 1)


class _Disparities:
    def __init__(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> None:
        self._mode = mode
        self._delays = Delays(mode, bounds)
        self.ages = Ages(mode, self._delays)

    def result(self, index: int) -> DisparityResult:
        """The bound of one task, and the verdict on its limit."""
        task = self._mode.system.tasks[index]
        limit_ns = task.max_disparity_ns
        try:
            bound, older, younger = self._worst(index)
        except Unbounded as none:
            verdict = Verdict.SCHEDULABLE if limit_ns is None else Verdict.INCONCLUSIVE
            return DisparityResult(task.name, self._mode.name, None, limit_ns, verdict, str(none))
        if limit_ns is None:
            verdict, reason = Verdict.SCHEDULABLE, "it has no limit"
        elif bound.value_ns <= limit_ns:
            verdict, reason = Verdict.SCHEDULABLE, "no input is ever too old beside another"
        else:
            over = format_ns(bound.value_ns - limit_ns)
            verdict = Verdict.INCONCLUSIVE
            reason = f"input {older} may be older than {younger} by {over} more than the limit, and then be left out"
        return DisparityResult(task.name, self._mode.name, bound, limit_ns, verdict, reason, older, younger)

    def _worst(self, index: int) -> tuple[Bound, str, str]:
        found = [
            (self._between(first, second), first[1].input, second[1].input)
            for first, second in permutations(self.ages.inputs_of(index), 2)
        ]
        terms, older, younger = max(found, key=lambda one: sum(term.value_ns for term in one[0]))
        return Bound(sum(term.value_ns for term in terms), tuple(terms), METHOD, SOURCE, exact=False), older, younger

    def _between(self, first: tuple[int, EdgeRow], second: tuple[int, EdgeRow]) -> list[Term]:
        """By how much `first` may be older than `second`, never less than 0."""
        if first[1].role is Role.PAIRED and second[1].role is Role.PAIRED:
            row = self._mode.setup.tasks[first[1].target]
            return [Term(TermKind.PARTNER, row.tolerance_ns, row.name)]
        both = first[1].kind is EdgeKind.LATEST and second[1].kind is EdgeKind.LATEST
        registers = both and first[1].role is Role.READ and second[1].role is Role.READ
        worst: list[Term] = []
        for place, old in enumerate(self.ages.when_read(first[0])):
            for young in self.ages.when_read(second[0]):
                terms = [*old.terms, Term(TermKind.LEAST_AGE, -young.least_ns, second[1].input)]
                terms += self._clocks(old, young)
                if registers and old.sensor is not None and old.sensor == young.sensor:
                    visible = self.ages.visible(first[0])[place]
                    terms = min(terms, self._samples(visible, young), key=_total)
                worst = max(worst, terms, key=_total)
        return worst

    def _samples(self, old: Age, young: Age) -> list[Term]:
        """Whole samples of one sensor, captured while the older input may lag; `old`: when it becomes visible."""
        sensor = self._mode.system.sensors[old.sensor or 0]
        rate_hz = sensor.rate_hz * (1 + sensor.drift_ppm / 10**6)
        least_ns = max(1, floor_int(NS_PER_S / rate_hz) - 2 * sensor.capture_jitter_ns)
        count = max(0, -(-(old.most_ns - young.least_ns) // least_ns))
        gap_ns = sensor_gap_ns(sensor)
        return [Term(TermKind.SAMPLING, count * gap_ns, sensor.name, count, gap_ns)]

    def _clocks(self, old: Age, young: Age) -> list[Term]:
        """The errors of the clocks that made the two stamps."""
        errors = {device.name: device.clock.sync_error_ns for device in self._mode.system.devices}
        apart_ns = max((errors[a] + errors[b] for a in old.devices for b in young.devices if a != b), default=0)
        return [Term(TermKind.CLOCK, apart_ns)] if apart_ns else []


def _total(terms: list[Term]) -> int:
    return sum(term.value_ns for term in terms)
