"""Disks that are full: the words of other programs, and the table of ``df``.

::

    sqlite3.OperationalError: database or disk is full
    write /var/lib/wandb/run-1.wandb: no space left on device
    Filesystem                Size  Used Avail Use% Mounted on
    10.14.9.2:/export/ckpt     20T   20T     0 100% /ckpt

``os.disk_full``, ``os.write_failed``
    As CPython and PyTorch say it (``dataloader``); SQLite's ``disk I/O error`` may also be a fault of the storage.
``os.file_system``
    One row of ``df``: ``device``, ``mount``, ``use`` in percent, ``free`` bytes; with ``-i`` ``inodes`` is true and
    ``free`` counts them. Images that are mounted read-only are always full and left out.

*Empty*: no such line says nothing of the disks. *Cut off*: rows behind the cut are unknown.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import size

FULL = r"[Nn]o space left on device|[Dd]isk quota exceeded"
BY_WORDS = {"no space left on device": (28, "ENOSPC"), "disk quota exceeded": (122, "EDQUOT")}

ROW = LazyPattern(
    r"^(?P<device>\S+) +(?P<size>[\d.]+[KMGTP]?) +(?P<used>[\d.]+[KMGTP]?) +(?P<free>[\d.]+[KMGTP]?)"
    r" +(?P<use>\d+)% +(?P<mount>/\S*)$"
)
ALWAYS_FULL = LazyPattern(r"^/dev/loop|^squashfs|^/snap/|^(?:tmpfs|devtmpfs|udev|overlay_ro)$")
MOST_ROWS = 400


def _complete(event: Event, line: Line) -> Event | None:
    """Add the number of the error; shared memory is another subject."""
    if "/dev/shm" in line.text:
        return None
    event.fields.setdefault("path", None)
    known = BY_WORDS.get(str(event.fields.get("message")).lower())
    if known is not None:
        event.fields["errno"], event.fields["errno_name"] = known
    return event


def _full(regex: str, source: str, sample: str, event: str = "os.disk_full") -> Pattern:
    program = {"program": "SQLite"} if event == "os.write_failed" else {}
    return Pattern(
        event=event,
        regex=regex,
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        constants=program,
    )


def starts(line: Line) -> bool:
    """Return whether a line is the head of ``df``'s table."""
    return line.text.startswith("Filesystem") and "Mounted on" in line.text


def ends(lines: list[Line], following: Line) -> bool:
    """Return whether the table has ended before a line."""
    return ROW.match(following.text) is None


def read(lines: list[Line]) -> Iterator[Event]:
    """Yield the rows of ``df``; without units they are blocks of 1 KiB."""
    head = lines[0].text
    inodes = "IUse%" in head or "Inodes" in head
    unit = 512 if "512-blocks" in head else 1 if inodes else 1024
    for line in lines[1:]:
        found = ROW.match(line.text)
        if (
            found is None
            or ALWAYS_FULL.search(found["device"])
            or ALWAYS_FULL.search(found["mount"])
        ):
            continue
        free = found["free"].replace("P", "T")
        scale = unit if free.isdecimal() else 1
        if found["free"].endswith("P"):
            scale = 1024
        yield make_event(
            "os.file_system",
            Nature.MEASUREMENT,
            line,
            {
                "device": found["device"],
                "mount": found["mount"],
                "use": int(found["use"]),
                "free": size(free) * scale,
                "inodes": inodes,
            },
        )


PARSERS = (
    LineParser(
        name="disk-full-words",
        title="Disk full as SQLite, Go, Java, Node, TensorFlow, HDF5, shells and C++ say it",
        patterns=(
            _full(r"(?P<message>database or disk is full)", "SQLite, SQLITE_FULL",
                  "sqlite3.OperationalError: database or disk is full"),
            _full(r"OperationalError: (?P<message>disk I/O error)", "SQLite, SQLITE_IOERR",
                  "sqlite3.OperationalError: disk I/O error", "os.write_failed"),
            _full(rf"\b(?:write|mkdir|open|create|sync|copy_file_range|rename) (?P<path>/[^\s:]+)(?: \S+)?: (?P<message>{FULL})",
                  "Go, os.PathError: wandb-core, containerd, kubelet", "write /var/lib/wandb/run-1.wandb: no space left on device"),
            _full(rf"(?:ENOSPC|EDQUOT): (?P<message>{FULL})", "Node.js", "Error: ENOSPC: no space left on device, write"),
            _full(rf"java\.io\.IOException: (?P<message>{FULL})", "Java", "java.io.IOException: No space left on device"),
            _full(rf"ResourceExhaustedError: (?:\{{\{{[^}}]{{0,120}}\}}\}} ?)?(?:(?P<path>[^\s;{{]+); )?(?P<message>{FULL})", "TensorFlow, tsl/platform/default/posix_file_system.cc, 1.x and 2.x",
                  "tensorflow.python.framework.errors_impl.ResourceExhaustedError: /ckpt/run-1_temp/part-00000-of-00002.data-00000-of-00001.tempstate1234; No space left on device [Op:SaveV2]"),
            _full(rf"errno = \d+, error message = '(?P<message>{FULL})'", "HDF5, H5FDsec2.c",
                  "  #001: H5FDsec2.c line 828 in H5FD__sec2_write(): file write failed: time = Sat Aug  1 10:00:00 2026, filename = '/data/a.h5', errno = 28, error message = 'No space left on device'"),
            _full(rf"filesystem error: .{{0,200}}: (?P<message>{FULL})(?: \[(?P<path>[^\]]+)\])?", "libstdc++, std::filesystem",
                  "filesystem error: cannot copy file: No space left on device [/scratch/a] [/ckpt/a]"),
            _full(rf"^(?:\S*/)?[\w.-]{{1,40}}: (?:line \d+: )?(?:\w+: )?(?:write error|error writing '?standard output'?|'?standard output'?|stdout|fwrite|fflush): (?P<message>{FULL})$",
                  "coreutils, bash and gzip, where no path is known", "tee: 'standard output': No space left on device"),
        ),
        refine=_complete,
    ),
    BlockParser(
        name="df",
        title="Space and inodes of file systems, df",
        opens=("Mounted on",),
        starts=starts,
        ends=ends,
        read=read,
        emits=("os.file_system",),
        sample="Filesystem                Size  Used Avail Use% Mounted on\n10.14.9.2:/export/ckpt     20T   20T     0 100% /ckpt\n",
        maximum=MOST_ROWS,
    ),
)  # fmt: skip
