import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rt_sched.app.runs.folder import RunFolder, is_run_folder
from rt_sched.errors import DeploymentError


def write_run(target, text="x", **options):
    with RunFolder(target, **options) as folder:
        (folder.path / "manifest.json").write_text(json.dumps({"schema": "rt-sched/manifest/1"}))
        (folder.path / "data").write_text(text)
    return folder.target


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
        if target == tmp_path / "run" and ".earlier-" not in self.name:
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


@pytest.fixture
def dead():
    """The id of a process that has ended."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    return ended.stdout.strip()


def test_the_leftovers_of_a_killed_run_are_removed_and_only_those(tmp_path, dead):
    left = tmp_path / f".run.partial-{dead}"
    alive = tmp_path / f".run.partial-{os.getppid()}"
    other = tmp_path / f".other.partial-{dead}"
    for folder in (left, alive, other):
        folder.mkdir()
    write_run(tmp_path / "run")
    assert not left.exists()
    assert alive.exists()
    assert other.exists()


def test_an_earlier_run_that_a_killed_one_had_moved_aside_comes_back(tmp_path, dead):
    write_run(tmp_path / "run", "first")
    (tmp_path / "run").rename(tmp_path / f".run.earlier-{dead}")
    with pytest.raises(ValueError), RunFolder(tmp_path / "run"):
        raise ValueError
    assert (tmp_path / "run" / "data").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path):
    write_run(tmp_path / "disk" / "run", "first")
    (tmp_path / "latest").symlink_to(Path("disk") / "run")
    assert write_run(tmp_path / "latest", "second") == tmp_path / "latest"
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "disk" / "run" / "data").read_text() == "second"
    assert {p.name for p in tmp_path.iterdir()} == {"disk", "latest"}
    assert [p.name for p in (tmp_path / "disk").iterdir()] == ["run"]


def test_a_link_to_nothing_yet_gets_its_folder(tmp_path):
    (tmp_path / "latest").symlink_to(tmp_path / "disk" / "deep" / "run")
    write_run(tmp_path / "latest")
    assert (tmp_path / "latest").is_symlink()
    assert is_run_folder(tmp_path / "disk" / "deep" / "run")


def test_a_link_to_a_folder_that_is_no_run_is_refused(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "latest").symlink_to(tmp_path / "home")
    with pytest.raises(DeploymentError, match="latest: exists and is not a run folder"), RunFolder(tmp_path / "latest"):
        pass


def test_a_link_in_a_circle_is_refused_before_the_run(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(DeploymentError, match="a: a link that leads back to itself"):
        RunFolder(tmp_path / "a").__enter__()
    assert {p.name for p in tmp_path.iterdir()} == {"a", "b"}


def test_a_place_where_a_file_system_is_mounted_is_refused_before_the_run(tmp_path, monkeypatch):
    write_run(tmp_path / "run")
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path / "run")
    with pytest.raises(DeploymentError, match="run: is where a file system is mounted"):
        RunFolder(tmp_path / "run").__enter__()


def test_a_run_of_another_user_in_a_shared_folder_is_refused_before_the_run(tmp_path, monkeypatch):
    write_run(tmp_path / "run")
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(DeploymentError, match="run: belongs to another user"):
        RunFolder(tmp_path / "run").__enter__()
    tmp_path.chmod(0o755)
    RunFolder(tmp_path / "run").__enter__()


def test_a_name_that_is_too_long_is_refused_before_the_run(tmp_path):
    """Also where only the name that an earlier run gets for a moment would be."""
    longest = next(n for n in range(255, 0, -1) if len(f".{'x' * n}.partial-{os.getpid()}") <= 255)
    write_run(tmp_path / ("x" * longest), "first")
    write_run(tmp_path / ("x" * longest), "second")
    assert (tmp_path / ("x" * longest) / "data").read_text() == "second"
    with pytest.raises(DeploymentError, match="cannot be written"):
        RunFolder(tmp_path / ("x" * (longest + 1))).__enter__()


def test_numbers_count_from_two_and_replace_nothing(tmp_path):
    assert write_run(tmp_path / "log", "first", numbered=True) == tmp_path / "log"
    (tmp_path / "log-2").write_text("a file")
    (tmp_path / "log-3").symlink_to("nowhere")
    assert write_run(tmp_path / "log", "second", numbered=True) == tmp_path / "log-4"
    assert (tmp_path / "log" / "data").read_text() == "first"
    assert (tmp_path / "log-4" / "data").read_text() == "second"


def test_numbered_runs_that_end_at_once_get_a_name_each(tmp_path):
    """Processes that begin together and publish together, many times."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rt_sched.app.runs.folder import RunFolder\n"
        "for count in range(40):\n"
        "    with RunFolder(Path(sys.argv[1]), numbered=True) as folder:\n"
        "        (folder.path / 'by').write_text(f'{sys.argv[2]} {count}')\n"
        "    print(folder.target.name)\n"
    )
    root = Path(__file__).resolve().parents[2]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, tmp_path / "log", str(number)],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    names = [name for process in started for name in process.communicate()[0].split()]
    assert sorted(names) == sorted(["log", *(f"log-{number}" for number in range(2, 121))])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)
    assert len({(tmp_path / name / "by").read_text() for name in names}) == 120
