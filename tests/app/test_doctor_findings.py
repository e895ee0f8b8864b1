"""What is found on machines of all kinds, told by the files of their kernels."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.app.doctor.cores import core_findings
from rt_sched.app.doctor.finding import Machine, Severity
from rt_sched.app.doctor.kernel import kernel_findings, preemption_model
from rt_sched.app.doctor.leftovers import leftover_findings
from rt_sched.app.doctor.measured import histogram
from rt_sched.app.doctor.names import NAMES, name_findings
from rt_sched.app.doctor.resources import resource_findings
from rt_sched.app.doctor.taken import TakenTime, taken_finding
from rt_sched.errors import DeploymentError

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"
DYNAMIC = "Linux version 6.8.0 (gcc) #1 SMP PREEMPT_DYNAMIC Mon"


@pytest.fixture
def machine(tmp_path):
    """A machine made of files: path to text."""

    def made(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                path.write_bytes(text)
            else:
                path.write_text(text + "\n")
        return Machine(tmp_path)

    return made


def by_name(findings):
    return {found.name: found for found in findings}


KINDS = [
    ({"sys/kernel/realtime": "1"}, "rt"),
    ({"sys/kernel/debug/sched/preempt": "none voluntary (full) lazy", "proc/cmdline": "preempt=none"}, "full"),
    ({"proc/cmdline": "quiet preempt=voluntary ro"}, "voluntary"),
    ({"proc/config.gz": gzip.compress(b"CONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\nCONFIG_HZ=250\n")}, "none"),
    ({"proc/config.gz": b"no gzip at all", "boot/config-6.8.0": "CONFIG_A=y\nCONFIG_PREEMPT=y"}, "full"),
    ({"boot/config-6.8.0": "CONFIG_PREEMPT_LAZY=y"}, "lazy"),
    ({"proc/version": "Linux version 5.15 #1 SMP PREEMPT_RT Tue"}, "rt"),
    ({"proc/version": "Linux version 5.15 #1 SMP PREEMPT Tue"}, "full"),
    ({"proc/version": DYNAMIC}, None),
    ({}, None),
]


@pytest.mark.parametrize(("files", "model"), KINDS)
def test_the_preemption_model_is_read_from_what_there_is(machine, files, model):
    assert preemption_model(machine(files), "6.8.0")[0] == model


def test_a_kernel_that_does_not_preempt_is_a_warning_with_the_way_out(machine):
    files = {"proc/cmdline": "preempt=none", "proc/version": DYNAMIC, "proc/sys/kernel/osrelease": "6.8.0"}
    found = by_name(kernel_findings(machine(files)))["preemption"]
    assert found.severity is Severity.WARNING
    assert "preempt=full" in found.mend
    assert "/sys/kernel/debug/sched/preempt" in found.mend


@pytest.mark.parametrize(
    ("release", "runtime", "severity", "told"),
    [
        ("5.15.0-tegra", "950000", Severity.OK, "wait for up to 50000 us"),
        ("6.12.1", "950000", Severity.OK, "reservations together stay below"),
        ("6.12.1", "-1", Severity.NOTE, "for ever"),
        ("5.15.0", "1000000", Severity.NOTE, "for ever"),
        ("6.1.0", "0", Severity.PROBLEM, "no real-time class"),
    ],
)
def test_the_share_of_real_time_classes(machine, release, runtime, severity, told):
    files = {
        "proc/sys/kernel/osrelease": release,
        "proc/sys/kernel/sched_rt_runtime_us": runtime,
        "proc/sys/kernel/sched_rt_period_us": "1000000",
    }
    found = by_name(kernel_findings(machine(files)))["real-time share"]
    assert (found.severity, told in found.costs) == (severity, True)
    assert (found.mend != "") == (severity is not Severity.OK)


def test_the_fair_server_is_there_from_a_version_on_and_may_be_off(machine, tmp_path):
    assert "fair server" not in by_name(kernel_findings(machine({"proc/sys/kernel/osrelease": "6.11.9"})))
    found = by_name(kernel_findings(machine({"proc/sys/kernel/osrelease": "6.12.0"})))["fair server"]
    assert "cannot be read" in found.found
    server = "sys/kernel/debug/sched/fair_server/cpu0"
    files = {f"{server}/runtime": "50000000", f"{server}/period": "1000000000"}
    assert by_name(kernel_findings(machine(files)))["fair server"].found == "50000000 of every 1000000000 ns"
    assert by_name(kernel_findings(machine({f"{server}/runtime": "0"})))["fair server"].severity is Severity.OK


@pytest.mark.parametrize(
    ("current", "available", "mend"),
    [("tsc", "tsc hpet", ""), ("hpet", "hpet acpi_pm", ""), ("hpet", "tsc hpet", "echo tsc | sudo tee")],
)
def test_a_slow_clock_source_is_told_with_a_faster_one_where_there_is_one(machine, current, available, mend):
    files = {f"{CLOCK}/current_clocksource": current, f"{CLOCK}/available_clocksource": available}
    found = by_name(kernel_findings(machine(files)))["clock source"]
    assert found.severity is (Severity.OK if current == "tsc" else Severity.WARNING)
    assert found.mend.startswith(mend) and bool(found.mend) == bool(mend)


@pytest.mark.parametrize(
    ("files", "name", "severity", "mend"),
    [
        ({f"{CPU}/smt/active": "1"}, "multithreading", Severity.WARNING, "smt/control"),
        ({f"{CPU}/smt/active": "0"}, "multithreading", Severity.OK, ""),
        ({f"{CPU}/isolated": "2-3"}, "isolated cores", Severity.OK, ""),
        ({}, "isolated cores", Severity.NOTE, "isolcpus"),
        ({f"{CPU}/cpufreq/policy0/scaling_governor": "performance"}, "frequency governor", Severity.OK, ""),
        (
            {
                f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
                f"{CPU}/cpufreq/policy4/scaling_governor": "schedutil",
            },
            "frequency governor",
            Severity.WARNING,
            "echo performance",
        ),
        ({}, "frequency governor", Severity.NOTE, ""),
        (
            {f"{CPU}/intel_pstate/no_turbo": "0"},
            "turbo",
            Severity.NOTE,
            f"echo 1 | sudo tee /{CPU}/intel_pstate/no_turbo",
        ),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, "turbo", Severity.OK, ""),
        ({f"{CPU}/cpufreq/boost": "1"}, "turbo", Severity.NOTE, f"echo 0 | sudo tee /{CPU}/cpufreq/boost"),
        ({"proc/cpuinfo": "processor: 0\nflags\t\t: fpu hypervisor"}, "virtual machine", Severity.WARNING, "target"),
    ],
)
def test_the_processor(machine, files, name, severity, mend):
    found = by_name(core_findings(machine(files)))[name]
    assert found.severity is severity
    assert mend in found.mend and bool(found.mend) == bool(mend)


def test_the_deepest_idle_state_that_is_used_counts(machine):
    def state(core, number, name, latency, disabled):
        place = f"{CPU}/cpu{core}/cpuidle/state{number}"
        return {f"{place}/name": name, f"{place}/latency": latency, f"{place}/disable": disabled}

    files = state(0, 1, "C1", "2", "0") | state(0, 2, "C6", "133", "1") | state(1, 1, "C3", "40", "0")
    found = by_name(core_findings(machine(files)))["idle states"]
    assert (found.severity, found.found) == (Severity.WARNING, "the deepest, C3, takes 40 us to leave")
    assert "idle states" not in by_name(core_findings(Machine(Path("/nowhere"))))


def test_time_that_the_host_takes_is_told(machine):
    files = {"proc/cpuinfo": "flags : hypervisor", "proc/stat": "cpu 10 0 10 60 0 0 0 20 0 0\ncpu0 1 1"}
    assert "20.0% of all time" in by_name(core_findings(machine(files)))["virtual machine"].found


def test_small_buffers_of_sockets_are_told_with_the_command(machine):
    net = "proc/sys/net/core"
    found = by_name(resource_findings(machine({f"{net}/rmem_max": "212992", f"{net}/wmem_max": "99999999"})))
    assert found["socket buffers"].mend == "sudo sysctl -w net.core.rmem_max=24883200"
    found = by_name(resource_findings(machine({f"{net}/rmem_max": "99999999"})))
    assert found["socket buffers"].severity is Severity.OK


def test_swap_and_missing_shared_memory(machine):
    found = by_name(resource_findings(machine({"proc/swaps": "Filename Type\n/dev/sda2 partition 1 0 -2"})))
    assert found["swap"].severity is Severity.NOTE
    assert found["shared memory"].found == "missing"


def test_segments_in_shared_memory_are_leftovers(machine):
    found = by_name(leftover_findings(machine({"dev/shm/rt-sched-12-ring": "x" * 5000, "dev/shm/other": "y"})))
    assert found["shared memory"].found == "1 segments"
    assert "shared memory" not in by_name(leftover_findings(Machine(Path("/nowhere"))))


HOME = Path("checkout")


def test_names_that_are_ours_alone():
    (found,) = name_findings({name: ["rt-sched"] for name in NAMES}, lambda _: HOME)
    assert found.severity is Severity.OK


@pytest.mark.parametrize("name", NAMES)
def test_another_distribution_with_a_name_of_ours(name):
    owners = {other: ["rt-sched"] for other in NAMES} | {name: ["rt-sched", f"py-{name}"]}
    (found,) = name_findings(owners, lambda _: HOME)
    assert (found.severity, found.mend) == (Severity.PROBLEM, f"pip uninstall py-{name}")


@pytest.mark.parametrize("elsewhere", [None, Path("/somewhere/else")])
def test_a_name_that_leads_elsewhere(elsewhere):
    found = name_findings({}, lambda name: elsewhere if name == "safety" else HOME)
    assert [(one.name, one.severity) for one in found] == [("name safety", Severity.PROBLEM)]


def test_this_environment_is_in_order():
    (found,) = name_findings()
    assert found.severity is Severity.OK


def test_every_kernel_and_none_at_all_gives_findings_that_say_what_to_do():
    """Nothing is readable on this machine: no finding may fail for that, and each warning has its cost."""
    nothing = Machine(Path("/nowhere"))
    for look in (kernel_findings, core_findings, resource_findings, leftover_findings):
        for found in look(nothing):
            assert found.name and found.found
            assert found.severity is not Severity.WARNING or found.costs


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=50))
def test_a_histogram_counts_everything_once_in_classes_that_double(lateness):
    classes = histogram(lateness)
    assert sum(count for _, count in classes) == len(lateness)
    assert classes[0][1] and classes[-1][1]
    assert all(after[0] == 2 * before[0] for before, after in pairwise(classes))
    below = 0
    for limit, count in classes:
        below += count
        assert below == sum(late <= limit for late in lateness)


def test_gaps_in_the_clock_of_a_core_are_told_by_their_longest_and_their_part():
    quiet = TakenTime(0, 2 * 10**9, (), 0)
    short = TakenTime(1, 2 * 10**9, (150_000, 250_000), 3)
    long = TakenTime(1, 2 * 10**9, (150_000, 3_850_000), 3)
    assert taken_finding([quiet], in_fifo=True).severity is Severity.OK
    assert taken_finding([quiet, short], in_fifo=True).severity is Severity.NOTE
    found = taken_finding([quiet, long], in_fifo=True)
    assert found.severity is Severity.WARNING
    assert found.found == "2 gaps above 100 us in 4.0 s, the longest 3.9 ms, 0.10% of the time"
    assert "pinned" in found.mend and "switched off" not in found.found


def test_gaps_are_not_blamed_on_the_machine_where_others_may_have_had_the_core():
    found = taken_finding([TakenTime(0, 10**9, (5_000_000,), 7)], in_fifo=False)
    assert "this process was switched off 7 times" in found.found and not found.mend


def test_what_could_not_be_watched_is_told():
    found = taken_finding(DeploymentError("no core"), in_fifo=True)
    assert found.severity is Severity.WARNING and found.found == "not measured: no core"
