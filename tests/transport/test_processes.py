"""Channels between processes, which are killed while they use them."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from random import Random

import numpy as np
import pytest

from rt_sched.errors import DataError, DeploymentError
from rt_sched.kernels import ring
from rt_sched.model.task import Edge, EdgeKind, Overflow
from rt_sched.transport import Channel, ChannelReader, Segment

SECOND = 1_000_000_000
QUEUE = Edge(EdgeKind.QUEUE, 8)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Children are forked with everything loaded."""
    ring.warm_up()


@contextlib.contextmanager
def child(work, *arguments):
    """A forked process that calls `work`; its pid. It is killed at the end of the block, if it still lives."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work(*arguments)
            code = 0
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        kill(pid)


def kill(pid):
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        killed(pid)


def killed(pid):
    """Kills the child; whether it had not ended before."""
    os.kill(pid, signal.SIGKILL)
    return ended(pid) == -signal.SIGKILL


def ended(pid):
    """The exit code of a child that ends by itself."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def checksummed(writer, random, sizes):
    """Publishes one message whose first four bytes are a checksum of the others, written in two halves."""
    size = random.choice(sizes)
    loan = writer.loan(size)
    content = np.frombuffer(loan.data, np.uint8)
    content[4:] = random.randrange(256)
    content[-1] = random.randrange(256)
    content[:4] = np.frombuffer(zlib.crc32(content[4:]).to_bytes(4, "little"), np.uint8)
    del content
    writer.publish(loan, 0, time.monotonic_ns())


def whole(message):
    return zlib.crc32(message.data[4:]) == int.from_bytes(message.data[:4], "little")


def produce_for_ever(segment, seed):
    writer, random = segment.writer("c"), Random(seed)  # noqa: S311
    while True:
        checksummed(writer, random, (8, 64, 5000, 200_000))


def consume_for_ever(segment, reader):
    """Takes all that comes, and ends with the first message that is not whole, changes, or comes twice."""
    end = segment.reader("c", reader)
    last = 0
    while True:
        end.wait(None)
        while end.unread():
            with end.take() as message:
                assert whole(message)
                assert message.sequence > last
                assert whole(message)
                last = message.sequence


def stress_channel():
    oldest, newest = (Edge(EdgeKind.QUEUE, 3, overflow) for overflow in Overflow)
    edges = {"register": Edge(EdgeKind.LATEST), "oldest": oldest, "newest": newest}
    return Channel("c", 200_000, tuple(ChannelReader(name, edge) for name, edge in edges.items()))


def test_messages_wake_their_readers(make):
    def answer(segment):
        questions, answers = segment.reader("questions", "r"), segment.writer("answers")
        for _ in range(200):
            assert questions.wait(10 * SECOND)
            with questions.take() as question:
                answers.send(bytes(question.data), question.stamp_ns, 0)

    pair = [Channel(name, 8, (ChannelReader("r", QUEUE),)) for name in ("questions", "answers")]
    with Segment.create(pair) as segment, child(answer, segment) as pid:
        questions, answers = segment.writer("questions"), segment.reader("answers", "r")
        for number in range(200):
            questions.send(number.to_bytes(8, "little"), number, 0)
            assert answers.wait(10 * SECOND)
            with answers.take() as message:
                assert (int.from_bytes(message.data, "little"), message.stamp_ns) == (number, number)
        assert ended(pid) == 0


def test_a_wait_ends_in_time_and_for_signals(make):
    reader = make(reader="oldest").reader("frames", "reader")
    began = time.monotonic_ns()
    assert not reader.wait(30_000_000)
    assert time.monotonic_ns() - began >= 30_000_000

    class Alarm(Exception):
        pass

    def raise_alarm(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, raise_alarm)
    try:
        with pytest.raises(Alarm):  # or before the wait
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            reader.wait(None)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_end_belongs_to_one_process_until_that_dies(make):
    segment = make(reader="oldest")
    ready = make(reader="oldest")

    def hold():
        segment.writer("frames").send(b"from the child", 0, 0)
        in_hand = segment.reader("frames", "reader").take()
        assert in_hand is not None
        ready.writer("frames").send(b"", 0, 0)
        time.sleep(600)

    told = ready.reader("frames", "reader")
    with child(hold) as pid:
        assert told.wait(20 * SECOND)
        with pytest.raises(
            DeploymentError, match=f"process {pid} is the writer of channel frames; it has to end first"
        ):
            segment.writer("frames")
        with pytest.raises(DeploymentError, match=f"process {pid} is reader reader of channel frames"):
            segment.reader("frames", "reader")
        kill(pid)
        writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
        assert (writer.epoch, reader.abandoned) == (2, 1)
        assert writer.send(b"from the parent", 0, 0) == 2
        with reader.take() as message:
            assert (message.sequence, message.epoch, message.lost) == (2, 2, 0)


def test_a_child_has_none_of_its_parents_ends(make):
    segment = make(reader="oldest")
    writer, reader = segment.writer("frames"), segment.reader("frames", "reader")
    writer.send(b"in hand", 0, 0)
    in_hand = reader.take()
    loan = writer.loan(3)

    def use():
        in_hand.release()
        for action in (lambda: writer.loan(1), lambda: writer.publish(loan, 0, 0), reader.take):
            with pytest.raises(DataError, match="the parent process's"):
                action()
        segment.close()

    with child(use) as pid:
        assert ended(pid) == 0
    assert bytes(in_hand.data) == b"in hand"
    in_hand.release()
    loan.data[:] = b"abc"
    writer.publish(loan, 0, 0)
    with reader.take() as message:
        assert bytes(message.data) == b"abc"


def test_a_program_that_was_not_forked_attaches(make):
    segment = make(reader="oldest")
    program = (
        "import sys; from rt_sched.transport import Segment\n"
        "with Segment.attach(int(sys.argv[1])) as segment: segment.writer('frames').send(b'hello', 1, 2)"
    )
    root = str(Path(__file__).parents[2])
    descriptor = segment.fileno()
    subprocess.run(
        [sys.executable, "-c", program, str(descriptor)],
        pass_fds=[descriptor],
        check=True,
        env={**os.environ, "PYTHONPATH": root},
        timeout=120,
    )
    with segment.reader("frames", "reader").take() as message:
        assert (bytes(message.data), message.stamp_ns, message.published_ns) == (b"hello", 1, 2)


def test_no_message_is_torn_whoever_is_killed():
    """Writer and readers at full speed, killed and replaced at random instants for a few seconds."""
    random = Random(7)  # noqa: S311
    with Segment.create([stress_channel()]) as segment, contextlib.ExitStack() as stack:
        ends = {"writer": lambda: child(produce_for_ever, segment, random.random())}
        for name in ("register", "oldest", "newest"):
            ends[name] = lambda name=name: child(consume_for_ever, segment, name)
        running = {name: stack.enter_context(start()) for name, start in ends.items()}
        published = 0
        until = time.monotonic() + 5
        while time.monotonic() < until:
            time.sleep(random.random() * 0.03)
            victim = random.choice(list(ends))
            assert killed(running[victim]), "none ends by itself, as readers do that see a damaged message"
            (status,) = segment.status()
            assert status.published >= published
            published = status.published
            running[victim] = stack.enter_context(ends[victim]())
        for pid in running.values():
            assert killed(pid)
        assert published > 0
        assert_consistent(segment)


def assert_consistent(segment):
    """After everyone was killed: nothing is lost or counted twice, and it goes on."""
    before = segment.status()[0]
    writer = segment.writer("c")
    (status,) = segment.status()
    assert (status.published, status.epoch) == (before.published, before.epoch + 1)
    for reader in status.readers:
        assert reader.offered == status.published
        assert reader.offered - reader.taken - reader.unread == reader.lost >= 0
        assert reader.held <= 1
        end = segment.reader("c", reader.name)
        for _ in range(reader.unread):
            with end.take() as message:
                assert whole(message)
                assert status.published - 3 < message.sequence <= status.published or reader.name == "newest"
        assert not end.unread()
    checksummed(writer, Random(0), (64,))  # noqa: S311
    assert [reader.unread for reader in segment.status()[0].readers] == [1, 1, 1]


def test_nothing_is_left_when_everyone_is_killed():
    """The memory has no name anywhere; with the last process it is gone."""
    names = named_memory()
    free = shared_bytes()

    def run():
        segment = Segment.create([Channel("c", 20_000_000, (ChannelReader("r", QUEUE),))])
        if not os.fork():
            produce_for_ever(segment, 1)
        segment.reader("c", "r").wait(None)
        os.kill(0, signal.SIGKILL)

    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        run()
    assert ended(pid) == -signal.SIGKILL
    assert named_memory() == names
    until = time.monotonic() + 10
    while shared_bytes() > free + 100_000_000 and time.monotonic() < until:
        time.sleep(0.01)
    assert shared_bytes() <= free + 100_000_000


def named_memory():
    return {path.name for path in Path("/dev/shm").iterdir()}  # noqa: S108


def shared_bytes():
    """Shared memory that is in use on this machine, of which the segment above takes 200 MB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Shmem:"))
