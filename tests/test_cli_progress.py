import io

import pytest

from diagnose.cli import progress
from diagnose.cli.progress import Bar


class Screen(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def screen(monkeypatch):
    def make(terminal):
        stream = Screen(terminal)
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        return stream

    return make


def run(clock, *, wanted=True, seconds=3.0):
    with Bar(wanted=wanted) as bar:
        for done in range(4):
            clock[0] += seconds / 4
            bar(done * 1024, 4096)


def test_a_long_run_on_a_terminal_is_shown_and_the_bar_goes_away(clock, screen):
    stream = screen(True)
    run(clock)
    drawn = stream.getvalue()
    assert "Reading" in drawn
    assert drawn.endswith("\x1b[2K")


def test_the_first_drawing_shows_how_far_it_is(clock, screen):
    stream = screen(True)
    with Bar(wanted=True) as bar:
        clock[0] += 2
        bar(1024, 4096)
    assert "0/100 bytes" not in stream.getvalue()
    assert "1.0/4.0 KiB" in stream.getvalue()


def test_a_closed_error_stream_is_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Bar(wanted=True) as bar:
        bar(1, 2)


@pytest.mark.parametrize(
    ("terminal", "wanted", "seconds"), [(True, True, 0.9), (False, True, 9.0), (True, False, 9.0)]
)
def test_nothing_is_drawn_for_a_short_run_a_pipe_or_where_it_is_not_wanted(
    clock, screen, terminal, wanted, seconds
):
    stream = screen(terminal)
    run(clock, wanted=wanted, seconds=seconds)
    assert stream.getvalue() == ""


def test_the_bar_goes_away_when_the_run_fails(clock, screen):
    stream = screen(True)
    with pytest.raises(KeyboardInterrupt), Bar(wanted=True) as bar:
        clock[0] += 2
        bar(1, 2)
        raise KeyboardInterrupt
    assert stream.getvalue().endswith("\x1b[2K")


def test_no_thread_draws(clock, screen):
    import threading

    screen(True)
    before = threading.active_count()
    with Bar(wanted=True) as bar:
        clock[0] += 2
        bar(1, 2)
        assert threading.active_count() == before


def test_many_calls_draw_seldom(clock, screen, monkeypatch):
    screen(True)
    drawn = []
    monkeypatch.setattr("rich.progress.Progress.refresh", lambda self: drawn.append(1))
    with Bar(wanted=True) as bar:
        clock[0] += 2
        for done in range(1000):
            bar(done, 1000)
        shown = len(drawn)
    assert shown <= 3


def test_what_is_said_meanwhile_stands_above_the_bar(clock, screen):
    stream = screen(True)
    with Bar(wanted=True) as bar:
        bar.say("first")
        clock[0] += 2
        bar(1024, 4096)
        bar.say("lost [one] worker")
    assert stream.getvalue().startswith("first\n")
    assert "lost [one] worker" in stream.getvalue()
