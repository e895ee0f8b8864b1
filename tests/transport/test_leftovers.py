"""Only files of dead runs of ours are removed."""

import os
import subprocess
from pathlib import Path

from rt_sched.transport.leftovers import clean_leftovers, run_name


def test_what_dead_runs_have_left_is_removed_and_nothing_else(tmp_path):
    child = subprocess.Popen(["true"])
    child.wait()
    started = int(run_name().split("_")[3])
    dead, reused = f"rt_sched_{child.pid}_{started}_0_", f"rt_sched_{os.getpid()}_{started - 1}_0_"
    other = tmp_path / "other"
    kept = [tmp_path / f"{run_name()}a.data", tmp_path / "rt_sched_x_1_a", tmp_path / f"iox2_{dead}a", other]
    gone = [tmp_path / f"{dead}a.data", tmp_path / f"{reused}c.data"]
    for path in (*gone, *kept):
        path.touch()
    folder, link = tmp_path / dead, tmp_path / f"{dead}link"
    (folder / "nodes").mkdir(parents=True)
    (folder / "nodes" / "file").touch()
    link.symlink_to(other)
    assert set(clean_leftovers([tmp_path])) == {*gone, folder, link}
    assert set(tmp_path.iterdir()) == set(kept)
    assert clean_leftovers([tmp_path, tmp_path / "missing"]) == ()


def test_a_dead_process_that_nobody_has_waited_for_is_dead(tmp_path):
    child = subprocess.Popen(["sleep", "60"])
    stat = Path(f"/proc/{child.pid}/stat").read_text()
    path = tmp_path / f"rt_sched_{child.pid}_{stat.rpartition(')')[2].split()[19]}_0_a"
    path.touch()
    assert clean_leftovers([tmp_path]) == ()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert clean_leftovers([tmp_path]) == (path,)
    child.wait()
