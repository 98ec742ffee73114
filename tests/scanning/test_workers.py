"""Worker processes: batches, what is left of them, and interrupts."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from multiprocessing import active_children

import pytest

from diagnose.scanning.cluster import connect
from diagnose.scanning.interrupts import interrupts_later
from diagnose.scanning.workers import results


@pytest.fixture(autouse=True)
def no_children():
    before = set(active_children())
    yield
    assert set(active_children()) == before


def test_each_batch_is_done_once():
    work = [[number, number + 1] for number in range(9)]
    assert sorted(results(work, 3, sum)) == [(batch, sum(batch)) for batch in work]
    assert list(results([], 3, sum)) == []


def test_a_lost_worker_costs_its_batch_alone():
    def do(batch):
        if batch == [2]:
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    found = dict((batch[0], result) for batch, result in results([[n] for n in range(6)], 2, do))
    assert found == {number: [number] for number in range(6)} | {2: None}


def test_an_exception_of_a_worker_says_where_it_was_raised():
    def do(batch):
        raise ValueError("what a mistake")

    with pytest.raises(ValueError, match="what a mistake") as raised:
        list(results([[1]], 1, do))
    assert "in do\n" in raised.value.__notes__[0]


def test_a_worker_is_ended_while_it_writes():
    under_way = results([[number] for number in range(4)], 2, lambda batch: bytes(8 << 20))
    next(under_way)
    time.sleep(0.2)  # so long that the pipe of the other worker is full
    under_way.close()


def test_an_interrupt_reaches_no_worker():
    def do(batch):
        os.kill(os.getpid(), signal.SIGINT)
        return "goes on"

    assert list(results([[1]], 1, do)) == [([1], "goes on")]


@pytest.fixture
def interruptible():
    """As Python starts, also where a shell has let these tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_held_back_until_the_end_also_where_other_threads_take_it(interruptible):
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_later():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        reached = True
    over.set()
    other.join()
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_cluster_of_this_machine_is_started_and_ended_as_a_whole(interruptible, monkeypatch):
    seen = []

    @contextmanager
    def interrupted(name):
        seen.append(f"{name} starts")
        yield
        signal.raise_signal(signal.SIGINT)
        seen.append(f"{name} ended")

    monkeypatch.setattr(connect, "LocalCluster", lambda **_: interrupted("cluster"))
    monkeypatch.setattr(connect, "Client", lambda *_, **__: interrupted("client"))
    with pytest.raises(KeyboardInterrupt), connect.connected(None, 1):
        pass
    assert seen == ["cluster starts", "client starts", "client ended", "cluster ended"]
