import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rt_sched.app.run_folder import RunFolder, is_run_folder, next_free
from rt_sched.errors import DeploymentError


def write_run(target, text="x"):
    with RunFolder(target) as folder:
        (folder.path / "manifest.json").write_text(json.dumps({"schema": "rt-sched/manifest/1"}))
        (folder.path / "data").write_text(text)


def test_a_run_appears_whole(tmp_path):
    write_run(tmp_path / "deep" / "run")
    assert is_run_folder(tmp_path / "deep" / "run")
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["run"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_a_run_that_failed(tmp_path, error):
    with pytest.raises(error), RunFolder(tmp_path / "new" / "deep" / "run") as folder:
        (folder.path / "half").write_text("written")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_run_is_replaced_but_survives_a_failed_one(tmp_path):
    write_run(tmp_path / "run", "first")
    with pytest.raises(ValueError), RunFolder(tmp_path / "run"):
        raise ValueError
    assert (tmp_path / "run" / "data").read_text() == "first"
    write_run(tmp_path / "run", "second")
    assert (tmp_path / "run" / "data").read_text() == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("error", "told"), [(OSError(28, "no space"), DeploymentError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_an_earlier_run_survives_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch, error, told):
    write_run(tmp_path / "run", "first")
    rename = Path.rename

    def fail_at_the_end(self, target):
        if target == tmp_path / "run" and ".replaced." not in self.name:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_at_the_end)
    with pytest.raises(told):
        write_run(tmp_path / "run", "second")
    assert (tmp_path / "run" / "data").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_folder_that_is_no_run_is_never_touched(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(DeploymentError, match="not a run folder"), RunFolder(tmp_path / "home"):
        pass
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_a_place_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeploymentError, match="cannot be written"), RunFolder(tmp_path / "file" / "run"):
        pass


def test_the_leftovers_of_a_killed_run_are_removed_and_only_those(tmp_path):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead = tmp_path / f".run.partial-{gone.stdout.strip()}"
    alive = tmp_path / f".run.partial-{os.getppid()}"
    other = tmp_path / f".other.partial-{gone.stdout.strip()}"
    for folder in (dead, alive, other):
        folder.mkdir()
    write_run(tmp_path / "run")
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


def test_next_free_numbers_from_two(tmp_path):
    assert next_free(tmp_path, "log").name == "log"
    (tmp_path / "log").mkdir()
    assert next_free(tmp_path, "log").name == "log-2"
