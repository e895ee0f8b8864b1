"""What became of each fault: who noticed it and when, how the arbiter reacted, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rt_sched.faults.kinds import held_back_ns
from rt_sched.faults.script import Strike
from rt_sched.faults.watching import Finding
from rt_sched.messages import ArbiterDecision, ArbiterState, Command

Decisions = Sequence[tuple[int, ArbiterDecision]]
#: Names of faults -> what the arbiter decides in the same run without them.
Without = Callable[[Sequence[str]], Decisions]


class Verdict(str, Enum):
    """DETECTED: a monitor found it, in time. LATE: in more than its declared worst case.

    TOLERATED: nobody noticed, and every command is as without it; also where no message was there to strike.
    SILENT: nobody noticed, and commands are others than without it.
    UNKNOWN: nobody noticed, and nothing is known of commands without it.
    """

    DETECTED = "detected"
    LATE = "late"
    TOLERATED = "tolerated"
    SILENT = "silent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reaction:
    """The arbiter's first decision whose state or path is another than before the fault; `since_ns`: that decision's.

    `recovered_ns`: from when on it is, to the end of the run, as before; None: it is not.
    """

    since_ns: int
    state: str
    selected: str
    recovered_ns: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one fault. `finding`: the first that tells of it. `declared_ns`: within what time that monitor must.

    It is None where the fault strikes only a part of the messages, or of their bits: no monitor promises to see that.
    """

    strike: Strike
    finding: Finding | None
    declared_ns: int | None
    reaction: Reaction | None
    verdict: Verdict

    @property
    def detected_after_ns(self) -> int | None:
        """From what the finding shows until then; None where nobody noticed."""
        return None if self.finding is None else _after_ns(self.finding, self.strike)


def outcomes(
    strikes: Sequence[Strike],
    findings: Sequence[Finding],
    decisions: Decisions | None,
    without: Without | None,
    unfelt: Collection[str] = (),
) -> list[Outcome]:
    """One per fault. `decisions`: of the arbiter; None: the stages did not run.

    `without`: asked for faults that nobody noticed; None: there is no run to compare with. `unfelt`: names of faults
    for which no message was there.
    """
    found = [_outcome(strike, strikes, findings, decisions, unfelt) for strike in strikes]
    unnoticed = [one.strike.fault.name for one in found if one.verdict is Verdict.UNKNOWN]
    if decisions is None or without is None or not unnoticed:
        return found
    blamed = _blamed(unnoticed, decisions, without)
    return [
        one
        if one.verdict is not Verdict.UNKNOWN
        else replace(one, verdict=Verdict.SILENT if one.strike.fault.name in blamed else Verdict.TOLERATED)
        for one in found
    ]


def _blamed(unnoticed: Sequence[str], decisions: Decisions, without: Without) -> set[str]:
    """Those of the faults that commands would be others without.

    One after another is left out of the run, and stays out where every command stays as it is: so all that are not
    blamed change nothing together, either.
    """
    commands = _commands(decisions)
    if _commands(without(unnoticed)) == commands:
        return set()
    out: list[str] = []
    for name in unnoticed:
        fewer = [*out, name]
        if len(fewer) < len(unnoticed) and _commands(without(fewer)) == commands:
            out = fewer
    return set(unnoticed).difference(out)


def _outcome(
    strike: Strike,
    strikes: Sequence[Strike],
    findings: Sequence[Finding],
    decisions: Decisions | None,
    unfelt: Collection[str],
) -> Outcome:
    finding = min(
        (one for one in findings if counts_for(one, strike, strikes)),
        key=lambda one: (one.time_ns, one.monitor),
        default=None,
    )
    declared_ns = None if finding is None or not strike.fault.strikes_all else _worst_ns(finding, strike)
    reaction = None if decisions is None else _reaction(strike, strikes, decisions)
    if finding is not None:
        verdict = Verdict.LATE if _is_late(finding, strike) else Verdict.DETECTED
    else:
        verdict = Verdict.TOLERATED if strike.fault.name in unfelt else Verdict.UNKNOWN
    return Outcome(strike, finding, declared_ns, reaction, verdict)


def _is_late(finding: Finding, strike: Strike) -> bool:
    """Whether it came later than its monitor promises, where it promises anything of this fault."""
    return strike.fault.strikes_all and _after_ns(finding, strike) > _worst_ns(finding, strike)


def _worst_ns(finding: Finding, strike: Strike) -> int:
    """What the monitor promises of this fault."""
    fault = strike.fault
    return finding.worst_case_ns + held_back_ns(fault.kind_name, finding.monitor, finding.worst_case_ns, fault.by_ns)


def _after_ns(finding: Finding, strike: Strike) -> int:
    return finding.time_ns - strike.since_ns(finding.time_ns, finding.job)


def counts_for(finding: Finding, strike: Strike, strikes: Sequence[Strike]) -> bool:
    """Whether a finding tells of this fault, and not of another one of its target, which is what that monitor finds.

    Of several that it finds it tells of those for which it is in time, where there are any. That of a monitor which is
    listed for none of them tells of something else once its worst case is over.
    """
    if not _tells_of(finding, strike):
        return False
    if finding.monitor not in strike.fault.kind.found_by and _is_late(finding, strike):
        return False
    expected = [one for one in strikes if finding.monitor in one.fault.kind.found_by and _tells_of(finding, one)]
    in_time = [one for one in expected if not _is_late(finding, one)]
    return not expected or strike in (in_time or expected)


def _tells_of(finding: Finding, strike: Strike) -> bool:
    """Whether a finding can come from a fault: it is about its target, and not later than it could still show.

    What a fault delays shows after its end, by as long as the monitor may take.
    """
    if finding.what != strike.fault.target or finding.time_ns < strike.begin_ns:
        return False
    held_ns = _worst_ns(finding, strike) - finding.worst_case_ns
    delay_ns = max(strike.fault.by_ns, held_ns) + strike.fault.stall_ns
    overruns = strike.fault.kind_name in ("overrun", "process.stall")
    ended = strike.end_ns is not None and finding.time_ns > strike.end_ns + finding.worst_case_ns + delay_ns
    return overruns or not ended


def _reaction(strike: Strike, strikes: Sequence[Strike], decisions: Decisions) -> Reaction | None:
    before = [one for time_ns, one in decisions if time_ns < strike.begin_ns]
    if not before or before[-1].state is ArbiterState.STARTING:
        return None  # what changes while it starts is no reaction
    usual = (before[-1].state, before[-1].selected)
    next_ns = min((one.begin_ns for one in strikes if one.begin_ns > strike.begin_ns), default=None)
    after = [(time_ns, one) for time_ns, one in decisions if time_ns >= strike.begin_ns]
    other = next(((time_ns, one) for time_ns, one in after if (one.state, one.selected) != usual), None)
    if other is None or (next_ns is not None and other[0] >= next_ns):
        return None
    recovered_ns = None
    for time_ns, one in after:
        if time_ns <= other[0] or (one.state, one.selected) != usual:
            recovered_ns = None
        elif recovered_ns is None:
            recovered_ns = time_ns
    return Reaction(other[0], other[1].state.value, other[1].selected, recovered_ns)


def _commands(decisions: Decisions) -> list[tuple[int, object, str, Command]]:
    """What went to the actuators, and from where; not what it rests on, nor what protects it on its way."""
    return [
        (
            time_ns,
            one.state,
            one.selected,
            replace(one.command, header=None, capture_time_ns=0, counter=0, views=()),
        )
        for time_ns, one in decisions
    ]
