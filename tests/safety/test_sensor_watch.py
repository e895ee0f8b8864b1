"""Trust in one sensor: gone with any finding, back after so many good samples in a row, and never before."""

from __future__ import annotations

from itertools import product

import pytest

from rt_sched.messages import SensorTrust, TrustState
from safety.monitors.delivery import Delivery
from safety.monitors.silence import Silence
from safety.sensor_watch import SensorWatch, Told

MS = 1_000_000
PERIOD_NS, TIMEOUT_NS, GOOD = 33 * MS, 40 * MS, 3


class Marked:
    """Finds something in messages that say so."""

    def __init__(self, name: str) -> None:
        self.name, self.worst_case_ns = name, 50 * MS

    def see(self, delivery: Delivery) -> str | None:
        return f"it is {self.name}" if self.name in delivery.message else None


def watch(until_ns: int = 10_000 * MS) -> SensorWatch:
    return SensorWatch("front", [Marked("black"), Marked("frozen")], Silence(TIMEOUT_NS, 0, until_ns), GOOD)


def seen(one: SensorWatch, number: int, message: str = "") -> list[Told]:
    return one.see(Delivery(number * PERIOD_NS, number * PERIOD_NS, message))


def test_a_sensor_is_trusted_after_its_first_good_samples() -> None:
    one = watch()
    states = []
    for number in range(5):
        assert seen(one, number) == []
        states.append(one.trust.state)
    assert states == [TrustState.STARTING] * 2 + [TrustState.TRUSTED] * 3


def test_trust_is_gone_with_a_finding_and_back_after_good_samples_in_a_row() -> None:
    one = watch()
    for number in range(GOOD):
        seen(one, number)
    assert seen(one, 3, "black") == [Told("black", 50 * MS, "it is black")]
    assert one.trust == SensorTrust("front", TrustState.DISTRUSTED, "black")
    assert seen(one, 4, "black") == []  # told once
    seen(one, 5)
    seen(one, 6)
    assert seen(one, 7, "frozen") == [Told("frozen", 50 * MS, "it is frozen")]
    assert one.trust.monitor == "black"  # which took the trust away
    states = []
    for number in range(8, 12):
        seen(one, number)
        states.append(one.trust.state)
    assert states == [TrustState.DISTRUSTED] * 2 + [TrustState.TRUSTED] * 2


def test_a_fault_from_the_start_on_is_one() -> None:
    one = watch()
    seen(one, 0, "black frozen")
    assert one.trust == SensorTrust("front", TrustState.DISTRUSTED, "black")


def test_silence_takes_the_trust_away_once() -> None:
    one = watch()
    for number in range(GOOD):
        seen(one, number)
    last_ns = (GOOD - 1) * PERIOD_NS
    assert one.look(last_ns + TIMEOUT_NS) == []
    assert one.look(last_ns + TIMEOUT_NS + 1) == [Told("silence", TIMEOUT_NS, "nothing comes from it")]
    assert one.look(last_ns + 5 * TIMEOUT_NS) == []
    assert one.trust.monitor == "silence"
    seen(one, 20)
    seen(one, 21)
    assert one.trust.state is TrustState.DISTRUSTED
    seen(one, 22)
    assert one.trust.state is TrustState.TRUSTED
    assert one.look(22 * PERIOD_NS + TIMEOUT_NS + 1) != []


def test_what_never_begins_is_silent_and_what_is_over_is_not() -> None:
    assert watch().look(TIMEOUT_NS) == []
    assert watch().look(TIMEOUT_NS + 1) != []
    assert watch(until_ns=TIMEOUT_NS).look(9 * TIMEOUT_NS) == []


@pytest.mark.parametrize("late_ns", [0, 7 * MS])
def test_a_message_that_is_seen_late_restarts_the_timer_when_it_came(late_ns: int) -> None:
    one = watch()
    seen(one, 1)
    assert one.look(PERIOD_NS + TIMEOUT_NS - late_ns) == []
    seen(one, 0)  # an earlier arrival moves nothing back
    assert one.look(PERIOD_NS + TIMEOUT_NS) == []


def trust_after(history: tuple[str, ...]) -> TrustState:
    """Told from the whole history: how many good samples stand at its end, and whether anything was ever wrong."""
    good = next((n for n, event in enumerate(reversed(history)) if event != "good"), len(history))
    if good >= GOOD:
        return TrustState.TRUSTED
    return TrustState.STARTING if good == len(history) else TrustState.DISTRUSTED


def test_after_every_history_trust_is_what_its_end_says() -> None:
    for history in product(("good", "black", "silence"), repeat=7):
        one, now_ns = watch(), 0
        for number, event in enumerate(history):
            now_ns += TIMEOUT_NS + 1 if event == "silence" else PERIOD_NS
            if event != "silence":
                one.see(Delivery(now_ns, now_ns, "black" if event == "black" else ""))
            told = one.look(now_ns)
            first = event == "silence" and history[number - 1 : number] != ("silence",)
            assert bool(told) == first, history[: number + 1]
            assert one.trust.state is trust_after(history[: number + 1]), history[: number + 1]
