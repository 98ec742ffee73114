"""Questions to the servers behind addresses, through fsspec, and an answer to each within its time.

Not every library that fsspec uses has a limit of its own, and what hangs in one cannot be
interrupted: a thread asks, and is left behind where it hangs.
"""

import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import Lock, Thread
from typing import Any, TypeVar

from diagnose.ingest.refusal import refusal

WAIT = 60.0
"""Seconds for one answer, in which the libraries try again by themselves."""

LOUD = ("asyncio", "gcsfs", "google", "paramiko")
"""Loggers of libraries; what they say of errors goes to standard error where nobody has set up any
logging, tracebacks and all."""

SERVER = re.compile(r"[^:]+://[^/]*")

Answer = TypeVar("Answer")
Question = Callable[[Any, str], Answer]
"""Asked of a file system of fsspec and a path in it."""


@dataclass(frozen=True, slots=True)
class _Server:
    """A file system of fsspec, and what keeps questions apart where it can answer but one."""

    system: Any
    turn: AbstractContextManager[Any]


@cache
def _server(process: int, address: str) -> _Server:
    """Return what talks to a server; a forked process cannot use the connections of its parent."""
    from fsspec.core import url_to_fs

    for name in LOUD:
        logging.getLogger(name).addHandler(logging.NullHandler())
    system, _ = url_to_fs(address)
    return _Server(system, nullcontext() if system.async_impl else Lock())


_SILENT: set[str] = set()
"""Servers that gave no answer once: to wait anew for each of their files would take for ever."""


def server_of(url: str) -> str:
    """Return the address of the server, or of the bucket, that an address is on."""
    found = SERVER.match(url)
    return found[0] if found else url


def scheme_of(url: str) -> str:
    """Return what an address begins with, such as ``s3``."""
    return url.partition("://")[0]


def ask(url: str, question: Question[Answer]) -> Answer:
    """Return what a server answers.

    Args:
        url: The address in question.
        question: Asked in a thread of its own.

    Raises:
        Missing: Nothing is there.
        Unreadable: The server gives no answer, or does not let us in.
    """
    return end(url, begin(url, question))


def begin(url: str, question: Question[Answer]) -> Future[Answer]:
    """Ask a server without waiting for the answer; see ``ask``."""
    answer: Future[Answer] = Future()

    def put() -> None:
        try:
            server = _server(os.getpid(), server_of(url))
            with server.turn:
                answer.set_result(question(server.system, server.system._strip_protocol(url)))
        except BaseException as error:
            answer.set_exception(error)

    if server_of(url) not in _SILENT:
        Thread(target=put, daemon=True).start()
    return answer


def end(url: str, answer: Future[Answer]) -> Answer:
    """Return an answer that was begun; see ``ask``."""
    try:
        return answer.result(0 if server_of(url) in _SILENT else WAIT)
    except Exception as error:
        if not answer.done():
            _SILENT.add(server_of(url))
        raise refusal(error, scheme_of(url)) from error


def forget(url: str) -> None:
    """Forget what a server said, or that it said nothing, in a run before in this process.

    Args:
        url: An address on it.

    Raises:
        Unreadable: As for ``ask``.
    """
    _SILENT.discard(server_of(url))
    ask(url, lambda system, path: system.invalidate_cache())
