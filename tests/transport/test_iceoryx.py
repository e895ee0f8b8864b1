"""Channels over iceoryx2 keep what the port promises, as far as iceoryx2 can."""

import contextlib
import functools
import os
import signal
import time
import traceback

import numpy as np
import pytest

from rt_sched.errors import DataError, DeploymentError
from rt_sched.model.task import Edge, EdgeKind, Overflow
from rt_sched.ports import Port, Reader, Writer
from rt_sched.transport import Channel, ChannelReader
from rt_sched.transport.iceoryx import IceoryxPort
from rt_sched.transport.leftovers import clean_leftovers

pytest.importorskip("iceoryx2", reason="iceoryx2 is not installed: pip install 'rt-sched[iceoryx2]'")

SECOND = 1_000_000_000
LATEST = Edge(EdgeKind.LATEST)
OLDEST = Edge(EdgeKind.QUEUE, 3, Overflow.DROP_OLDEST)
NEWEST = Edge(EdgeKind.QUEUE, 3, Overflow.DROP_NEWEST)


def in_a_child(test):
    """A process that has used iceoryx2 must not fork, so the one of all tests never does."""

    @functools.wraps(test)
    def forked():
        pid = os.fork()
        if not pid:
            code = 1
            try:
                test()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    return forked


@contextlib.contextmanager
def port(*, message_bytes=64, loans=1, holds=1, **readers):
    ends = tuple(ChannelReader(name, edge, holds) for name, edge in readers.items())
    with IceoryxPort([Channel("c", message_bytes, ends, loans)]) as made:
        yield made


def take_all(reader):
    found = []
    while reader.unread():
        with reader.take() as message:
            found.append((bytes(message.data), message.lost))
    return found


@in_a_child
def test_a_message_arrives_as_it_was_written_with_its_stamps():
    with port(reader=OLDEST) as made:
        whole: Port = made
        writer: Writer = whole.writer("c")
        reader: Reader = whole.reader("c", "reader")
        loan = writer.loan(64)
        loan.data[:3] = b"abc"
        assert writer.publish(loan, 111, 222, size=3, tag=-5) == 1
        assert reader.wait(SECOND)
        with reader.take() as message:
            assert (bytes(message.data), message.data.readonly) == (b"abc", True)
            assert (message.sequence, message.epoch, message.stamp_ns, message.published_ns) == (1, 1, 111, 222)
            assert (message.tag, message.lost) == (-5, 0)
        assert reader.take() is None
        assert not reader.wait(1_000_000)


@in_a_child
def test_edges_keep_what_they_are_to_keep():
    with port(register=LATEST, oldest=OLDEST) as made:
        writer, register, oldest = made.writer("c"), made.reader("c", "register"), made.reader("c", "oldest")
        for number in range(5):
            writer.send(bytes([number]), 0, 0)
        assert take_all(oldest) == [(b"\2", 2), (b"\3", 2), (b"\4", 2)]
        for _ in range(2):
            with register.take() as message:
                assert (bytes(message.data), message.lost) == (b"\4", 4)
    with port(newest=NEWEST) as made:
        writer, newest = made.writer("c"), made.reader("c", "newest")
        for number in range(5):
            writer.send(bytes([number]), 0, 0)
        assert take_all(newest) == [(b"\0", 0), (b"\1", 0), (b"\2", 0)]


@in_a_child
def test_what_it_cannot_do_is_refused():
    with pytest.raises(DeploymentError, match="iceoryx2 drops either the oldest or the newest message for all readers"):
        IceoryxPort([Channel("c", 8, (ChannelReader("a", OLDEST), ChannelReader("b", NEWEST)))])


@in_a_child
def test_wrong_use_is_refused_as_in_our_own_memory():
    with port(reader=OLDEST, message_bytes=10) as made:
        writer, reader = made.writer("c"), made.reader("c", "reader")
        with pytest.raises(DeploymentError, match="this process is the writer of channel c already"):
            made.writer("c")
        with pytest.raises(DataError, match="a message of 11 bytes does not fit; message_bytes is 10"):
            writer.loan(11)
        loan = writer.loan(10)
        with pytest.raises(DataError, match="1 of 1 loans are open"):
            writer.loan(1)
        writer.give_back(loan)
        with pytest.raises(DataError, match="published or given back before"):
            writer.publish(loan, 0, 0)
        writer.send(b"0123456789", 0, 0)
        message = reader.take()
        with pytest.raises(DataError, match="1 messages are in hand"):
            reader.take()
        kept = np.frombuffer(message.data, np.uint8)
        with pytest.raises(BufferError, match="an array still refers to a message"):
            message.release()
        del kept
        message.release()


@in_a_child
def test_a_killed_writer_is_followed_by_another():
    with port(reader=OLDEST) as made:
        ready, told = os.pipe()
        child = os.fork()
        if not child:
            made.writer("c").send(b"first", 0, 0)
            os.write(told, b"!")
            time.sleep(600)
        os.read(ready, 1)
        reader = made.reader("c", "reader")
        with pytest.raises(DeploymentError, match=f"process {child} is the writer of channel c"):
            made.writer("c")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        writer = made.writer("c")
        assert writer.epoch == 2
        assert writer.send(b"second", 0, 0) == 2
        assert reader.wait(5 * SECOND)
        with reader.take() as message:
            assert (bytes(message.data), message.sequence, message.epoch, message.lost) == (b"second", 2, 2, 1)


@in_a_child
def test_what_a_killed_run_leaves_is_cleaned_up():
    ready, told = os.pipe()
    child = os.fork()
    if not child:
        made = IceoryxPort([Channel("c", 8, (ChannelReader("reader", OLDEST),))])
        made.writer("c").send(b"first", 0, 0)
        os.write(told, made.run.encode())
        time.sleep(600)
    run = os.read(ready, 100).decode()
    with port(reader=OLDEST) as living:
        living.writer("c").send(b"alive", 0, 0)
        assert not [path for path in clean_leftovers() if path.name.startswith(run)]
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        removed = clean_leftovers()
        assert len([path for path in removed if path.name.startswith(run)]) > 1
    assert not [path for path in clean_leftovers() if path.name.startswith(living.run)], "closing removes everything"
