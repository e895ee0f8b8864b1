"""What writers and readers of channels in shared memory promise, in one process."""

import os

import numpy as np
import pytest

from rt_sched.errors import DataError, DeploymentError
from rt_sched.model.task import Edge, EdgeKind
from rt_sched.ports import Port, Reader, Writer
from rt_sched.transport import Channel, ChannelReader, Segment
from rt_sched.transport.bell import wait_for_any
from rt_sched.transport.memory import available, check_memory


def take(reader):
    """The content and the count of lost messages of all that waits."""
    found = []
    while reader.unread():
        with reader.take() as message:
            found.append((bytes(message.data), message.lost))
    return found


def test_a_message_arrives_as_it_was_written_with_its_stamps(make):
    segment = make(reader="oldest", message_bytes=100)
    port: Port = segment
    writer: Writer = port.writer("frames")
    reader: Reader = port.reader("frames", "reader")
    loan = writer.loan(100)
    loan.data[:3] = b"abc"
    assert writer.publish(loan, 111, 222, size=3, tag=-5) == 1
    message = reader.take()
    assert bytes(message.data) == b"abc"
    assert message.data.readonly
    assert (message.sequence, message.epoch, message.stamp_ns, message.published_ns) == (1, 1, 111, 222)
    assert (message.tag, message.lost) == (-5, 0)
    message.release()
    assert reader.take() is None


def test_it_is_read_where_it_was_written(make):
    segment = make(reader="latest", message_bytes=1 << 16)
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    loan = writer.loan(1 << 16)
    there = np.frombuffer(loan.data, np.uint8)
    writer.publish(loan, 0, 0)
    with reader.take() as message:
        here = np.frombuffer(message.data, np.uint8)
        there[7] = 99  # a producer that broke the rules
        assert here[7] == 99
        del here
    del there


def test_every_reader_gets_every_message_by_its_own_edge(make):
    segment = make(register="latest", oldest="oldest", newest="newest")
    writer = segment.writer("frames")
    readers = {name: segment.reader("frames", name) for name in ("register", "oldest", "newest")}
    for number in range(5):
        writer.send(bytes([number]), 0, 0)
    assert take(readers["register"]) == [(b"\4", 4)]
    assert take(readers["oldest"]) == [(b"\2", 2), (b"\3", 2), (b"\4", 2)]
    assert take(readers["newest"]) == [(b"\0", 0), (b"\1", 0), (b"\2", 0)]
    writer.send(b"\5", 0, 0)
    assert take(readers["newest"]) == [(b"\5", 2)]
    (channel,) = segment.status()
    assert (channel.published, channel.epoch) == (6, 1)
    assert {reader.name: (reader.taken, reader.unread, reader.lost) for reader in channel.readers} == {
        "register": (1, 1, 4),
        "oldest": (3, 1, 2),
        "newest": (4, 0, 2),
    }


def test_a_register_keeps_its_message(make):
    segment = make(reader="latest")
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    assert reader.take() is None
    writer.send(b"one", 0, 0)
    for _ in range(3):
        with reader.take() as message:
            assert bytes(message.data) == b"one"
        assert not reader.unread()
    writer.close()
    with reader.take() as message:
        assert message.sequence == 1


def test_a_message_in_hand_stays_whatever_the_writer_does(make):
    segment = make(reader="latest", other="oldest", holds=2)
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    writer.send(b"first", 0, 0)
    first = reader.take()
    writer.send(b"second", 0, 0)
    second = reader.take()
    for number in range(50):
        writer.send(bytes([number]), 0, 0)
        assert (bytes(first.data), bytes(second.data)) == (b"first", b"second")
    with pytest.raises(DataError, match="reader reader of channel frames: 2 messages are in hand, as many as it holds"):
        reader.take()
    first.release()
    second.release()
    first.release()  # once more does nothing
    assert take(reader) == [(bytes([49]), 49)]


def test_an_array_that_stays_behind_is_refused_not_overwritten(make):
    segment = make(reader="latest")
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    writer.send(b"kept", 0, 0)
    message = reader.take()
    kept = np.frombuffer(message.data, np.uint8)
    with pytest.raises(BufferError, match="an array still refers to a message that is let go"):
        message.release()
    for _ in range(20):
        writer.send(b"next", 0, 0)
    assert bytes(kept) == b"kept"
    del kept
    message.release()


def test_an_array_over_a_published_slot_may_be_read_until_the_slot_is_needed(make):
    segment = make(reader="latest")
    writer = segment.writer("frames")
    loan = writer.loan(4)
    array = np.frombuffer(loan.data, np.uint8)
    array[:] = 7
    writer.publish(loan, 0, 0)
    assert array.tolist() == [7, 7, 7, 7]
    with pytest.raises(BufferError, match="an array still refers to a slot that was published"):
        for _ in range(5):
            writer.send(b"next", 0, 0)
    del array
    writer.send(b"last", 0, 0)


def test_more_than_fits_is_refused(make):
    segment = make(reader="latest", message_bytes=10)
    writer = segment.writer("frames")
    with pytest.raises(DataError, match="a message of 11 bytes does not fit; message_bytes is 10"):
        writer.loan(11)
    with pytest.raises(DataError, match="does not fit"):
        writer.send(b"x" * 11, 0, 0)
    with pytest.raises(DataError, match="does not fit"):
        writer.loan(-1)
    loan = writer.loan(5)
    with pytest.raises(DataError, match="6 bytes of a loan of 5"):
        writer.publish(loan, 0, 0, size=6)
    assert writer.publish(loan, 0, 0, size=0) == 1
    with segment.reader("frames", "reader").take() as message:
        assert len(message.data) == 0


def test_loans_are_counted_and_end_once(make):
    segment = make(reader="oldest", loans=2)
    writer = segment.writer("frames")
    first, second = writer.loan(1), writer.loan(1)
    with pytest.raises(DataError, match="2 of 2 loans are open"):
        writer.loan(1)
    writer.give_back(first)
    third = writer.loan(1)
    assert writer.publish(third, 0, 0) == 1
    assert writer.publish(second, 0, 0) == 2
    for ended in (first, second, third):
        with pytest.raises(DataError, match="published or given back before"):
            writer.publish(ended, 0, 0)


def test_an_end_is_claimed_once_and_again_when_it_was_closed(make):
    segment = make(reader="oldest")
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    with pytest.raises(DeploymentError, match="this process is the writer of channel frames already"):
        segment.writer("frames")
    with pytest.raises(DeploymentError, match="this process is reader reader of channel frames already"):
        segment.reader("frames", "reader")
    writer.send(b"a", 0, 0)
    writer.close()
    reader.close()
    reader.close()
    with pytest.raises(DataError, match="was closed"):
        writer.loan(1)
    with pytest.raises(DataError, match="was closed"):
        reader.take()
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    assert writer.epoch == 2
    assert reader.abandoned == 0
    writer.send(b"b", 0, 0)
    with reader.take() as message:
        assert (bytes(message.data), message.sequence, message.epoch) == (b"a", 1, 1)
    with reader.take() as message:
        assert (bytes(message.data), message.sequence, message.epoch) == (b"b", 2, 2)


def test_several_readers_of_a_process_wait_together():
    ends = [ChannelReader(name, Edge(EdgeKind.QUEUE, 2), bell="fusion") for name in ("left", "right")]
    with Segment.create([Channel(end.name, 8, (end,)) for end in ends]) as segment:
        readers = [segment.reader(name, name) for name in ("left", "right")]
        writers = [segment.writer(name) for name in ("left", "right")]
        assert not wait_for_any(readers, 1_000_000)
        for writer, reader in zip(writers, readers, strict=True):
            writer.send(b"x", 0, 0)
            assert wait_for_any(readers, None)
            reader.take().release()
        bell = segment.bell("fusion")
        seen = bell.count()
        assert not bell.wait(seen, 0)
        bell.ring()
        assert bell.wait(seen, None)


def test_a_segment_describes_itself(make):
    segment = make(a="latest", b="oldest", c="newest", message_bytes=5000, loans=2, holds=3, bell="together")
    segment.writer("frames").send(b"hello", 1, 2)
    with Segment.attach(os.dup(segment.fileno())) as other:
        assert other.channels == segment.channels
        assert other.status() == segment.status()
        with other.reader("frames", "b").take() as message:
            assert bytes(message.data) == b"hello"


def test_memory_of_something_else_is_refused():
    for content in (b"", b"x" * 4096):
        fd = os.memfd_create("other")
        os.write(fd, content)
        with pytest.raises(DataError, match="not a segment of rt-sched"):
            Segment.attach(fd)
        os.close(fd)


def test_the_memory_cannot_be_cut_off(make):
    with pytest.raises(PermissionError):
        os.ftruncate(make(reader="latest").fileno(), 100)


def test_everything_wrong_with_channels_is_said_at_once():
    queue = Edge(EdgeKind.QUEUE, 0)
    readers = (ChannelReader("r", queue), ChannelReader("r", Edge(EdgeKind.LATEST), holds=0))
    with pytest.raises(DeploymentError) as raised:
        Segment.create([Channel("a", 0, readers, loans=0), Channel("a", 8, ())])
    assert str(raised.value).splitlines() == [
        "two channels are named a",
        "channel a: message_bytes is 0; at least 1",
        "channel a: loans is 0; at least 1",
        "channel a: two readers are named r",
        "channel a, reader r: a queue of 0 messages; from 1 to 4096",
        "channel a, reader r: holds is 0; at least 1",
    ]


def test_unknown_names_are_refused_with_those_that_are_known(make):
    segment = make(reader="latest")
    with pytest.raises(DeploymentError, match="no channel is named frame; there are frames"):
        segment.writer("frame")
    with pytest.raises(DeploymentError, match="channel frames has no reader eve; it has reader"):
        segment.reader("frames", "eve")
    with pytest.raises(DeploymentError, match="no bell is named b; there are frames/reader"):
        segment.bell("b")


def test_memory_that_is_not_there_is_refused_before_the_start():
    assert 0 < available() < 1 << 50
    with pytest.raises(DeploymentError, match=r"MB of shared memory for the channels, of which [0-9.]+ MB are free"):
        check_memory(available() * 2)
    with pytest.raises(DeploymentError, match="shared memory for the channels"):
        Segment.create([Channel("a", 1 << 58, (ChannelReader("r", Edge(EdgeKind.LATEST)),))])


def test_a_channel_without_readers_goes_nowhere(make):
    segment = make()
    writer = segment.writer("frames")
    assert [writer.send(b"x", 0, 0) for _ in range(3)] == [1, 2, 3]
