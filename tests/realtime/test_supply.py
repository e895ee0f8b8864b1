"""What the kernel keeps for ordinary processes, as its files say."""

from __future__ import annotations

from fractions import Fraction

import pytest
from host_children import running

from rt_sched.runtime.host import supply
from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.child import in_child
from rt_sched.runtime.host.cpu_time import cpu_time_ns, thread_clock
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import now_ns, sleep_until_ns
from rt_sched.units import NS_PER_MS


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host in files: version of the kernel, real-time share, fair servers of two cores."""

    def made(release, runtime_us="950000", servers=None):
        for name, text in (("sched_rt_runtime_us", runtime_us), ("sched_rt_period_us", "1000000")):
            (tmp_path / name).write_text(text + "\n")
        for core, runtime in enumerate(servers or ()):
            folder = tmp_path / "fair_server" / f"cpu{core}"
            folder.mkdir(parents=True)
            (folder / "runtime").write_text(f"{runtime}\n")
            (folder / "period").write_text("1000000000\n")
        monkeypatch.setattr(supply, "_SYSCTL", tmp_path)
        monkeypatch.setattr(supply, "_SERVERS", tmp_path / "fair_server")
        monkeypatch.setattr("platform.release", lambda: release)

    return made


@pytest.mark.parametrize(
    ("given", "lost_ms", "share"),
    [
        (("5.15.0",), 50, Fraction(95, 100)),
        (("5.15.0", "-1"), None, Fraction(1)),
        (("5.15.0", "1000000"), None, Fraction(1)),
        (("6.12.1",), 50, Fraction(90, 100)),
        (("6.18.44-x", "950000", (50_000_000, 20_000_000)), 50, Fraction(90, 100)),
        (("6.18.44-x", "950000", (10_000_000, 20_000_000)), 20, Fraction(93, 100)),
        (("6.18.44-x", "950000", (0, 0)), None, Fraction(95, 100)),
        (("6.18.44-x", "0"), 50, Fraction(0)),
    ],
)
def test_loss_and_share_are_those_of_the_kernel(host, given, lost_ms, share):
    host(*given)
    loss = supply.supply_loss()
    assert (None if loss is None else (loss.lost_ns, loss.period_ns)) == (
        None if lost_ms is None else (lost_ms * NS_PER_MS, 1000 * NS_PER_MS)
    )
    assert supply.deadline_share() == share


def test_tasks_that_leave_a_share_to_others_are_never_stopped_for_them(fifo):
    """80 ms of every 100 ms at a real-time priority, beside a process that never rests on the same core, for 1.2 s."""

    def hog():
        pin([0])
        while True:
            pass

    def longest_gap_ns():
        pin([0])
        set_scheduling(Scheduling.fifo(50))
        clock, begin_ns, longest_ns = thread_clock(0), now_ns(), 0
        for number in range(12):
            sleep_until_ns(begin_ns + number * 100 * NS_PER_MS)
            last_ns, until_ns = now_ns(), cpu_time_ns(clock) + 80 * NS_PER_MS
            while cpu_time_ns(clock) < until_ns:
                longest_ns = max(longest_ns, (time_ns := now_ns()) - last_ns)
                last_ns = time_ns
        return longest_ns

    with running(hog):
        assert in_child(longest_gap_ns) < 40 * NS_PER_MS
