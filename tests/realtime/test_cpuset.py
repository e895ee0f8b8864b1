"""Exclusive cpusets: made, used and removed; what killed owners leave; where they cannot be had."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import ExitStack

import pytest
from host_children import running, without_privileges
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.runtime.host import cpuset_groups
from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.cgroups import Hierarchy, group_of, hierarchies
from rt_sched.runtime.host.child import in_child
from rt_sched.runtime.host.cpuset import ExclusiveCpuset, remove_leftovers
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, SchedulingClass, scheduling_of, set_scheduling
from rt_sched.units import NS_PER_MS

#: Looked up before there is any: in version 2 a cpuset takes its cores from everybody else.
CORE = max(os.sched_getaffinity(0))


@pytest.fixture
def tree(deadline):
    """The tree of cpusets; a test leaves it as it was."""
    found = cpuset_groups.cpuset_tree()
    remove_leftovers()
    before = state(found)
    yield found
    assert state(found) == before


def state(tree):
    names = ("cpuset.sched_load_balance", "cpuset.cpus", "cgroup.subtree_control")
    values = {name: (tree.mount / name).read_text() for name in names if (tree.mount / name).exists()}
    return values | {"groups": sorted(path.name for path in tree.mount.iterdir() if path.is_dir())}


def test_a_process_that_is_let_in_runs_there_and_comes_back(tree):
    def work():
        before = os.sched_getaffinity(0), group_of(tree, "cpuset")
        with ExclusiveCpuset({CORE}) as cpuset:
            cpuset.admit(os.getpid())
            inside = os.sched_getaffinity(0)
            child = in_child(lambda: os.sched_getaffinity(0))
        return before, inside, child, (os.sched_getaffinity(0), group_of(tree, "cpuset"))

    before, inside, child, after = in_child(work)
    assert inside == child == {max(before[0])}
    assert after == before


def test_it_is_removed_when_what_runs_in_it_raises(tree):
    with pytest.raises(KeyError), ExclusiveCpuset({CORE}):
        raise KeyError


def test_closing_twice_is_closing_once(tree):
    before = state(tree)
    cpuset = ExclusiveCpuset({CORE})
    assert state(tree) != before
    for _ in range(2):
        cpuset.close()
        assert state(tree) == before


def test_a_process_that_has_ended_need_not_be_let_in(tree):
    with running(lambda: None) as pid:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with ExclusiveCpuset({CORE}) as cpuset, pytest.raises(FileNotFoundError):
        cpuset.admit(pid)


def left_behind(tree):
    """Kills an owner; the process that it had let in lives on. The number of that process."""
    reader, writer = os.pipe()

    def inmate():
        os.write(writer, f"{os.getpid()}\n".encode())
        signal.pause()

    def owner():
        cpuset = ExclusiveCpuset({CORE})
        cpuset.admit(os.getpid())
        if os.fork() == 0:
            inmate()
        signal.pause()

    with running(owner):
        pid = int(os.read(reader, 64))
    os.close(reader)
    os.close(writer)
    return pid


def test_what_a_killed_owner_leaves_is_found_and_removed(tree):
    inmate = left_behind(tree)
    (group,) = cpuset_groups.owned_groups(tree)
    assert (group.is_alive, group.cores, cpuset_groups.processes(group.path)) == (False, {CORE}, [inmate])
    assert remove_leftovers() == (group.path,)
    assert os.sched_getaffinity(inmate) == os.sched_getaffinity(0)
    os.kill(inmate, signal.SIGKILL)
    assert remove_leftovers() == ()


def test_what_a_killed_owner_leaves_is_no_obstacle(tree):
    inmate = left_behind(tree)
    with ExclusiveCpuset({CORE}) as cpuset:
        assert cpuset_groups.processes(cpuset.path) == []
    os.kill(inmate, signal.SIGKILL)


def test_cores_that_a_living_owner_has_are_refused_by_its_name_and_waited_for(tree):
    def second():
        with pytest.raises(Refused, match=f"process {os.getppid()} has some of the cores"):
            ExclusiveCpuset({CORE})
        os.write(writer, b"!")
        with ExclusiveCpuset({CORE}, patience_ns=60 * 10**9):
            return True

    reader, writer = os.pipe()
    cpuset = ExclusiveCpuset({CORE})

    def close_later():
        os.read(reader, 1)
        time.sleep(0.03)
        cpuset.close()

    thread = threading.Thread(target=close_later)
    thread.start()
    assert in_child(second)
    thread.join()
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("cores", [set(), {10_000}])
def test_cores_that_are_not_there(tree, cores):
    with pytest.raises(Refused, match="cores"):
        ExclusiveCpuset(cores)


def test_each_of_all_cores_may_be_a_domain_where_the_version_allows_it(tree):
    """And then every process outside of them goes on, on the core on which it is, or on one that it asks for."""
    cores = cpuset_groups.cores_of(tree.mount)
    if not cpuset_groups.may_take_all(tree):
        with pytest.raises(Refused, match="one core has to be left"):
            ExclusiveCpuset(cores)
        return

    def work(core):
        sets[core].admit(os.getpid())
        set_scheduling(Scheduling.deadline(NS_PER_MS, 5 * NS_PER_MS, 5 * NS_PER_MS))
        return os.sched_getaffinity(0), scheduling_of().scheduling_class

    with ExitStack() as stack:
        sets = {core: stack.enter_context(ExclusiveCpuset({core})) for core in sorted(cores)}
        for core in cores:
            assert in_child(lambda core=core: work(core)) == ({core}, SchedulingClass.DEADLINE)
        assert os.sched_getaffinity(0) == cores
        for core in cores:
            assert in_child(lambda core=core: pin({core}) or os.sched_getaffinity(0)) == {core}


@pytest.fixture
def another(tree):
    """A cpuset of somebody else that has the core, exclusively where the version knows no other conflict."""
    control = tree.mount / "cgroup.subtree_control"
    is_off = tree.version == 2 and "cpuset" not in control.read_text()
    if is_off:
        control.write_text("+cpuset")
    group = tree.mount / "another-cpuset"
    group.mkdir()
    if tree.version == 1:
        (group / "cpuset.mems").write_text((tree.mount / "cpuset.mems").read_text())
    (group / "cpuset.cpus").write_text(str(CORE))
    if tree.version == 2:
        (group / "cpuset.cpus.partition").write_text("root")
    yield group
    group.rmdir()
    if is_off:
        control.write_text("-cpuset")


def test_cores_of_another_cpuset_are_refused(tree, another):
    told = another.name if tree.version == 1 else f"cores {CORE} of .* that are free"
    with pytest.raises(Refused, match=told):
        ExclusiveCpuset({CORE})


def test_without_privileges_it_is_refused_with_the_reason():
    with pytest.raises(Refused, match=r"cannot be written|no mounted control groups|from inside this container"):
        without_privileges(lambda: ExclusiveCpuset({0}))


MOUNTS = {
    "read-only": (
        "30 24 0:26 / {0} ro,nosuid - cgroup cgroup rw,cpuset",
        Hierarchy(1, None, "/", False),
    ),
    "in a container": (
        "30 24 0:26 /docker/ab {0} rw,nosuid - cgroup cgroup rw,cpuset",
        Hierarchy(1, None, "/docker/ab", True),
    ),
    "version 2": ("30 24 0:26 / {0} rw - cgroup2 none rw,nsdelegate", Hierarchy(2, None, "/", True)),
}


@pytest.mark.parametrize("kind", MOUNTS)
def test_mounts_are_read_as_the_kernel_writes_them(kind, tmp_path):
    line, expected = MOUNTS[kind]
    place = tmp_path / "with blank"
    place.mkdir()
    (place / "cgroup.controllers").write_text("cpuset cpu io\n")
    text = "22 1 0:21 / /proc rw - proc proc rw\n" + line.format(str(place).replace(" ", r"\040")) + "\n"
    ((tree, controllers),) = hierarchies(text)
    assert (tree.version, tree.mount, tree.top) == (expected.version, place, expected.top)
    assert tree.writable == (expected.writable and os.access(place, os.W_OK))
    assert "cpuset" in controllers


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cores_are_read_as_the_kernel_writes_them(cores):
    ranges, ordered = [], sorted(cores)
    for core in ordered:
        if ranges and ranges[-1][1] == core - 1:
            ranges[-1][1] = core
        else:
            ranges.append([core, core])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges) + "\n"
    assert cpuset_groups.parse_cores(text) == cores


@pytest.fixture
def four_cores(tmp_path, monkeypatch):
    """A tree of version 1 on a machine with four cores, in files, without a kernel behind them."""
    for name, text in (("cpus", "0-3"), ("mems", "0"), ("sched_load_balance", "1")):
        (tmp_path / f"cpuset.{name}").write_text(text + "\n")
    monkeypatch.setattr(cpuset_groups, "_write", lambda path, text: path.write_text(text))
    monkeypatch.setattr(cpuset_groups, "processes", lambda _: [])
    monkeypatch.setattr("pathlib.Path.rmdir", remove_like_a_kernel)
    return Hierarchy(1, tmp_path, "/", True)


def balanced(tree):
    """Whether the root group balances, and the cores that are balanced besides."""
    rest = [path for path in tree.mount.iterdir() if "rest" in path.name]
    cores = {core for path in rest for core in cpuset_groups.parse_cores((path / "cpuset.cpus").read_text())}
    return (tree.mount / "cpuset.sched_load_balance").read_text().strip() == "1", cores


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_cores_that_are_left_stay_balanced_whoever_leaves_first(four_cores, order):
    assert balanced(four_cores) == (True, set())
    sets = [ExclusiveCpuset({3}, tree=four_cores)]
    assert balanced(four_cores) == (False, {0, 1, 2})
    sets.append(ExclusiveCpuset({1}, tree=four_cores))
    assert balanced(four_cores) == (False, {0, 2})
    with pytest.raises(Refused, match="0,2 that are free"):
        ExclusiveCpuset({0, 2, 4}, tree=four_cores)
    assert balanced(four_cores) == (False, {0, 2})
    first, second = (sets[place] for place in order)
    first.close()
    assert balanced(four_cores) == (False, {0, 1, 2, 3} - second.cores)
    second.close()
    assert balanced(four_cores) == (True, set())
    assert [path.name for path in four_cores.mount.iterdir() if path.is_dir()] == []


def test_nothing_is_left_to_balance_where_every_core_has_an_owner(four_cores):
    sets = [ExclusiveCpuset({core}, tree=four_cores) for core in range(4)]
    assert balanced(four_cores) == (False, set())
    for one in sets:
        one.close()
    assert balanced(four_cores) == (True, set())


def test_a_root_that_did_not_balance_is_left_so(four_cores):
    (four_cores.mount / "cpuset.sched_load_balance").write_text("0\n")
    with ExclusiveCpuset({2}, tree=four_cores):
        assert balanced(four_cores) == (False, {0, 1, 3})
    assert balanced(four_cores) == (False, set())


def test_the_last_core_of_version_2_is_left_to_the_root_group(tmp_path):
    tree = Hierarchy(2, tmp_path, "/", True)
    (tmp_path / "cpuset.cpus.effective").write_text("0-3\n")
    with pytest.raises(Refused, match=r"version 2 .* one core has to be left"):
        ExclusiveCpuset({0, 1, 2, 3}, tree=tree)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_partition_that_the_kernel_finds_invalid_is_refused_and_undone(tmp_path, monkeypatch):
    """Version 2, in files that a kernel would answer through; it says so when the partition is read back."""
    tree = Hierarchy(2, tmp_path, "/", True)
    (tmp_path / "cpuset.cpus.effective").write_text("0-3\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    written = []

    def write(path, text):
        written.append((path.name, text))
        if path.name == "cpuset.cpus.partition":
            path.write_text("root invalid (Cpu list in cpuset.cpus not exclusive)\n")

    monkeypatch.setattr(cpuset_groups, "_write", write)
    monkeypatch.setattr(cpuset_groups, "processes", lambda _: [])
    monkeypatch.setattr("pathlib.Path.rmdir", remove_like_a_kernel)
    with pytest.raises(Refused, match="not exclusive"):
        ExclusiveCpuset({3}, tree=tree)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert written == [
        ("cgroup.subtree_control", "+cpuset"),
        ("cpuset.cpus", "3"),
        ("cpuset.cpus.partition", "root"),
        ("cgroup.subtree_control", "-cpuset"),
    ]


def remove_like_a_kernel(path):
    """Groups go with their control files."""
    for file in path.iterdir():
        file.unlink()
    os.rmdir(path)  # noqa: PTH106 - Path.rmdir is what this stands in for
