"""ONNX Runtime sessions: one per model file in a process, shared by every stage that names the file.

Sessions run on the CPU with one thread, in sequence and without spinning, so that a job takes one core, leaves the
others alone and computes the same values every time. `run` may be called from several threads at once; ONNX Runtime
releases the interpreter's lock meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DeploymentError
from rt_sched.ports import JobStopped

_NUMPY_TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
    "tensor(int8)": "int8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
}


@dataclass(frozen=True, slots=True)
class TensorSignature:
    """One input or output of a model. A dimension that the model leaves open is None."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    def accepts(self, shape: Sequence[int], dtype: str) -> bool:
        """Whether an array of this shape and NumPy type name fits."""
        return (
            dtype == self.dtype
            and len(shape) == len(self.shape)
            and all(own is None or own == given for own, given in zip(self.shape, shape, strict=True))
        )

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{', '.join('?' if d is None else str(d) for d in self.shape)}]"


@dataclass(frozen=True, slots=True)
class ModelSignature:
    """Inputs and outputs of a model, in its own order."""

    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]

    def __str__(self) -> str:
        return f"inputs: {'; '.join(map(str, self.inputs))}; outputs: {'; '.join(map(str, self.outputs))}"


class ModelSession:
    """A loaded model. Get one with `acquire`, give it back with `release`."""

    def __init__(self, path: Path) -> None:
        """Loads the model. Raises DeploymentError when the file is missing, unreadable or no ONNX model."""
        self.path = path
        self._session = _load(path)
        self.signature = ModelSignature(
            tuple(_signature(node) for node in self._session.get_inputs()),
            tuple(_signature(node) for node in self._session.get_outputs()),
        )

    def run(
        self, array: npt.NDArray[np.generic], output_names: Sequence[str], options: Any = None
    ) -> tuple[npt.NDArray[np.generic], ...]:
        """The named outputs for `array`, which becomes the model's only input and must fit its signature.

        `options`: of `run_options`. Raises JobStopped when another thread has set its `terminate` meanwhile, which the
        network heeds after the operator that it is in.
        """
        try:
            return tuple(self._session.run(list(output_names), {self.signature.inputs[0].name: array}, options))
        except Exception as error:
            if options is not None and options.terminate:
                raise JobStopped(f"{self.path.name} was told to stop") from error
            raise


def run_options() -> Any:
    """Options of one `run`, by which another thread may end it."""
    import onnxruntime

    return onnxruntime.RunOptions()


_lock = threading.Lock()
_sessions: dict[Path, tuple[ModelSession, int]] = {}


def acquire(path: Path) -> ModelSession:
    """The process's session for the model file, loaded on first use. Raises DeploymentError."""
    resolved = path.resolve()
    with _lock:
        session, users = _sessions.get(resolved) or (ModelSession(resolved), 0)
        _sessions[resolved] = (session, users + 1)
    return session


def release(session: ModelSession) -> None:
    """Gives back what `acquire` returned; the last user's release frees the model."""
    with _lock:
        _, users = _sessions[session.path]
        if users > 1:
            _sessions[session.path] = (session, users - 1)
        else:
            del _sessions[session.path]


def _load(path: Path) -> Any:
    if not path.exists():
        raise DeploymentError(f"model file {path} does not exist")
    if not path.is_file():
        raise DeploymentError(f"model file {path} is not a file")
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise DeploymentError(f"model file {path} cannot be read: {error.strerror}") from error

    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # ONNX Runtime's exception classes share no base class; whatever it raises here is about this file.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DeploymentError(f"model file {path} is not an ONNX model that can be loaded: {reason}") from error


def _signature(node: Any) -> TensorSignature:
    shape = tuple(d if isinstance(d, int) and d > 0 else None for d in node.shape)
    return TensorSignature(node.name, _NUMPY_TYPES.get(node.type, node.type), shape)
