"""An installation that cannot be written to, and a user without a home: kernels go to a private folder, or nowhere."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import HANG_S, ROOT

DEFINE_ALL = """
import numba
import pipelines.lidar_boxes, pipelines.lidar_clusters, pipelines.lidar_ground, pipelines.lidar_kernels
import sensors.scene.backdrop, sensors.scene.raycast
from rt_sched.kernels.compiling.numba_cache import CACHE
print(CACHE, numba.config.CACHE_DIR)
"""
COMPILING = "compiling kernels, up to two minutes"
#: One method of analysis needs one kernel for it, and more of it than Python does without numba.
CROWDED = """\
rt_sched: 1
name: crowded
devices: {box: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
""" + "\n".join(
    f"  turn{n}: {{runs_on: box.cpu, activation: {{rate: 100Hz}}, execution: {{wcet: 0.1ms}}}}" for n in range(80)
)
#: Root may write everywhere, unless it gives that right up.
AS_ANYONE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


class Installed:
    """A copy of the product in `folder` that cannot be written to, as the home cannot; `temporary` can."""

    def __init__(self, folder):
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._locked = folder / "locked"
        skipped = shutil.ignore_patterns("__pycache__", "models")
        for package in ("rt_sched", "pipelines", "sensors", "safety", "hw"):
            shutil.copytree(ROOT / package, self._locked / package, ignore=skipped)
        (self._locked / "crowded.yaml").write_text(CROWDED)
        self.allow(0o555)

    def allow(self, mode):
        for folder, _, _ in os.walk(self._locked):
            Path(folder).chmod(mode)

    def python(self, program, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
        environment |= {"HOME": str(self._locked), "TMPDIR": str(self.temporary), "PYTHONPATH": str(self._locked)}
        return subprocess.run(
            [*AS_ANYONE, sys.executable, "-c", program, *map(str, arguments)],
            cwd=self.temporary,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )

    def analyze(self):
        """What the command says on its way."""
        program = "from rt_sched.cli import main\nmain()"
        ended = self.python(program, "analyze", self._locked / "crowded.yaml", "--methods", "fp_response_time")
        assert ended.returncode == 0, ended.stderr
        return ended.stderr

    @property
    def private_folder(self):
        return self.temporary / f"rt-sched-kernels-{os.geteuid()}"


@pytest.fixture
def installed(tmp_path, request):
    if AS_ANYONE and shutil.which(AS_ANYONE[0]) is None:
        pytest.skip("root needs setpriv, of util-linux, to give up its right to write everywhere")
    installed = Installed(tmp_path)
    request.addfinalizer(lambda: installed.allow(0o755))
    probe = installed.python("open(__import__('rt_sched').__path__[0] + '/new', 'w')")
    if "PermissionError" not in probe.stderr:
        pytest.skip(f"the folder of the installation cannot be made read-only: {probe.stderr or 'it was written to'}")
    return installed


def test_kernels_are_compiled_once_into_a_private_folder(installed):
    assert COMPILING in installed.analyze()
    assert stat.S_IMODE(installed.private_folder.stat().st_mode) == 0o700
    assert list(installed.private_folder.rglob("*.nbi"))
    assert COMPILING not in installed.analyze()


def test_where_nothing_can_be_written_kernels_are_not_kept(installed):
    ended = installed.python(f"import tempfile\ntempfile.tempdir = '/nonexistent'\n{DEFINE_ALL}")
    assert (ended.returncode, ended.stdout) == (0, "False \n"), ended.stderr
    ended = installed.python(
        "import tempfile\ntempfile.tempdir = '/nonexistent'\nfrom rt_sched.cli import main\nmain()", "compile"
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("rt-sched: compiled kernels cannot be kept: no folder for them can be written")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("how", ["link", "open to all"])
def test_a_folder_that_others_could_have_filled_is_not_used(installed, how):
    if how == "link":
        (installed.temporary / "elsewhere").mkdir(mode=0o700)
        installed.private_folder.symlink_to("elsewhere")
    else:
        installed.private_folder.mkdir()
        installed.private_folder.chmod(0o777)
    ended = installed.python(DEFINE_ALL)
    assert (ended.returncode, ended.stdout) == (0, "False \n"), ended.stderr
