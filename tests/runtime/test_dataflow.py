import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.runtime.dataflow import Dataflow, Node


@given(
    threads=st.integers(1, 4),
    limit=st.integers(1, 6),
    needs=st.lists(st.sets(st.integers(0, 30), max_size=4), min_size=1, max_size=30),
)
def test_every_graph_gives_the_same_results_as_computing_in_order(threads, limit, needs):
    expected: list[int] = []
    for index, wanted in enumerate(needs):
        expected.append(index + sum(expected[n] for n in sorted(wanted) if n < index))

    with Dataflow(threads, in_flight=limit) as dataflow:
        nodes: list[Node] = []
        for index, wanted in enumerate(needs):
            earlier = [nodes[n] for n in sorted(wanted) if n < index]
            node = Node(lambda results, own=index: own + sum(results), earlier)
            nodes.append(node)
            dataflow.submit(node)
        assert [dataflow.wait(node) for node in nodes] == expected


def test_a_failure_reaches_the_caller_and_stops_the_rest():
    computed = []

    def fail(_):
        raise ZeroDivisionError("in the stage")

    with Dataflow(2, in_flight=8) as dataflow:
        bad = Node(fail, ())
        after = Node(computed.append, (bad,))
        dataflow.submit(bad)
        with pytest.raises(ZeroDivisionError, match="in the stage"):
            dataflow.submit(after)
            dataflow.wait(after)
    assert computed == []


def test_submit_waits_when_too_much_is_unfinished():
    release = threading.Event()
    submitted = []

    with Dataflow(1, in_flight=2) as dataflow:

        def submit_all():
            for index in range(4):
                dataflow.submit(Node(lambda _: release.wait(10), ()))
                submitted.append(index)

        feeder = threading.Thread(target=submit_all)
        feeder.start()
        while len(submitted) < 2:
            time.sleep(0.001)
        feeder.join(0.05)
        assert submitted == [0, 1]
        release.set()
        feeder.join(10)
        assert submitted == [0, 1, 2, 3]


def test_a_node_lets_go_of_what_it_read():
    with Dataflow(1, in_flight=4) as dataflow:
        first = Node(lambda _: "data", ())
        second = Node(lambda results: results[0] + "!", (first,))
        dataflow.submit(first)
        dataflow.submit(second)
        assert dataflow.wait(second) == "data!"
        assert second._needs == ()


def test_zero_threads_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Dataflow(0, in_flight=1)


def test_a_worker_that_cannot_hand_on_work_wakes_those_who_wait(monkeypatch):
    """Such as where the machine allows no further thread."""
    release = threading.Event()
    told = []

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with Dataflow(1, in_flight=8) as dataflow:
        first = Node(lambda _: release.wait(10), ())
        followers = [Node(lambda _: None, (first,)) for _ in range(3)]
        for node in (first, *followers):
            dataflow.submit(node)
        monkeypatch.setattr(dataflow._pool, "submit", refuse)

        def wait():
            with pytest.raises(RuntimeError, match="new thread"):
                dataflow.wait(followers[-1])
            told.append(True)

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        release.set()
        waiting.join(10)
    assert told == [True]
