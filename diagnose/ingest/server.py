"""Questions to the servers behind addresses, through fsspec, and an answer to each within its time.

Not every library that fsspec uses has a limit of its own, and what hangs in one cannot be
interrupted: a thread asks, and is left behind where it hangs.
"""

import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

from diagnose.ingest.contact import Contact
from diagnose.ingest.refusal import EXTRA, refusal

WAIT = 60.0
"""Seconds for one answer, in which the libraries try again by themselves."""

LOOK = 0.1
"""Seconds between two looks at whether a server can be reached at all."""

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


def _load(scheme: str) -> None:
    from fsspec import get_filesystem_class

    get_filesystem_class(scheme)


@cache
def _server(process: int, address: str) -> _Server:
    """Return what talks to a server; a forked process cannot use the connections of its parent."""
    from fsspec.core import url_to_fs

    for name in LOUD:
        logging.getLogger(name).addHandler(logging.NullHandler())
    system, _ = url_to_fs(address)
    return _Server(system, nullcontext() if system.async_impl else Lock())


_CONTACTS: dict[str, Contact] = {}
"""By server. One that gave no answer once is silent: to wait anew for each file takes for ever."""


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
    answer = end(url, begin(url, question))
    _contact(url).reached = True
    return answer


def begin(url: str, question: Question[Answer]) -> Future[Answer]:
    """Ask a server without waiting for the answer; see ``ask``."""
    answer: Future[Answer] = Future()
    contact = _contact(url)

    def put() -> None:
        try:
            _load(scheme_of(url))
            contact.begin()
            server = _server(os.getpid(), server_of(url))
            with server.turn:
                answer.set_result(question(server.system, server.system._strip_protocol(url)))
        except BaseException as error:
            answer.set_exception(error)

    if not contact.silent:
        Thread(target=put, daemon=True).start()
    return answer


def end(url: str, answer: Future[Answer]) -> Answer:
    """Return an answer that was begun; see ``ask``."""
    contact = _contact(url)
    latest = monotonic() + WAIT
    try:
        while not (answer.done() or contact.silent or monotonic() > latest):
            if contact.lost():
                raise ConnectionError
            wait([answer], timeout=LOOK)
        return answer.result(0)
    except Exception as error:
        contact.silent = contact.silent or not answer.done()
        raise refusal(error, scheme_of(url)) from error


def _contact(url: str) -> Contact:
    server = server_of(url)
    if server not in _CONTACTS:
        _CONTACTS[server] = Contact(watched=scheme_of(url).lower() in EXTRA)
    return _CONTACTS[server]


def forget(url: str) -> None:
    """Forget what a server said, or that it said nothing, in a run before in this process.

    Args:
        url: An address on it.

    Raises:
        Unreadable: As for ``ask``.
    """
    _CONTACTS.pop(server_of(url), None)
    # Not as a question is asked: a file system that can be had says nothing of its server.
    end(url, begin(url, lambda system, path: system.invalidate_cache()))
