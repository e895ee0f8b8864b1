"""The wheel, built from the checkout, installed elsewhere and tried from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rt_sched", "pipelines", "sensors", "safety", "hw")
#: Its kernel is left for the installed wheel to compile.
NOT_LENT = "rt_sched/kernels/crc.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel file."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (file,) = out.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A virtual environment with the wheel in it; a path file lends it the dependencies of the running one."""
    place = tmp_path_factory.mktemp("fresh") / "venv"
    venv.EnvBuilder(with_pip=False).create(place)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    lend_kernels(packages)
    return place


def lend_kernels(packages):
    """The checkout's compiled kernels but one, so that not all are compiled once more.

    numba takes them for those of the installed files where these have the time of the files that they came from.
    """
    for installed in (file for package in PACKAGES for file in (packages / package).rglob("*.py")):
        source = ROOT / installed.relative_to(packages)
        kernels = [*source.parent.glob(f"__pycache__/{source.stem}.*.nb[ci]")]
        if not kernels or installed == packages / NOT_LENT or installed.read_bytes() != source.read_bytes():
            continue
        shutil.copystat(source, installed)
        (installed.parent / "__pycache__").mkdir(exist_ok=True)
        for kernel in kernels:
            shutil.copy(kernel, installed.parent / "__pycache__")


@pytest.fixture
def run(installed, tmp_path):
    """Runs a program of the fresh environment in an empty folder, with nothing that leads to the checkout."""
    surroundings = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    surroundings["HOME"] = str(tmp_path / "home")
    empty = tmp_path / "empty"
    empty.mkdir()

    def program(name, *arguments):
        command = [str(installed / "bin" / name), *arguments]
        ended = subprocess.run(command, cwd=empty, env=surroundings, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    program.folder = empty
    return program


def test_it_contains_what_a_user_needs(contents):
    wanted = [
        *(f"{package}/__init__.py" for package in PACKAGES),
        "pipelines/models/coco_ssd_300_int8.onnx",
        "pipelines/models/LICENSE.coco_ssd",
        "pipelines/models/NOTICE",
        "rt_sched/report/templates/run_report.html.j2",
        "rt_sched/report/templates/report.css",
        "rt_sched/report/templates/schedulability/page.html.j2",
        *(f"rt_sched/shipped/results/{name}.json" for name in ("random_analysis", "random_systems", "mutations")),
        "rt_sched/shipped/replay_data/hazard_short.mcap",
        *(f"rt_sched/shipped/examples/{path.name}" for path in (ROOT / "examples").glob("*.yaml")),
    ]
    assert set(wanted) <= set(contents)
    metadata = {name.partition(".dist-info/")[2] for name in contents if ".dist-info/" in name}
    assert {"licenses/LICENSE", "licenses/NOTICE", "entry_points.txt", "METADATA"} <= metadata


def test_every_source_file_of_the_packages_is_in_it_and_nothing_else(contents):
    for name in contents:
        top = name.split("/")[0]
        assert top in PACKAGES or top.endswith(".dist-info"), name
        parts = set(name.lower().split("/"))
        assert not parts & {"tests", "test", "benchmarks", "docs", "__pycache__"}, name
        assert not name.endswith((".pyc", ".nbi", ".nbc")), name
        assert "truth" not in name or name == "sensors/scene/truth.py", name
    sources = {str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert sources == {name for name in contents if name.endswith(".py")}


def test_its_metadata_tells_version_licence_and_dependencies(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Name"] == "rt-sched"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert not [line for line in metadata.get_all("Requires-Dist") if "@" in line]
    assert metadata.get_payload().startswith("# ")


def test_everything_comes_from_the_wheel(run, installed):
    program = f"import json, {', '.join(PACKAGES)}; print(json.dumps([m.__file__ for m in ({', '.join(PACKAGES)})]))"
    for file in json.loads(run("python", "-c", program)):
        assert Path(file).is_relative_to(installed)


def test_the_shipped_log_replays_by_name_from_an_empty_folder(run, installed):
    assert run("rt-sched", "--version").startswith("rt-sched ")
    listed = {entry["name"]: entry["path"] for entry in json.loads(run("rt-sched", "examples", "--json"))["files"]}
    assert listed.keys() == {"hazard_short", *(path.stem for path in (ROOT / "examples").glob("*.yaml"))}
    assert all(Path(path).is_relative_to(installed) for path in listed.values())
    summary = json.loads(run("rt-sched", "replay", "hazard_short", "--system", "quad_orin", "--json"))
    assert summary["status"] == "ok", summary["reason"]
    assert {entry.name for entry in (run.folder / "runs" / "hazard_short").iterdir()} == {
        "report.html",
        "summary.json",
        "trace.pftrace",
        "trace.npz",
        "output.mcap",
        "manifest.json",
    }
    assert [entry.name for entry in run.folder.iterdir()] == ["runs"]


def test_its_kernels_are_kept_where_it_is_installed(run, installed):
    """So that a second start does not compile again."""
    run("rt-sched", "compile")
    (crc,) = installed.glob(f"lib/python*/site-packages/{NOT_LENT}")
    assert list(crc.parent.glob("__pycache__/crc.crc64-*.nbc"))
