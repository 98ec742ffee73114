"""Pickles that hold plain values only, and the walk through any pickle that is opened at all.

A pickle is a program. This reader knows the opcodes that build dictionaries, lists, tuples, texts,
numbers, truth values and None, and none that names a class, a function or an object kept elsewhere, so
there is nothing in it that could run. Python's own unpickler is no help here even without globals:
one opcode makes it reserve memory for four billion remembered objects, and hashing a deeply nested
key ends the process. Of checkpoints ``checkpoint.pickles`` reads more than plain values, by the same
walk with a longer table of opcodes, and still calls nothing.
"""

import gc
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MAX_OBJECTS = 4_000_000
"""Values and references of one pickle; a ring of 20,000 calls with their frames has 3 million."""

MAX_DEPTH = 32
"""Opened and unfinished containers; the dumps of PyTorch need five."""

MAX_DIGITS = 9
"""Bytes of an integer: 64 bits and the sign."""

RUNS_CODE = {
    b"c": "GLOBAL", b"\x93": "STACK_GLOBAL", b"R": "REDUCE", b"i": "INST", b"o": "OBJ",
    b"\x81": "NEWOBJ", b"\x92": "NEWOBJ_EX", b"b": "BUILD", b"P": "PERSID", b"Q": "BINPERSID",
    b"\x82": "EXT1", b"\x83": "EXT2", b"\x84": "EXT4",
}  # fmt: skip
"""Opcodes that name or call something outside the pickle (Python, Lib/pickletools.py)."""

IN_LOOP = b"hjr\x94XKM."
_GET, _GET_LONG, _PUT_LONG, _MEMOIZE, _TEXT, _ONE_BYTE, _TWO_BYTES, _STOP = IN_LOOP

_U2, _U4, _U8 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_I4, _F8 = struct.Struct("<i"), struct.Struct(">d")


class Refused(Exception):
    """The pickle is not opened, or is damaged; the text says why."""


class Damaged(Refused):
    """The pickle ends before its STOP, or is none."""


def load(data: bytes) -> Any:
    """Return the value that a pickle of protocol 2 to 5 holds.

    Raises:
        Refused: It is cut off, too large or damaged, or holds more than plain values.
    """
    return guarded(Loader(data))


def guarded(loader: "Loader") -> Any:
    """Return the value that a loader reads.

    Raises:
        Damaged: It is cut off or damaged.
        Refused: It is not opened, or too large.
    """
    try:
        with kept():
            return loader.value()
    except (IndexError, struct.error, KeyError) as error:
        raise Damaged("is cut off before its end or damaged") from error
    except UnicodeDecodeError as error:
        raise Damaged("is damaged: a text in it is not UTF-8") from error


@contextmanager
def kept() -> Iterator[None]:
    """Look for no garbage while millions of objects are built that stay; it takes half the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Loader:
    """One pickle being read.

    ``stack`` holds the values since the last mark, ``marks`` the stacks below it. ``table`` has what
    each opcode does, ``most`` and ``deepest`` are the limits of opcodes and of open containers.
    """

    table: tuple[Callable[[Any], None] | None, ...]
    most = MAX_OBJECTS
    deepest = MAX_DEPTH

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def value(self) -> Any:
        """Return the value; the commonest opcodes are read here, the others by their functions."""
        data, table, memo = self.data, self.table, self.memo
        unpack_long, unpack_short = _U4.unpack_from, _U2.unpack_from
        self.begin()
        at = self.at
        for _ in range(self.most):
            code = data[at]
            at += 1
            step = table[code]
            if step is not None:
                self.at = at
                step(self)
                at = self.at
            elif code == _GET:
                self.stack.append(memo[data[at]])
                at += 1
            elif code == _PUT_LONG:
                memo[unpack_long(data, at)[0]] = self.stack[-1]
                at += 4
            elif code == _MEMOIZE:
                memo[len(memo)] = self.stack[-1]
            elif code == _TEXT:
                start = at + 4
                at = start + unpack_long(data, at)[0]
                if at > len(data):
                    raise IndexError
                self.stack.append(data[start:at].decode())
            elif code == _TWO_BYTES:
                self.stack.append(unpack_short(data, at)[0])
                at += 2
            elif code == _ONE_BYTE:
                self.stack.append(data[at])
                at += 1
            elif code == _GET_LONG:
                self.stack.append(memo[unpack_long(data, at)[0]])
                at += 4
            else:  # _STOP
                self.at = at
                return self.stack[-1]
        raise Refused(f"holds more than {self.most:,} values")

    def begin(self) -> None:
        """Pass over the opcode that states the protocol.

        Raises:
            Refused: There is none.
        """
        if self.data[:1] != b"\x80" or not 2 <= self.data[1] <= 5:
            raise Refused("is no pickle of protocol 2 to 5")
        self.at = 2

    def taken(self, size: int) -> bytes:
        """Return the next bytes."""
        part = self.data[self.at : self.at + size]
        if len(part) < size:
            raise IndexError
        self.at += size
        return part

    def marked(self) -> list[Any]:
        """Return what was put since the last mark, and go back to before it."""
        values = self.stack
        self.stack = self.marks.pop()
        return values


def _refuse(loader: Loader) -> None:
    code = loader.data[loader.at - 1 : loader.at]
    name = RUNS_CODE.get(code)
    if name is not None:
        raise Refused(f"holds {name}, which can run code; it was not opened")
    raise Refused(f"holds {code!r}, which plain values do not need; it was not opened")


def _mark(loader: Loader) -> None:
    if len(loader.marks) >= loader.deepest:
        raise Refused(f"is nested more than {loader.deepest} deep")
    loader.marks.append(loader.stack)
    loader.stack = []


def _short_text(loader: Loader) -> None:
    loader.stack.append(loader.taken(loader.taken(1)[0]).decode())


def _long_text(loader: Loader) -> None:
    loader.stack.append(loader.taken(_U8.unpack(loader.taken(8))[0]).decode())


def _put_short(loader: Loader) -> None:
    loader.memo[loader.data[loader.at]] = loader.stack[-1]
    loader.at += 1


def _four_bytes(loader: Loader) -> None:
    loader.stack.append(_I4.unpack(loader.taken(4))[0])


def _digits(loader: Loader) -> None:
    size = loader.taken(1)[0]
    if size > MAX_DIGITS:
        raise Refused("holds an integer of more than 64 bits")
    loader.stack.append(int.from_bytes(loader.taken(size), "little", signed=True))


def _real(loader: Loader) -> None:
    loader.stack.append(_F8.unpack(loader.taken(8))[0])


def _frame(loader: Loader) -> None:
    loader.taken(8)  # Its length only helps to read ahead.


def _append(loader: Loader) -> None:
    value = loader.stack.pop()
    _list(loader).append(value)


def _appends(loader: Loader) -> None:
    values = loader.marked()
    _list(loader).extend(values)


def _list(loader: Loader) -> list[Any]:
    found = loader.stack[-1]
    if not isinstance(found, list):
        raise IndexError
    return found


def _set_item(loader: Loader) -> None:
    value, key = loader.stack.pop(), loader.stack.pop()
    _fill(loader, [key, value])


def _set_items(loader: Loader) -> None:
    values = loader.marked()
    _fill(loader, values)


def _fill(loader: Loader, values: list[Any]) -> None:
    found = loader.stack[-1]
    if not isinstance(found, dict) or len(values) % 2:
        raise IndexError
    for key, value in zip(values[::2], values[1::2], strict=True):
        # Other keys are hashed through all that is nested in them.
        if not isinstance(key, str | int):
            raise Refused("holds a dictionary with keys that are neither texts nor numbers")
        found[key] = value


def _tuple(loader: Loader) -> None:
    values = loader.marked()
    loader.stack.append(tuple(values))


def _tuple_of(size: int) -> Callable[[Loader], None]:
    def build(loader: Loader) -> None:
        values = tuple(loader.stack[-size:])
        if len(values) < size:
            raise IndexError
        loader.stack[-size:] = [values]

    return build


def _constant(value: object) -> Callable[[Loader], None]:
    return lambda loader: loader.stack.append(value)


def _new(kind: Callable[[], object]) -> Callable[[Loader], None]:
    return lambda loader: loader.stack.append(kind())


OPCODES: dict[bytes, Callable[[Any], None]] = {
    b"(": _mark, b"}": _new(dict), b"]": _new(list), b")": _constant(()),
    b"u": _set_items, b"s": _set_item, b"e": _appends, b"a": _append, b"t": _tuple,
    b"\x85": _tuple_of(1), b"\x86": _tuple_of(2), b"\x87": _tuple_of(3),
    b"\x8c": _short_text, b"\x8d": _long_text,
    b"q": _put_short, b"J": _four_bytes, b"\x8a": _digits, b"G": _real,
    b"N": _constant(None), b"\x88": _constant(True), b"\x89": _constant(False), b"\x95": _frame,
}  # fmt: skip


def table(
    opcodes: dict[bytes, Callable[[Any], None]], other: Callable[[Any], None] = _refuse
) -> tuple[Callable[[Any], None] | None, ...]:
    """Return the table of a loader that knows these opcodes, None for those of its own loop.

    Args:
        opcodes: What each does.
        other: What is done at any other.
    """
    return tuple(
        None if code in IN_LOOP else opcodes.get(bytes([code]), other) for code in range(256)
    )


Loader.table = table(OPCODES)
