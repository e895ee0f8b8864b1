"""Commands in processes that are forked off one that has loaded everything: each its own, none with a start of its own.

Run as a program it serves a socket: for each call it forks and answers with the number of the child, which becomes the
command; asked for the end of a child it answers with its exit code. Nothing runs in the serving process but imports,
the version is told once, and kernels, the template of reports and the coders of messages are made, so that every child
begins as a fresh process would after that. A child ends as any process does, but for the modules that it would take to
pieces.
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
from concurrent.futures import ThreadPoolExecutor
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


class Forked:
    """A running command in a process group of its own; what tests use of `subprocess.Popen`."""

    def __init__(self, warm: WarmStart, pid: int, out: int, err: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout, self.stderr = (os.fdopen(pipe, encoding="utf-8") for pipe in (out, err))
        self._warm = warm

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.stderr.close()
        self._wait(None)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._warm.wait(self.pid, 0)
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """The rest of its output when it has ended, killed where it does not. Raises TimeoutError then."""
        with ThreadPoolExecutor(2) as readers:
            texts = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            self._wait(timeout)
        self.stdout.close()
        self.stderr.close()
        return texts[0].result(), texts[1].result()

    def _wait(self, limit_s: float | None) -> None:
        if self.returncode is None:
            self.returncode = self._warm.wait(self.pid, limit_s)
        if self.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)
            self._warm.wait(self.pid, None)
            raise TimeoutError(f"process {self.pid} has not ended within {limit_s:g} s")


class WarmStart:
    """The serving process of one environment."""

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

    def start(self, arguments: Sequence[str], folder: Path, streams: Sequence[int], prelude: str = "") -> int:
        """The process of a command that begins in `folder`, with the descriptors for its output and its errors.

        `prelude`: Python that runs in the command's process before it.
        """
        call = json.dumps({"arguments": list(arguments), "folder": str(folder), "prelude": prelude})
        socket.send_fds(self._socket, [call.encode()], list(streams))
        return int(self._answer())

    def started(self, arguments: Sequence[str], folder: Path, prelude: str = "") -> Forked:
        """A command that begins, its output and its errors in pipes."""
        (out, their_out), (err, their_err) = os.pipe(), os.pipe()
        pid = self.start(arguments, folder, (their_out, their_err), prelude)
        os.close(their_out)
        os.close(their_err)
        return Forked(self, pid, out, err)

    def wait(self, pid: int, limit_s: float | None) -> int | None:
        """Its exit code (negative for a signal); None where it has not ended within `limit_s`."""
        self._socket.send(json.dumps({"wait": pid, "limit_s": limit_s}).encode())
        answer = self._answer()
        assert answer is None or isinstance(answer, int)
        return answer

    def run(self, arguments: Sequence[str], folder: Path, limit_s: float, prelude: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors of a command run in `folder`. Raises TimeoutError where it does not end."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self.run_into(arguments, folder, (out.fileno(), err.fileno()), limit_s, prelude)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode())
            return code, texts[0], texts[1]

    def run_into(
        self, arguments: Sequence[str], folder: Path, streams: Sequence[int], limit_s: float, prelude: str = ""
    ) -> int:
        """Exit code of a command that writes into the two descriptors."""
        pid = self.start(arguments, folder, streams, prelude)
        code = self.wait(pid, limit_s)
        if code is None:
            os.killpg(pid, signal.SIGKILL)
            self.wait(pid, None)
            raise TimeoutError(f"{' '.join(arguments)} has not ended within {limit_s:g} s")
        return code

    def close(self) -> None:
        """Ends the serving process."""
        self._socket.close()
        self._server.wait()

    def _answer(self) -> object:
        answer = self._socket.recv(64)
        if not answer:
            raise RuntimeError("the process that starts commands has died")
        return json.loads(answer)


def _serve(number: int) -> None:
    """Answers until the other end is closed. In a child it returns, to become the command."""
    with socket.socket(fileno=number) as calls:
        while True:
            message, descriptors, _, _ = socket.recv_fds(calls, _LONGEST_MESSAGE, 2)
            if not message:
                os._exit(0)
            call = json.loads(message)
            if "wait" in call:
                answer = _wait(call["wait"], call["limit_s"])
            else:
                answer = os.fork()
                if answer == 0:
                    _become(call, descriptors)
                    return
            for descriptor in descriptors:
                os.close(descriptor)
            calls.send(json.dumps(answer).encode())


def _become(call: Mapping[str, object], descriptors: Sequence[int]) -> None:
    os.setsid()
    for descriptor, name in zip(descriptors, ("stdout", "stderr"), strict=True):
        old = getattr(sys, name)
        os.dup2(descriptor, old.fileno())
        os.close(descriptor)
        # Made anew, as what it knows of its file is true no more.
        stream = open(  # noqa: SIM115  # stays open for as long as the process lives
            old.fileno(), "w", encoding=old.encoding, errors=old.errors, closefd=False
        )
        stream.reconfigure(line_buffering=name == "stderr" or stream.isatty())
        setattr(sys, name, stream)
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


def _wait(child: int, limit_s: float | None) -> int | None:
    """The exit code of a child; None where it goes on for longer."""
    import select

    ended = os.pidfd_open(child)
    try:
        if not select.select([ended], [], [], limit_s)[0]:
            return None
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(ended)


def main() -> None:
    import contextlib
    import importlib
    import io
    import pkgutil

    codes: list[int] = []
    atexit.register(_end, codes)  # the first, so that it is the last to be called

    import pipelines.lidar
    import rt_sched.analysis.batch
    import rt_sched.cli
    import rt_sched.kernels
    import rt_sched.record.schemas
    import rt_sched.report.run_report
    from rt_sched.ports import StageContext

    for name in _HEAVY:
        importlib.import_module(name)
    for package in _OURS:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    rt_sched.report.run_report._environment().get_template("run_report.html.j2")
    rt_sched.kernels.warm_up()
    rt_sched.analysis.batch.warm_up()
    pipelines.lidar.Preprocess().start(StageContext("lidar", Path()))
    pipelines.lidar.Cluster().start(StageContext("cluster", Path()))
    for name in rt_sched.record.schemas.DEFINITIONS:
        rt_sched.record.schemas.typestore().get_msgdef(name)
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
