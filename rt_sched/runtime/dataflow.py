"""Computes a growing graph of nodes on a pool of threads, each as soon as what it needs is there.

A node is a piece of work with the nodes it reads. Results depend on the graph alone, never on the number of threads
or the order in which they finish.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Node:
    """One computation; `result` is set once `done`. It lets go of what it read as soon as it is done."""

    __slots__ = ("_compute", "_needs", "_successors", "_unmet", "done", "result")

    def __init__(self, compute: Callable[[Sequence[Any]], Any], needs: Sequence[Node]) -> None:
        self._compute: Callable[[Sequence[Any]], Any] | None = compute
        self._needs: tuple[Node, ...] = tuple(needs)
        self._successors: list[Node] = []
        self._unmet = 0
        self.done = False
        self.result: Any = None


class Dataflow:
    """A pool of `threads` workers over nodes. Use as a context manager; leaving it waits for running work only.

    At most `in_flight` nodes are unfinished at a time: `submit` waits beyond that, so memory stays bounded.
    The first exception of a node is raised by the next `submit` or `wait`; only one thread at a time may call these.
    """

    def __init__(self, threads: int, in_flight: int) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="stage")
        # Ctrl-C may strike the submitting thread between any two steps of Python code. These two locks are taken and
        # given back by compiled code only, which a condition or an event is not, so none is ever left taken.
        self._lock = threading.Lock()
        self._no_news = threading.Lock()
        self._limit = max(in_flight, threads)
        self._unfinished = 0
        self._failure: BaseException | None = None

    def __enter__(self) -> Dataflow:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._failure = self._failure or RuntimeError("closed")
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, node: Node) -> None:
        """Starts `node` once every node it reads is done; those must have been submitted before."""
        self._wait_until(lambda: self._unfinished < self._limit)
        with self._lock:
            self._raise_failure()
            self._unfinished += 1
            for needed in node._needs:
                if not needed.done:
                    needed._successors.append(node)
                    node._unmet += 1
            ready = node._unmet == 0
        if ready:
            self._pool.submit(self._run, node)

    def wait(self, node: Node) -> Any:
        """The result of `node`, once it is there."""
        self._wait_until(lambda: node.done)
        self._raise_failure()
        return node.result

    def _wait_until(self, met: Callable[[], bool]) -> None:
        """Waits for `met` or a failure. What a worker changes it announces afterwards, so no change is missed."""
        while not met() and self._failure is None:
            self._no_news.acquire()

    def _announce(self) -> None:
        """Wakes the thread that waits, or the next that would; called with the lock held."""
        if self._no_news.locked():
            self._no_news.release()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self, node: Node) -> None:
        """Computes `node` and then whatever it makes ready; nothing may escape, or those who wait would not wake."""
        following: Node | None = node
        try:
            while following is not None:
                following = self._finish(following)
        except BaseException as error:
            with self._lock:
                self._failure = self._failure or error
                self._announce()

    def _finish(self, node: Node) -> Node | None:
        """Computes `node`, hands ready successors to the pool and returns one of them to go on with."""
        compute = node._compute
        if self._failure is not None or compute is None:
            return None
        result = compute([needed.result for needed in node._needs])
        with self._lock:
            node.result, node.done = result, True
            node._compute, node._needs = None, ()
            self._unfinished -= 1
            ready = []
            for successor in node._successors:
                successor._unmet -= 1
                if successor._unmet == 0:
                    ready.append(successor)
            node._successors = []
            self._announce()
        for other in ready[1:]:
            self._pool.submit(self._run, other)
        return ready[0] if ready else None
