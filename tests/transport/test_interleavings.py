"""Every order of steps that is tried, and every death, leaves the ring as it promises."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interleaved_ring import Memory, Process, reading, ring_functions, writing

from rt_sched.kernels.ring import words
from rt_sched.kernels.ring.layout import ReaderWords

LATEST = ReaderWords(depth=1, keeps=True, refuses=False, pins=1, bell=0)
OLDEST = ReaderWords(depth=2, keeps=False, refuses=False, pins=1, bell=0)
NEWEST = ReaderWords(depth=2, keeps=False, refuses=True, pins=1, bell=0)
KINDS = {"latest": LATEST, "drop_oldest": OLDEST, "drop_newest": NEWEST}


def run(random, processes):
    """Steps of all in an order with runs of any length, so that each may be overtaken often at one step or never."""
    while alive := [process for process in processes if not process.done]:
        turn = random.choice(alive)
        for _ in range(random.choice((1, 1, 2, 5, 40))):
            if not turn.done:
                turn.step()


def check(memory):
    """What holds whenever nobody is in the middle of something and a writer has taken over."""
    newest = memory.word(words.COMMIT) >> words.SLOT_BITS
    assert memory.published == sorted(set(memory.published)), "each message once"
    for reader in memory.readers:
        offered, taken, unread = memory.counters(reader)
        assert offered == newest, "every reader was offered every message"
        assert offered - taken - unread >= 0
        assert unread <= memory.word(reader + words.DEPTH)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_order_of_steps(seed):
    random = Random(seed)  # noqa: S311
    memory = Memory(random.choices(list(KINDS.values()), k=random.choice((1, 2, 3))))
    processes = [Process(memory, writing(memory, 6))]
    processes += [Process(memory, reading(memory, reader, 5)) for reader in memory.readers]
    run(random, processes)
    assert memory.published == [1, 2, 3, 4, 5, 6]
    check(memory)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_order_of_steps_with_deaths(seed):
    """Writer and readers are killed at random steps and followed by others, which find everything in order."""
    random = Random(seed)  # noqa: S311
    memory = Memory(random.choices(list(KINDS.values()), k=random.choice((1, 2))))
    ends = {0: lambda: writing(memory, 4)} | {
        reader: lambda reader=reader: reading(memory, reader, 4) for reader in memory.readers
    }
    running = {end: Process(memory, work()) for end, work in ends.items()}
    for _ in range(random.randrange(1, 6)):
        for _ in range(random.randrange(0, 120)):
            if alive := [process for process in running.values() if not process.done]:
                random.choice(alive).step()
        victim = random.choice(list(ends))
        running[victim].kill()
        memory.in_hand = {held for held in memory.in_hand if held[0] != victim or victim == 0}
        running[victim] = Process(memory, ends[victim]())
    run(random, list(running.values()))
    successor = Process(memory, writing(memory, 1))
    run(random, [successor])
    check(memory)


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_killed_at_every_step(kind):
    """What the dead writer had published is there, once, and its successor's numbers go on from it."""
    step, done = 0, False
    while not done:
        memory = Memory([KINDS[kind], OLDEST])
        for work in (writing(memory, 2), reading(memory, memory.readers[0], 1)):
            process = Process(memory, work)
            while not process.done:
                process.step()
        memory.in_hand.clear()
        victim = Process(memory, writing(memory, 1))
        for _ in range(step):
            if not victim.done:
                victim.step()
        done = victim.done
        victim.kill()
        newest = memory.word(words.COMMIT) >> words.SLOT_BITS
        assert newest in (2, 3)
        successor = Process(memory, writing(memory, 0))
        while not successor.done:
            successor.step()
        check(memory)
        last = Process(memory, reading(memory, memory.readers[1], 5))
        while not last.done:
            last.step()
        assert memory.taken[memory.readers[1]] == list(range(newest - 1, newest + 1))
        step += 1
    assert step > 50


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_killed_at_every_step(kind):
    """Its successor gets every message that the dead one had not taken, and the writer never lacks a slot."""
    step, done = 0, False
    while not done:
        memory = Memory([KINDS[kind]])
        reader = memory.readers[0]
        process = Process(memory, writing(memory, 2))
        while not process.done:
            process.step()
        victim = Process(memory, reading(memory, reader, 2))
        for _ in range(step):
            if not victim.done:
                victim.step()
        done = victim.done
        victim.kill()
        memory.in_hand.clear()
        taken_before = memory.counters(reader)[1]
        writer = Process(memory, writing(memory, 3))
        while not writer.done:
            writer.step()
        check(memory)
        memory.taken[reader].clear()
        successor = Process(memory, reading(memory, reader, 4))
        while not successor.done:
            successor.step()
        got = memory.taken[reader]
        if kind == "latest":
            assert set(got) == {5}
        elif kind == "drop_oldest":
            assert got == [4, 5]
        else:
            assert got == [[1, 2], [2, 3], [3, 4]][taken_before]
        step += 1
    assert step > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_fence_lies_between_the_two_looks(kind):
    """Between the pin and the look whether the list still names it; between what was published and the look at pins.

    What one processor reorders no run in steps shows, and on real ones it is rare.
    """
    memory = Memory([KINDS[kind]])
    reader = memory.readers[0]
    steps = []
    ring = ring_functions(memory, lambda what, address: steps.append((what, address)))
    ring.resume(0)
    ring.publish(0, ring.loan(0), 0, 0, 0, 0)
    steps.clear()
    assert ring.take(0, reader)[0] >= 0
    pinned, pushed = reader + words.PINNED, reader + words.PUSHED
    fence = steps.index(("fence", 0))
    assert steps.index(("store", pinned)) < fence < len(steps) - 1 - steps[::-1].index(("load", pushed))
    steps.clear()
    ring.loan(0)
    fence = steps.index(("fence", 0))
    looks = [index for index, (what, at) in enumerate(steps) if what == "load" and at >= reader]
    assert looks
    assert fence < min(looks)
