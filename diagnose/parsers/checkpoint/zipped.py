"""Files of torch.save since 1.6: a zip whose members are stored, its directory at the end.

::

    new/data.pkl              the objects
    new/byteorder             little
    new/data/0 .. new/data/N  the tensors
    new/version               3
    directory, zip64 record (56 bytes), its locator (20), end record (22)

The first part of the names is that of the file, ``archive`` where it was written to a stream. The
directory is written last, so whatever interrupts a save loses it. Damage further in shows at the
headers of the members: a few bytes of each are read, never the tensors. torch.load compares no
checksum, and a job may switch checksums off; then all are 0.

Files of TorchScript (``code/``, ``constants.pkl``) are programs and no checkpoints; their zip is
checked like any other. Zips of NumPy and others are left alone but for the zip itself.

*Empty*: a zip has at least its end record. *Cut off*: no end record.
"""

import struct
import zlib
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry, read_pieces
from diagnose.parsers.checkpoint import pickles
from diagnose.parsers.checkpoint.inside import Contents, Damage, in_bytes, saved
from diagnose.parsers.checkpoint.pickles import Pickle

START, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"

_END = struct.Struct("<4s4H2LH")
_LOCATOR64 = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")

TAIL = _END64.size + _LOCATOR64.size + _END.size
"""Bytes at the end of a file of torch.save, which has no comment."""

COMMENT = 1 << 16
"""Bytes that a comment of another writer may have behind the end record."""

MOST_DIRECTORY = 64 << 20
MOST_HEADERS = 1_000
"""Headers of members looked at in one file, evenly spread where it has more."""

ZEROS = "it ends in zeros, as where the end was never written"
NO_DIRECTORY = "the zip directory at the end is missing"

NONE_32, NONE_16 = 0xFFFFFFFF, 0xFFFF
"""In place of a number that stands in the zip64 part."""

STORED, DEFLATED = 0, 8

STORAGE = LazyPattern(rb"data/\d+$")
"""Name of a tensor's member behind the first part."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member, as the directory describes it.

    Args:
        name: With its folders.
        method: Of compression.
        crc: Checksum of its bytes.
        packed: Bytes it takes.
        size: Bytes it has.
        offset: Byte its header begins at.
    """

    name: bytes
    method: int
    crc: int
    packed: int
    size: int
    offset: int


class Broken(Exception):
    """The zip is damaged; ``damage`` says how."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.reason)
        self.damage = damage


def damage(entry: Entry, headers: int = MOST_HEADERS) -> Damage | None:
    """Return what is wrong with a zip, None for nothing and where it cannot be read.

    Args:
        entry: The file.
        headers: Of members looked at, at most.
    """
    try:
        found = directory(entry)
        if found is None:
            return None
        members, start = found
        _check_names(members)
        _check_places(entry, members, start)
        some = members[:: -(-len(members) // max(headers, 1)) or 1]
        read = read_pieces((entry, one.offset, _LOCAL.size + len(one.name)) for one in some)
        for member, head in zip(some, read, strict=True):
            _check_header(entry, member, head)
    except Broken as error:
        return error.damage
    return None


def contents(entry: Entry) -> Contents | None:
    """Return what a file of torch.save holds; None for another zip and one that is damaged."""
    try:
        found = directory(entry)
    except Broken:
        return None
    if found is None:
        return None
    members = found[0]
    pickle = next((one for one in members if one.name.endswith(b"/data.pkl")), None)
    if pickle is None or any(_is_program(one.name) for one in members):
        return None
    checked = any(one.crc for one in members)
    listed = {
        one.name.partition(b"/")[2].decode("utf-8", "replace"): (
            one.size,
            one.crc if checked else None,
        )
        for one in members
    }
    data = _data(entry, pickle)
    if data is None:
        return Contents(members=listed)
    if checked and zlib.crc32(data) != pickle.crc:
        wrong = Damage("member", "data.pkl in it does not match its checksum", found=entry.size)
        return Contents(members=listed, problem=wrong)
    read = pickles.load(data)
    return saved(read, listed, _disagreement(entry, read, listed))


def cut(entry: Entry) -> Damage | None:
    """Return what is wrong with the end of a file that holds several zips, None for nothing."""
    tail = entry.read(max(0, entry.size - TAIL), TAIL)
    if tail is None or END in tail:
        return None
    if not any(tail):
        return Damage("zeros", ZEROS, None, entry.size)
    return _lost(entry, NO_DIRECTORY)


def headless(entry: Entry) -> Damage | None:
    """Return what is wrong with a file that begins with no known mark, None where it is no zip."""
    tail = entry.read(max(0, entry.size - TAIL), TAIL)
    if not tail or tail[-_END.size :][:4] != END:
        return None
    return Damage("header", "the first bytes of its zip are damaged", None, entry.size)


def _disagreement(
    entry: Entry, read: Pickle, listed: dict[str, tuple[int, int | None]]
) -> Damage | None:
    """Return where data.pkl and the members disagree, None where they do not."""
    if read.damage is not None:
        return Damage("member", f"data.pkl in it {read.damage}", None, entry.size)
    for key, wanted in read.storages.items():
        name = f"data/{key}"
        if name not in listed:
            return Damage("member", f"its member {name} is missing", None, entry.size)
        size = listed[name][0]
        if size != wanted:
            reason = f"its member {name} has {size:,} bytes, data.pkl calls for {wanted:,}"
            return Damage("member", reason, None, entry.size)
    return None


def directory(entry: Entry) -> tuple[list[Member], int] | None:
    """Return the members of a zip and where their list begins; None where it cannot be read.

    Raises:
        Broken: The list is not there or damaged.
    """
    tail = entry.read(max(0, entry.size - TAIL), TAIL)
    if tail is None:
        return None
    at = len(tail) - _END.size
    if at < 0 or tail[at : at + 4] != END or tail[-2:] != b"\x00\x00":
        tail = entry.read(max(0, entry.size - COMMENT - TAIL), COMMENT + TAIL) or b""
        at = _end_record(entry, tail)
    _, _, _, _, count, length, start, _ = _END.unpack_from(tail, at)
    end = entry.size - len(tail) + at
    locator = at - _LOCATOR64.size
    if locator >= 0 and tail[locator : locator + 4] == LOCATOR64:
        count, length, start, end = _zip64(entry, tail, locator)
    elif NONE_32 in (length, start) or count == NONE_16:
        raise Broken(_lost(entry, "the zip64 record at its end is missing"))
    if start + length != end:
        gap = start + length - end
        raise Broken(
            Damage(
                "size-mismatch",
                f"{in_bytes(abs(gap))} {'missing' if gap > 0 else 'too many'} before the directory at its end",
                expected=entry.size + gap,
                found=entry.size,
            )
        )
    listed = entry.read(start, length) if length <= MOST_DIRECTORY else None
    return None if listed is None else (_members(entry, listed, count), start)


def _lost(entry: Entry, reason: str) -> Damage:
    return Damage("truncated", reason, found=entry.size)


def _end_record(entry: Entry, tail: bytes) -> int:
    """Return where the end record begins in the last bytes of a zip with a comment or without.

    Raises:
        Broken: There is none, or bytes follow it.
    """
    at = tail.rfind(END)
    while at >= 0:
        if at + _END.size <= len(tail):
            behind = len(tail) - at - _END.size
            comment = _END.unpack_from(tail, at)[-1]
            if comment == behind:
                return at
            if comment == 0 and at >= _LOCATOR64.size:
                whole = entry.size - behind
                raise Broken(
                    Damage(
                        "size-mismatch",
                        f"{in_bytes(behind)} too many behind its end",
                        whole,
                        entry.size,
                    )
                )
        at = tail.rfind(END, 0, at)
    if not any(tail[-TAIL:]):
        raise Broken(Damage("zeros", ZEROS, None, entry.size))
    raise Broken(_lost(entry, NO_DIRECTORY))


def _zip64(entry: Entry, tail: bytes, locator: int) -> tuple[int, int, int, int]:
    """Return number and bytes of the members' list, where it begins, and what follows it.

    Raises:
        Broken: The record is not where it should be.
    """
    end = entry.size - len(tail) + locator - _END64.size
    record = entry.read(end, _END64.size) if end >= 0 else None
    if record is None or len(record) < _END64.size or record[:4] != END64:
        # Its record may be longer than that of this version; the locator says where it begins.
        end = _LOCATOR64.unpack_from(tail, locator)[2]
        record = entry.read(end, _END64.size) if end < entry.size else None
    if record is None or len(record) < _END64.size or record[:4] != END64:
        raise Broken(Damage("header", "the zip64 record at its end is damaged", None, entry.size))
    _, _, _, _, _, _, _, count, length, start = _END64.unpack(record)
    return count, length, start, end


def _members(entry: Entry, data: bytes, count: int) -> list[Member]:
    """Return the members of a directory.

    Raises:
        Broken: It does not hold as many as it should.
    """
    members: list[Member] = []
    at = 0
    while at + _CENTRAL.size <= len(data) and data[at : at + 4] == CENTRAL:
        row = _CENTRAL.unpack_from(data, at)
        method, crc, packed, size, offset = row[4], row[7], row[8], row[9], row[16]
        name_end = at + _CENTRAL.size + row[10]
        extra_end = name_end + row[11]
        if NONE_32 in (packed, size, offset):
            size, packed, offset = _wide(data[name_end:extra_end], size, packed, offset)
        name = data[at + _CENTRAL.size : name_end]
        members.append(Member(name, method, crc, packed, size, offset))
        at = extra_end + row[12]
    if at != len(data) or len(members) != count:
        raise Broken(Damage("header", "the zip directory at its end is damaged", None, entry.size))
    return members


def _wide(extra: bytes, *numbers: int) -> tuple[int, ...]:
    """Return numbers of 32 bits, those that say so in the 64 bits of the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            part = extra[at + 4 : at + 4 + length]
            wide = iter(struct.unpack_from(f"<{len(part) // 8}Q", part))
            return tuple(next(wide, one) if one == NONE_32 else one for one in numbers)
        at += 4 + length
    return numbers


def _is_program(name: bytes) -> bool:
    return name.endswith(b"/constants.pkl") or b"/code/" in name


def _check_names(members: list[Member]) -> None:
    """Look for what torch.save always writes, where it was torch.save.

    Raises:
        Broken: A member is missing.
    """
    names = [one.name.partition(b"/")[2] for one in members]
    ours = any(STORAGE.match(name) for name in names)
    if ours and names.count(b"data.pkl") != 1:
        found = "no data.pkl" if b"data.pkl" not in names else "more than one data.pkl"
        raise Broken(Damage("member", f"{found} is in it"))
    if ours and not {b"version", b".data/version"} & {*names}:
        raise Broken(Damage("member", "no version is in it"))


def _check_places(entry: Entry, members: list[Member], start: int) -> None:
    """Compare where the members end with where their list begins.

    Raises:
        Broken: They do not fit before it.
    """
    for one in members:
        if one.offset + _LOCAL.size + len(one.name) + one.packed > start:
            shown = one.name.decode("utf-8", "replace")
            reason = f"its member {shown} does not fit before the directory"
            raise Broken(Damage("member", reason, None, entry.size))


def _check_header(entry: Entry, member: Member, head: bytes | None) -> None:
    """Hold what stands where a member begins against its header.

    Raises:
        Broken: Something else stands there.
    """
    if head is not None and (head[:4] != START or head[_LOCAL.size :] != member.name):
        what = "zeros stand" if not any(head[: _LOCAL.size]) else "something else stands"
        shown = member.name.decode("utf-8", "replace")
        reason = f"{what} where its member {shown} begins, at byte {member.offset:,}"
        raise Broken(Damage("member", reason, None, entry.size))


def _data(entry: Entry, member: Member) -> bytes | None:
    """Return the bytes of a member, None where they are too many or cannot be read."""
    if max(member.packed, member.size) > pickles.MOST_BYTES:
        return None
    head = entry.read(member.offset, _LOCAL.size)
    if head is None or len(head) < _LOCAL.size:
        return None
    *_, name, extra = _LOCAL.unpack(head)
    data = entry.read(member.offset + _LOCAL.size + name + extra, member.packed)
    if data is None or member.method == STORED:
        return data
    if member.method != DEFLATED:
        return None
    try:
        return zlib.decompressobj(-15).decompress(data, pickles.MOST_BYTES)
    except zlib.error:
        return b""
