import pytest

from rt_sched.app.terminal import Terminal

MINUTE_NS = 60 * 10**9


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def replaying(capsys):
    """A replay of one minute that does not write to a terminal: its terminal, its clock, what it has said since."""
    clock = Clock()
    terminal = Terminal(quiet=True, clock=clock)
    terminal.step("replaying")
    assert capsys.readouterr().err == "replaying ...\n"
    return terminal, clock, lambda: capsys.readouterr().err.splitlines()


def test_each_tenth_of_a_long_replay_has_its_line(replaying):
    terminal, clock, said = replaying
    for percent in range(101):
        clock.now_s = 6.0 * percent
        terminal.advance(MINUTE_NS * percent // 100, MINUTE_NS)
    assert said() == [f"replaying: {tenth * 10} %, {tenth * 6}.0 of 60.0 s" for tenth in range(1, 11)]


def test_lines_keep_five_seconds_between_them(replaying):
    terminal, clock, said = replaying
    for percent in range(101):
        clock.now_s = 0.2 * percent
        terminal.advance(MINUTE_NS * percent // 100, MINUTE_NS)
    assert [line.split(",")[0] for line in said()] == [f"replaying: {at} %" for at in (25, 50, 75, 100)]


def test_a_short_replay_says_nothing_more(replaying):
    terminal, clock, said = replaying
    clock.now_s = 4.9
    terminal.advance(MINUTE_NS, MINUTE_NS)
    assert said() == []


def test_every_step_counts_anew(replaying):
    terminal, clock, said = replaying
    clock.now_s = 10.0
    terminal.advance(MINUTE_NS * 9 // 10, MINUTE_NS)
    terminal.step("replaying again")
    clock.now_s = 20.0
    terminal.advance(MINUTE_NS // 10, MINUTE_NS)
    assert said() == [
        "replaying: 90 %, 54.0 of 60.0 s",
        "replaying again ...",
        "replaying again: 10 %, 6.0 of 60.0 s",
    ]


def test_a_long_line_is_not_broken(replaying):
    terminal, _, said = replaying
    terminal.note("word " * 100)
    assert len(said()) == 1
