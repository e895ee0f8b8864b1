"""A channel does what a naive one with lists does, for any sequence of operations."""

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.model.task import Edge, EdgeKind, Overflow
from rt_sched.transport import Channel, ChannelReader, Segment

EDGES = st.builds(Edge, st.just(EdgeKind.QUEUE), st.integers(1, 4), st.sampled_from(Overflow)) | st.just(
    Edge(EdgeKind.LATEST)
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 4), st.just(0)),
        st.tuples(st.just("restart"), st.just(0), st.just(0)),
        st.tuples(st.sampled_from(["take", "release", "reopen"]), st.just(0), st.integers(0, 2)),
    ),
    max_size=60,
)


class Naive:
    """One reader's view of a channel, as the semantics say it."""

    def __init__(self, edge):
        self.edge = edge
        self.waiting = deque()
        self.register = None
        self.offered = self.taken = 0

    def offer(self, number):
        self.offered += 1
        if self.edge.kind is EdgeKind.LATEST:
            self.register = number
            self.waiting = deque([number])
        elif len(self.waiting) < self.edge.depth:
            self.waiting.append(number)
        elif self.edge.overflow is Overflow.DROP_OLDEST:
            self.waiting.popleft()
            self.waiting.append(number)

    def take(self):
        """Number of the message and how many were lost before it; None where there is none."""
        if self.waiting:
            self.taken += 1
            number = self.waiting.popleft()
        elif self.register is not None:
            number = self.register
        else:
            return None
        return number, number - self.taken


@settings(max_examples=100, deadline=None)
@given(edges=st.lists(EDGES, min_size=1, max_size=3), operations=OPERATIONS)
def test_it_does_what_lists_do(edges, operations):
    names = [str(number) for number in range(len(edges))]
    channel = Channel("c", 8, tuple(map(ChannelReader, names, edges)))
    with Segment.create([channel]) as segment:
        writer = segment.writer("c")
        readers = [segment.reader("c", name) for name in names]
        naive = [Naive(edge) for edge in edges]
        hands = [None] * len(edges)
        sent = epoch = 0
        for operation, times, which in operations:
            which %= len(edges)
            if operation == "send":
                for _ in range(times):
                    sent += 1
                    assert writer.send(sent.to_bytes(8, "little"), sent * 3, sent * 5, tag=sent * 7) == sent
                    for one in naive:
                        one.offer(sent)
            elif operation == "restart":
                writer.close()
                epoch += 1
                writer = segment.writer("c")
            elif operation == "take" and hands[which] is None:
                message, expected = readers[which].take(), naive[which].take()
                assert (message is None) == (expected is None)
                if message is not None:
                    number, lost = expected
                    assert (message.sequence, message.lost) == (number, lost)
                    assert (message.stamp_ns, message.published_ns, message.tag) == (number * 3, number * 5, number * 7)
                    hands[which] = (message, number)
            elif operation == "release" and hands[which] is not None:
                hands[which][0].release()
                hands[which] = None
            elif operation == "reopen":
                readers[which].close()
                hands[which] = None
                readers[which] = segment.reader("c", names[which])
            for hand in hands:
                if hand is not None:
                    assert int.from_bytes(hand[0].data, "little") == hand[1]
            for reader, one in zip(readers, naive, strict=True):
                assert reader.unread() == len(one.waiting)
        (status,) = segment.status()
        assert (status.published, status.epoch) == (sent, epoch + 1)
        for counted, one in zip(status.readers, naive, strict=True):
            assert (counted.offered, counted.taken, counted.unread) == (one.offered, one.taken, len(one.waiting))
            assert counted.lost == one.offered - one.taken - len(one.waiting)
