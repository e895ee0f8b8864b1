"""Verdicts on findings and commands that are written down by hand."""

from types import SimpleNamespace

import pytest

from rt_sched.app.faults.document import run_document
from rt_sched.app.faults.reactions import with_actuators
from rt_sched.faults.outcomes import Verdict, outcomes
from rt_sched.faults.script import Damage, FaultScript, Injection, Strike, Trigger
from rt_sched.faults.watching import Finding
from rt_sched.messages import ArbiterDecision, ArbiterState, Command

NOMINAL, BACKUP = ArbiterState.NOMINAL, ArbiterState.BACKUP


def strike(kind="camera.black", begin=100, end=None, name="f", struck=(), **values):
    return Strike(Injection(name, kind, "eye", Trigger(begin), **values), begin, end, struck)


def found(time, what="eye", monitor="black", worst=50, job=None):
    return Finding(time, monitor, what, worst, "", job)


def decisions(*rows):
    """(time, state, acceleration) -> what the arbiter says then."""
    return [
        (time, ArbiterDecision(0, time, state, state.value.lower(), Command(0, "", 0, force, False, None, True), ""))
        for time, state, force in rows
    ]


USUAL = decisions(*((time, NOMINAL, 0.0) for time in range(0, 400, 50)))


def verdict(findings, had=None, usual=None, one=None):
    """`usual`: the decisions without the fault."""
    (outcome,) = outcomes([one or strike()], findings, had, None if usual is None else lambda _: usual)
    return outcome.verdict


@pytest.mark.parametrize(
    ("findings", "wanted"),
    [
        ([found(150)], Verdict.DETECTED),
        ([found(151)], Verdict.LATE),
        ([found(99)], Verdict.UNKNOWN),
        ([found(120, what="other")], Verdict.UNKNOWN),
        ([found(99), found(170), found(130)], Verdict.DETECTED),
    ],
)
def test_the_first_finding_about_the_target_counts(findings, wanted):
    assert verdict(findings) is wanted


@pytest.mark.parametrize(
    ("kind", "by", "monitor", "worst"),
    [
        ("message.reorder", 0, "stamp_age", 50 + 75),
        ("message.reorder", 0, "stamp_order", 50 + 75),
        ("message.reorder", 0, "silence", 50),
        ("message.delay", 30, "stamp_age", 50 + 30),
        ("message.delay", 30, "silence", 50),
        ("message.duplicate", 0, "stamp_order", 50),
    ],
)
def test_what_judges_messages_as_they_come_has_as_long_as_a_fault_holds_them_back(kind, by, monitor, worst):
    one = strike(kind, by_ns=by)
    for after, wanted in ((worst, Verdict.DETECTED), (worst + 1, Verdict.LATE)):
        (outcome,) = outcomes([one], [found(100 + after, monitor=monitor)], None, None)
        assert (outcome.verdict, outcome.declared_ns) == (wanted, worst)


def test_a_finding_tells_of_the_fault_that_its_monitor_is_for():
    lost, dark = strike("camera.loss"), strike("camera.black")
    (one, two) = outcomes([lost, dark], [found(110, monitor="silence")], None, None)
    assert (one.verdict, two.verdict) == (Verdict.DETECTED, Verdict.UNKNOWN)
    (one, two) = outcomes([lost, dark], [found(110, monitor="silence"), found(120)], None, None)
    assert (one.finding.monitor, two.finding.monitor) == ("silence", "black")
    (one, two) = outcomes([dark, dark], [found(110, monitor="frozen")], None, None)  # nobody's, so everybody's
    assert (one.verdict, two.verdict) == (Verdict.DETECTED, Verdict.DETECTED)


def test_what_finds_no_message_to_strike_is_tolerated_unless_somebody_notices():
    other = [*USUAL[:-1], *decisions((350, NOMINAL, -1.0))]
    for had, without in ((None, None), (other, lambda _: USUAL)):
        (outcome,) = outcomes([strike()], [], had, without, unfelt=("f",))
        assert outcome.verdict is Verdict.TOLERATED
    (outcome,) = outcomes([strike()], [found(120)], None, None, unfelt=("f",))
    assert outcome.verdict is Verdict.DETECTED


def test_what_comes_after_the_end_counts_as_long_as_it_may_still_show():
    ended = strike(end=110)
    assert verdict([found(160)], one=ended) is Verdict.LATE
    assert verdict([found(161)], one=ended) is Verdict.UNKNOWN
    delayed = strike("message.delay", end=110, by_ns=10)
    assert verdict([found(171, monitor="silence")], one=delayed) is Verdict.UNKNOWN
    assert verdict([found(170, monitor="silence")], one=delayed) is Verdict.LATE


@pytest.mark.parametrize("kind", ["overrun", "process.kill", "message.delay"])
def test_what_another_monitor_finds_too_late_is_something_else(kind):
    assert verdict([found(150, monitor="sector")], one=strike(kind)) is Verdict.DETECTED
    assert verdict([found(151, monitor="sector")], one=strike(kind)) is Verdict.UNKNOWN
    (own,) = strike(kind).fault.kind.monitors[:1]
    assert verdict([found(151, monitor=own)], one=strike(kind)) is Verdict.LATE


def test_what_tells_of_no_fault_is_told_by_itself():
    late, own = found(151, monitor="sector"), found(140, monitor="black")
    drive = SimpleNamespace(system=SimpleNamespace(name="s"), system_sha256="", horizon_ns=400)
    told = outcomes([strike()], [own, late], None, None)
    document = run_document(drive, "log", FaultScript(()), "script", told, [own, late], None)
    assert [(one["monitor"], one["time_ns"]) for one in document["other_findings"]] == [("sector", 151)]


def test_unnoticed_is_tolerated_only_when_no_command_changes():
    other = [*USUAL[:-1], *decisions((350, NOMINAL, -1.0))]
    assert verdict([], USUAL, USUAL) is Verdict.TOLERATED
    assert verdict([], other, USUAL) is Verdict.SILENT
    assert verdict([], None, None) is Verdict.UNKNOWN
    assert verdict([found(120)], other, USUAL) is Verdict.DETECTED


@pytest.mark.parametrize(
    ("changing", "silent"),
    [
        ([], ""),  # what changes commands is noticed, and the others are not to blame for it
        ([{"b"}], "b"),
        ([{"c"}], "c"),
        ([{"a"}, {"c"}], "ac"),
        ([{"a", "b"}], "b"),  # either is enough: not both of them may be tolerated
        ([{"a", "b"}, {"c"}], "bc"),
    ],
)
def test_only_what_commands_would_be_others_without_is_blamed(changing, silent):
    """`changing`: of each of these sets one fault is enough to change commands, in a way of its own."""
    asked = []

    def without(names):
        asked.append(list(names))
        force = sum(2.0**number for number, some in enumerate(changing) if some - set(names))
        return [*USUAL[:-1], *decisions((350, NOMINAL, -1.0 - force))]

    strikes = [strike(name=name) for name in "abc"] + [strike("camera.loss", name="seen")]
    told = outcomes(strikes, [found(110, monitor="silence")], without([]), without)
    wanted = [Verdict.SILENT if name in silent else Verdict.TOLERATED for name in "abc"]
    assert [one.verdict for one in told] == [*wanted, Verdict.DETECTED]
    assert len(asked) <= 5 and all("seen" not in names for names in asked)
    assert len({tuple(names) for names in asked}) == len(asked)


def test_the_time_of_jobs_that_overrun_counts_from_the_one_that_shows_it():
    overrun = strike("overrun", begin=100, jobs=(1, 5), struck=((1, 100), (5, 300)))
    for finding, after, wanted in (
        (found(330, monitor="deadline", job=5), 30, Verdict.DETECTED),
        (found(340, monitor="deadline", job=6), 40, Verdict.DETECTED),  # which the one before it delays
        (found(310, monitor="deadline", job=4), 210, Verdict.LATE),
        (found(340, monitor="budget"), 40, Verdict.DETECTED),
        (found(351, monitor="budget"), 51, Verdict.LATE),
        (found(299, monitor="budget"), 199, Verdict.LATE),
    ):
        (outcome,) = outcomes([overrun], [finding], None, None)
        assert (outcome.detected_after_ns, outcome.verdict) == (after, wanted), finding


def test_a_finding_in_time_for_one_fault_is_not_too_late_for_another():
    first, second = strike("process.stall", name="a", stall_ns=5), strike("process.kill", begin=300, name="b")
    (one, two) = outcomes([first, second], [found(340, monitor="exit")], None, None)
    assert (one.verdict, two.verdict) == (Verdict.UNKNOWN, Verdict.DETECTED)
    (one, two) = outcomes([first, second], [found(360, monitor="exit")], None, None)
    assert (one.verdict, two.verdict) == (Verdict.LATE, Verdict.LATE)


@pytest.mark.parametrize(
    ("one", "promised"),
    [
        (strike(), True),
        (strike(share=0.5), False),
        (strike("payload.corrupt"), True),
        (strike("payload.corrupt", how=Damage.FLIP), False),
    ],
)
def test_monitors_promise_nothing_of_what_is_struck_in_part(one, promised):
    (outcome,) = outcomes([one], [found(140)], None, None)
    assert (outcome.declared_ns == 50) == promised
    own = found(900, monitor=one.fault.kind.monitors[0])
    assert verdict([own], one=one) is (Verdict.LATE if promised else Verdict.DETECTED)


def test_the_reaction_is_the_first_other_state_and_lasts_until_the_last():
    had = decisions((50, NOMINAL, 0), (100, NOMINAL, 0), (150, BACKUP, 0), (200, NOMINAL, 0), (250, BACKUP, 0))
    (outcome,) = outcomes([strike()], [found(120)], [*had, *decisions((300, NOMINAL, 0), (350, NOMINAL, 0))], None)
    reaction = outcome.reaction
    assert reaction is not None
    assert (reaction.since_ns, reaction.state, reaction.selected, reaction.recovered_ns) == (
        150,
        "BACKUP",
        "backup",
        300,
    )
    (outcome,) = outcomes([strike()], [found(120)], had, None)
    assert outcome.reaction is not None
    assert outcome.reaction.recovered_ns is None
    (outcome,) = outcomes([strike()], [found(120)], USUAL, None)
    assert outcome.reaction is None


def test_a_reaction_belongs_to_the_fault_before_it():
    had = decisions((50, NOMINAL, 0), (150, NOMINAL, 0), (250, BACKUP, 0))
    first, second = outcomes([strike(begin=100), strike(begin=200)], [], had, None)
    assert first.reaction is None
    assert second.reaction is not None


def test_the_actuators_side_reacts_where_the_arbiter_does_not():
    first, second = strike(begin=100), strike(begin=200)
    (one, two) = with_actuators(outcomes([first, second], [], USUAL, None), [270, 180])
    assert (one.reaction.since_ns, one.reaction.state, one.reaction.selected) == (180, "MINIMAL_RISK", "actuator")
    assert two.reaction.since_ns == 270
    had = [*USUAL[:3], *decisions((150, BACKUP, 0.0))]
    (one,) = with_actuators(outcomes([first], [], had, None), [160])
    assert one.reaction.state == "BACKUP"
    assert with_actuators(outcomes([second], [], USUAL, None), [150])[0].reaction is None
