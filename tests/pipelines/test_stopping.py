"""A network that is told to stop ends early and says so, and the next job is not touched by it."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from pipelines import onnx_session
from pipelines.detector import SHIPPED_MODEL, Infer
from rt_sched.messages import Tensor
from rt_sched.ports import JobContext, JobStopped, StageContext

JOB = JobContext("infer", 0, 0, 0, 0, 1)


@pytest.fixture
def infer(tmp_path):
    stage = Infer()
    stage.start(StageContext("infer", tmp_path))
    yield stage
    stage.stop()


def tensor(stage):
    signature = stage._session.signature.inputs[0]
    shape = tuple(size or 300 for size in signature.shape)
    return {
        "tensor": Tensor(0, "camera", ("in",), (np.zeros(shape, signature.dtype),), 1, 1, (1.0, 1.0), (0.0, 0.0), 1, 1)
    }


def test_a_job_that_was_told_to_stop_publishes_nothing_and_the_next_one_is_whole(infer):
    inputs = tensor(infer)
    infer.stop_job()  # between jobs: nobody is meant
    begin = time.thread_time_ns()
    whole = infer.process(JOB, inputs)["raw"]
    took_s = (time.thread_time_ns() - begin) / 1e9
    first = infer._running

    def tell():
        while infer._running is first:
            pass
        infer.stop_job()

    thread = threading.Thread(target=tell)
    thread.start()
    begin = time.thread_time_ns()
    with pytest.raises(JobStopped):
        infer.process(JOB, inputs)
    thread.join()
    assert (time.thread_time_ns() - begin) / 1e9 < max(took_s, 0.02)
    again = infer.process(JOB, inputs)["raw"]
    assert all((one == other).all() for one, other in zip(whole.arrays, again.arrays, strict=True))


def test_what_fails_by_itself_is_told_as_it_was():
    session = onnx_session.acquire(SHIPPED_MODEL)
    try:
        with pytest.raises(Exception, match=r"(?i)invalid") as raised:
            session.run(np.zeros((1, 1), np.float64), (), onnx_session.run_options())
        assert not isinstance(raised.value, JobStopped)
    finally:
        onnx_session.release(session)
