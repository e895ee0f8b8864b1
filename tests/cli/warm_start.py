"""Commands in processes that are forked off one that has loaded everything: each its own, none with a start of its own.

Run as a program it serves a socket: for each call it forks, the child becomes the command, and the answer is its exit
code. Nothing runs in the serving process but imports, the version is told once, and kernels and the template of reports
are loaded, so that every child begins as a fresh process would after that. A child ends as any process does, but for
the modules that it would take to pieces.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Loaded before the first call: what commands import when they are needed. ONNX Runtime starts a thread when it is
#: imported, and no child that is forked then could use it.
_HEAVY = (
    "cv2",
    "jinja2",
    "lz4.frame",
    "mcap",
    "numba",
    "numpy",
    "perfetto.trace_builder.proto_builder",
    "pydantic",
    "rich.table",
    "rosbags.typesys.stores.ros2_humble",
    "ruamel.yaml",
    "scipy.optimize",
    "scipy.spatial",
    "zstandard",
)
#: Packages all modules of which are loaded.
_OURS = ("rt_sched.app", "pipelines", "safety")
_LONGEST_MESSAGE = 1 << 20


class WarmStart:
    """The serving process of one environment. `run` raises TimeoutError for a command that does not end."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env=self.environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def run(self, arguments: Sequence[str], folder: Path, limit_s: float, prelude: str = "") -> tuple[int, str, str]:
        """Exit code (negative for a signal), standard output and standard error of a command run in `folder`.

        `prelude`: Python that runs in the command's process before it.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            call = json.dumps(
                {"arguments": list(arguments), "folder": str(folder), "limit_s": limit_s, "prelude": prelude}
            )
            socket.send_fds(self._socket, [call.encode()], [out.fileno(), err.fileno()])
            answer = self._socket.recv(64)
            if not answer:
                raise RuntimeError("the process that starts commands has died")
            code = json.loads(answer)
            if code is None:
                raise TimeoutError(f"{' '.join(arguments)} has not ended within {limit_s:g} s")
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode())
            return code, texts[0], texts[1]

    def close(self) -> None:
        """Ends the serving process."""
        self._socket.close()
        self._server.wait()


def _serve(number: int) -> None:
    """Answers calls until the other end is closed. In a child it returns, to become the command."""
    with socket.socket(fileno=number) as calls:
        while True:
            message, descriptors, _, _ = socket.recv_fds(calls, _LONGEST_MESSAGE, 2)
            if not message:
                os._exit(0)
            call = json.loads(message)
            child = os.fork()
            if child == 0:
                _become(call, descriptors)
                return
            for descriptor in descriptors:
                os.close(descriptor)
            calls.send(json.dumps(_wait(child, call["limit_s"])).encode())


def _become(call: Mapping[str, object], descriptors: Sequence[int]) -> None:
    os.setsid()
    for descriptor, stream in zip(descriptors, (1, 2), strict=True):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.chdir(str(call["folder"]))
    arguments = call["arguments"]
    assert isinstance(arguments, list)
    sys.argv = ["rt-sched", *arguments]
    exec(str(call["prelude"]), {})  # noqa: S102  # what a test wants


def _end(codes: Sequence[int]) -> None:
    """Ends this process with the one code, if there is one."""
    if codes:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(codes[0])


def _wait(child: int, limit_s: float) -> int | None:
    """The exit code of a child; None where it had to be killed."""
    ended = os.pidfd_open(child)
    try:
        import select

        if select.select([ended], [], [], limit_s)[0]:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None
    finally:
        os.close(ended)


def main() -> None:
    import contextlib
    import importlib
    import io
    import pkgutil

    codes: list[int] = []
    atexit.register(_end, codes)  # the first, so that it is the last to be called

    import rt_sched.analysis.batch
    import rt_sched.cli
    import rt_sched.kernels
    import rt_sched.report.run_report

    for name in _HEAVY:
        importlib.import_module(name)
    for package in _OURS:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    rt_sched.report.run_report._environment().get_template("run_report.html.j2")
    rt_sched.kernels.warm_up()
    rt_sched.analysis.batch.warm_up()
    with contextlib.redirect_stdout(io.StringIO()):
        rt_sched.cli.shared.app(["--version"], standalone_mode=False)
    gc.collect()
    gc.freeze()
    _serve(int(sys.argv[1]))
    try:
        rt_sched.cli.main()
    except SystemExit as end:
        if isinstance(end.code, int):
            codes.append(end.code)
        raise


if __name__ == "__main__":
    main()
