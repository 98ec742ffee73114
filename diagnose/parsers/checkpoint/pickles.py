"""What a pickle of a checkpoint would build, read as structure; nothing in it is ever called.

The ``data.pkl`` in a file of torch.save, the ``.metadata`` of DCP and pickles of random states hold
dictionaries and plain values between objects of classes. This reader walks the opcodes of protocols 0
to 5 as ``plain_pickle`` does. Where a pickle names a class or function it puts a ``StandIn`` that
keeps the name, the arguments and the state; no module is imported, no function is looked up. Names
that can run code of the file's choice stand in ``rules/pickle_globals.yaml``.

A name may be hidden: as an attribute (``torch`` and ``os.system``), by ``getattr``, or computed while
loading. Each of these is seen here, since arguments are kept. Of dictionaries the keys other than
texts and small numbers are wrapped, so that hashing one never walks into what it holds.

*Empty*, *cut off*: damaged, since a pickle ends with its STOP.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers import plain_pickle
from diagnose.parsers.checkpoint.dangers import danger
from diagnose.parsers.checkpoint.structure import Key, Plain, StandIn
from diagnose.parsers.plain_pickle import OPCODES, Damaged, Loader, Refused

MOST_BYTES = 64 << 20
"""Of a pickle; that of a model with a million tensors has fewer."""

MOST_OPCODES = 16_000_000
"""Of a pickle; the metadata of 20,000 files of ten tensors each has 15 million."""

DEEPEST = 1_000
"""Opened and unfinished containers; a saved module has three for each of its levels."""

LONGEST_NAME = 1_000
MOST_NAMES = 10_000
"""Characters of a module with a class or function, and how many of these a pickle may name."""

SMALL = 1 << 64
"""Of numbers as keys; larger ones can be chosen so that all of them fall into one place of a table."""

ELEMENT = {
    "Untyped": 1, "Byte": 1, "Char": 1, "Bool": 1, "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4,
    "Float": 4, "Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16,
}  # fmt: skip
"""Bytes of one element of a storage by its class (torch 1.0 to 2.13, storage.py)."""

MAPPINGS = ("collections.OrderedDict", "collections.defaultdict", "builtins.dict")
COMPUTED = "a name that is computed while loading"
OVERLONG = "a name of more than 1,000 characters"
HIDDEN = "can be anything"

ESCAPE = LazyPattern(rb"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))")
LETTERS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
"""Of the texts of protocol 0."""


@dataclass(slots=True, frozen=True)
class Pickle:
    """A pickle as read.

    Args:
        value: What it holds; None where it could not be read to its end.
        suspicious: Names in it that can run code, in the order of the pickle, each with what it does.
        stop: Where it ends in the bytes.
        storages: Bytes of each tensor storage it refers to, by key; those of unknown types are left out.
        damage: What is wrong with it, as what follows its name; None for nothing, and where only
            the limits of this reader kept it from the end.
    """

    value: Any
    suspicious: dict[str, str]
    stop: int
    storages: dict[str, int]
    damage: str | None = None


def load(data: bytes, at: int = 0) -> Pickle:
    """Return what a pickle holds.

    Args:
        data: The bytes, which may go on behind it.
        at: Where it begins in them.
    """
    loader = _Reader(data, at)
    damage = None
    try:
        value = plain_pickle.guarded(loader)
    except Damaged as error:
        value, damage = None, str(error)
    except Refused:
        value = None
    except (ValueError, TypeError, AttributeError):
        value, damage = None, "is damaged"
    return Pickle(value, loader.suspicious, loader.at, loader.storages, damage)


class _Reader(Loader):
    """One pickle of a checkpoint being read."""

    most = MOST_OPCODES
    deepest = DEEPEST

    def __init__(self, data: bytes, at: int) -> None:
        super().__init__(data, at)
        self.names: set[str] = set()
        self.suspicious: dict[str, str] = {}
        self.storages: dict[str, int] = {}

    def begin(self) -> None:
        """Pass over the opcode that states the protocol, which the oldest two lack."""
        if self.data[self.at] == 0x80:
            if self.data[self.at + 1] > 5:
                raise Damaged("is no pickle of protocol 0 to 5")
            self.at += 2

    def name(self, module: Any, name: Any) -> StandIn:
        """Return the stand-in of a class or function, and note what it could do.

        Raises:
            Refused: The pickle names too many.
        """
        if not isinstance(module, str) or not isinstance(name, str):
            self.suspicious[COMPUTED] = HIDDEN
            return StandIn(COMPUTED)
        if len(module) + len(name) >= LONGEST_NAME:
            self.suspicious[OVERLONG] = HIDDEN
            return StandIn(OVERLONG)
        module = "builtins" if module == "__builtin__" else module  # as Python 2 called it
        whole = f"{module}.{name}"
        if whole not in self.names:
            if len(self.names) == MOST_NAMES:
                raise Refused(f"names more than {MOST_NAMES:,} classes and functions")
            self.names.add(whole)
            does = danger(whole)
            if does is not None:
                self.suspicious[whole] = does
        return StandIn(whole)

    def called(self, what: Any, arguments: Any) -> Any:
        """Return the stand-in of what a call would give."""
        if not isinstance(what, StandIn) or what.arguments is not None:
            self.suspicious[COMPUTED] = HIDDEN
            return StandIn(COMPUTED, arguments)
        if what.name == "torch.Size" and isinstance(arguments, tuple):
            return arguments[0] if arguments else ()
        if what.name in MAPPINGS:
            return {}
        if what.name == "builtins.getattr" and isinstance(arguments, tuple) and len(arguments) >= 2:
            target = arguments[0].name if isinstance(arguments[0], StandIn) else "builtins.getattr"
            return self.name(target, arguments[1])
        return StandIn(what.name, arguments)

    def line(self) -> bytes:
        """Return the bytes up to the end of the line, as protocol 0 writes its arguments."""
        end = self.data.index(b"\n", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text

    def sized(self, layout: struct.Struct) -> bytes:
        """Return bytes behind their number."""
        return self.taken(layout.unpack(self.taken(layout.size))[0])


_U1, _U4, _U8 = struct.Struct("<B"), struct.Struct("<I"), struct.Struct("<Q")
Step = Callable[[_Reader], None]


def _push(make: Callable[[_Reader], Any]) -> Step:
    def push(loader: _Reader) -> None:
        value = make(loader)
        loader.stack.append(value)  # To go back before a mark changes the stack.

    return push


def _global(loader: _Reader) -> None:
    module, name = loader.line().decode(), loader.line().decode()
    loader.stack.append(loader.name(module, name))


def _stack_global(loader: _Reader) -> None:
    name, module = loader.stack.pop(), loader.stack.pop()
    loader.stack.append(loader.name(module, name))


def _call(loader: _Reader) -> None:
    arguments, what = loader.stack.pop(), loader.stack.pop()
    loader.stack.append(loader.called(what, arguments))


def _call_with_names(loader: _Reader) -> None:
    named, arguments, what = (loader.stack.pop() for _ in range(3))
    made = loader.called(what, arguments)
    if isinstance(made, StandIn) and isinstance(named, dict):
        made.items = named
    loader.stack.append(made)


def _instance(loader: _Reader) -> None:
    module, name = loader.line().decode(), loader.line().decode()
    what = loader.name(module, name)
    arguments = tuple(loader.marked())
    loader.stack.append(loader.called(what, arguments))


def _object(loader: _Reader) -> None:
    what, *arguments = loader.marked()
    loader.stack.append(loader.called(what, tuple(arguments)))


def _build(loader: _Reader) -> None:
    state = loader.stack.pop()
    made = loader.stack[-1]
    if isinstance(made, StandIn):
        made.state = state


def _persistent(loader: _Reader) -> None:
    """Put a stand-in for what lies outside: ``("storage", class, key, device, elements, ...)``."""
    told = loader.stack.pop()
    loader.stack.append(StandIn("persistent", told))
    if isinstance(told, tuple) and len(told) >= 5 and isinstance(told[1], StandIn):
        _, kind, key, _, elements, *_ = told
        each = ELEMENT.get(kind.name.rpartition(".")[2].removesuffix("Storage"))
        if each is not None and isinstance(key, str) and type(elements) is int:
            loader.storages[key] = elements * each


def _extension(size: int) -> Step:
    def push(loader: _Reader) -> None:
        number = int.from_bytes(loader.taken(size), "little")
        loader.stack.append(StandIn(f"copyreg.extension{number}"))

    return push


def _pop(loader: _Reader) -> None:
    if loader.stack:
        loader.stack.pop()
    else:
        loader.marked()


def _add(loader: _Reader, count: int | None) -> None:
    """Put the values since the mark, or ``count`` of them, into the list below them."""
    values = loader.marked() if count is None else [loader.stack.pop()]
    found = loader.stack[-1]
    if isinstance(found, list):
        found.extend(values)
    elif not isinstance(found, StandIn):
        raise IndexError


def _fill(loader: _Reader, values: list[Any]) -> None:
    found = loader.stack[-1]
    if isinstance(found, StandIn):
        found.items = {} if found.items is None else found.items
        found = found.items
    if not isinstance(found, dict) or len(values) % 2:
        raise IndexError
    for key, value in zip(values[::2], values[1::2], strict=True):
        simple = isinstance(key, str) or (isinstance(key, int) and -SMALL < key < SMALL)
        found[key if simple else Key(key)] = value


def _set_item(loader: _Reader) -> None:
    value, key = loader.stack.pop(), loader.stack.pop()
    _fill(loader, [key, value])


def _dictionary(loader: _Reader) -> None:
    values = loader.marked()
    loader.stack.append({})
    _fill(loader, values)


def _number(loader: _Reader) -> Plain:
    text = loader.line()
    return text == b"01" if text in (b"00", b"01") else int(text.removesuffix(b"L") or b"0")


def _long(layout: struct.Struct) -> Step:
    return _push(lambda loader: int.from_bytes(loader.sized(layout), "little", signed=True))


def _huge(loader: _Reader) -> StandIn:
    return StandIn("int", (len(loader.sized(_U4)),))


def _quoted(loader: _Reader) -> str:
    """Return a text in quotes, in which bytes may be written with a backslash."""
    text = loader.line().strip()[1:-1]
    return ESCAPE.sub(_unescaped, text).decode("latin-1")


def _unescaped(found: re.Match[bytes]) -> bytes:
    hexadecimal, octal, letter = found.groups()
    if letter is not None:
        return bytes([LETTERS.get(letter[0], letter[0])])
    return bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF])


def _escaped(loader: _Reader) -> str:
    return codecs.decode(loader.line(), "raw_unicode_escape")


def _old_text(layout: struct.Struct) -> Step:
    return _push(lambda loader: loader.sized(layout).decode("latin-1"))


def _remember(loader: _Reader) -> None:
    place = int(loader.line())
    if not 0 <= place < SMALL:
        raise IndexError
    loader.memo[place] = loader.stack[-1]


_EVERY: dict[bytes, Callable[[Any], None]] = OPCODES | {
    b"c": _global, b"\x93": _stack_global, b"R": _call, b"\x81": _call, b"\x92": _call_with_names,
    b"i": _instance, b"o": _object, b"b": _build, b"Q": _persistent,
    b"P": _push(lambda loader: StandIn("persistent", loader.line())),
    b"\x82": _extension(1), b"\x83": _extension(2), b"\x84": _extension(4),
    b"0": _pop, b"1": lambda loader: loader.marked(), b"2": lambda loader: loader.stack.append(loader.stack[-1]),
    b"a": lambda loader: _add(loader, 1), b"e": lambda loader: _add(loader, None),
    b"s": _set_item, b"u": lambda loader: _fill(loader, loader.marked()), b"d": _dictionary,
    b"l": _push(lambda loader: loader.marked()),
    b"\x8f": _push(lambda loader: []), b"\x90": lambda loader: _add(loader, None),
    b"\x91": _push(lambda loader: loader.marked()),
    b"I": _push(_number), b"L": _push(_number), b"F": _push(lambda loader: float(loader.line())),
    b"\x8a": _long(_U1), b"\x8b": _push(_huge),
    b"S": _push(_quoted), b"V": _push(_escaped), b"T": _old_text(_U4), b"U": _old_text(_U1),
    b"B": _push(lambda loader: loader.sized(_U4)), b"C": _push(lambda loader: loader.sized(_U1)),
    b"\x8e": _push(lambda loader: loader.sized(_U8)), b"\x96": _push(lambda loader: loader.sized(_U8)),
    b"\x97": _push(lambda loader: b""), b"\x98": lambda loader: None,
    b"p": _remember, b"g": _push(lambda loader: loader.memo[int(loader.line())]),
    b"\x80": lambda loader: loader.taken(1),
}  # fmt: skip


def _unknown(loader: _Reader) -> None:
    raise Damaged("is damaged: no pickle has such an opcode")


_Reader.table = plain_pickle.table(_EVERY, _unknown)
