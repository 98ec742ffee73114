"""What a worker of a cluster does: says what it has, and reads batches.

It takes the shipped parsers from its own installation, which must be the client's. The text
selections of rules are small and come with each batch: rules of a team lie on the client alone.
"""

import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from socket import gethostname

from diagnose.errors import ClusterError
from diagnose.parsers import shipped
from diagnose.parsers.base import LineParser, Parser
from diagnose.parsers.late import Late
from diagnose.parsers.reader import Reader
from diagnose.scanning.cluster.release import Release, release
from diagnose.scanning.local import keep_blocks
from diagnose.scanning.units import Part, Unit, Wants, read_batch


@dataclass(frozen=True, slots=True)
class Order:
    """How to read, the same for all batches of a run.

    Args:
        release: The client's installation.
        selections: The parsers that do not ship, pickled; they come behind those that do.
        wants: Which archive members that are no text belong to a folder parser.
    """

    release: Release
    selections: bytes
    wants: Wants


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a worker has.

    Args:
        host: Its machine.
        release: Its installation.
        unseen: The first of the paths it was asked for that is not there, None if all are.
    """

    host: str
    release: Release
    unseen: str | None


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch gave.

    Args:
        host: The machine that read it.
        parts: By unit.
    """

    host: str
    parts: list[list[Part]]


def order(reader: Reader, wants: Wants) -> Order:
    """Return the order to read with a reader.

    Args:
        reader: The shipped parsers and behind them any others.
        wants: As in ``Order``; a function of a module.
    """
    selections = [_bare(parser) for parser in reader.parsers if not isinstance(parser, Late)]
    return Order(release(), pickle.dumps(selections), wants)


def greet(paths: Sequence[str]) -> Greeting:
    """Return what this worker has, asked before the first batch.

    Args:
        paths: Some of the files to read.
    """
    unseen = next((path for path in paths if not Path(path).exists()), None)
    return Greeting(gethostname(), release(), unseen)


def fill(order: Order, units: Sequence[Unit]) -> Done:
    """Read some units of work.

    Args:
        order: How.
        units: Which.

    Raises:
        ClusterError: This worker came late and has another installation than the client.
    """
    return Done(gethostname(), list(read_batch(units, reader_of(order), order.wants)))


class _Own(threading.local):
    """The reader of a thread; two threads cannot scan with one."""

    made: tuple[Order, Reader] | None = None


_OWN = _Own()


def reader_of(order: Order) -> Reader:
    """Return the reader of this thread for an order, made for the first batch of it.

    Raises:
        ClusterError: As for ``fill``.
    """
    if _OWN.made is None or _OWN.made[0] != order:
        if release() != order.release:
            message = (
                f"a worker on {gethostname()} has {release()}, but this machine {order.release}"
            )
            raise ClusterError(message)
        keep_blocks()
        _OWN.made = (order, Reader([*shipped(), *pickle.loads(order.selections)]))  # noqa: S301
    return _OWN.made[1]


def _bare(parser: Parser) -> Parser:
    """Return a line parser without what its patterns compiled, with the literals they need."""
    if not isinstance(parser, LineParser):
        return parser
    patterns = (replace(pattern, literals=pattern.required) for pattern in parser.patterns)
    return replace(parser, patterns=tuple(patterns))
