import pytest
from dialects import events

from diagnose.ingest.source import Source
from diagnose.parsers import disk_space as dialect
from diagnose.parsers.reader import Reader
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all


@pytest.mark.parametrize(
    "text, name, errno, path",
    [
        ("sqlite3.OperationalError: database or disk is full", "os.disk_full", None, None),
        ("sqlite3.OperationalError: disk I/O error", "os.write_failed", None, None),
        ("write /var/lib/wandb/run.wandb: no space left on device", "os.disk_full", 28, "/var/lib/wandb/run.wandb"),
        ("mkdir /home/a/.triton: disk quota exceeded", "os.disk_full", 122, "/home/a/.triton"),
        ("Error: ENOSPC: no space left on device, write", "os.disk_full", 28, None),
        ("java.io.IOException: No space left on device", "os.disk_full", 28, None),
        ("tee: 'standard output': No space left on device", "os.disk_full", 28, None),
        ("bash: line 3: echo: write error: No space left on device", "os.disk_full", 28, None),
        ("filesystem error: cannot copy file: Disk quota exceeded [/a/b] [/c/d]", "os.disk_full", 122, "/a/b"),
    ],
)  # fmt: skip
def test_a_full_disk_is_known_in_the_words_of_each_program(text, name, errno, path):
    (event,) = events(dialect, text)
    assert (event.name, event.fields.get("errno"), event["path"]) == (name, errno, path)


@pytest.mark.parametrize(
    "text",
    [
        "write /dev/shm/nccl-x: no space left on device",
        "check that no space left on device errors do not come back",
        "the database or disk may be fullish",
        "ENOSPC handling is enabled",
    ],
)
def test_shared_memory_and_talk_are_left_alone(text):
    assert events(dialect, text) == []


DF = """\
Filesystem                Size  Used Avail Use% Mounted on
tmpfs                     101G  101G     0 100% /run
/dev/nvme0n1p2            880G  310G  526G  38% /
10.14.9.2:/export/ckpt     20T   20T     0 100% /ckpt
/dev/loop3                 56M   56M     0 100% /snap/core18/2128
later
/dev/sdb 1 1 1 1% /not-read
"""


def rows(text):
    data = text.encode()
    reading, _ = read_all(
        [Source("a.log", None, len(data), data=data)],
        Reader(dialect.PARSERS),
        wants=lambda _: False,
        engine=Local(1),
    )
    return reading.events


def test_rows_of_df_are_read_until_the_table_ends_and_images_are_left_out():
    found = rows(DF)
    assert [(e["mount"], e["use"], e["free"], e["inodes"], e.line) for e in found] == [
        ("/", 38, 526 << 30, False, 3),
        ("/ckpt", 100, 0, False, 4),
    ]


def test_blocks_without_a_unit_are_kibibytes_and_inodes_are_counted():
    text = "Filesystem     1K-blocks      Used Available Use% Mounted on\n/dev/sda1 1000 900 100 90% /a\n"
    assert rows(text)[0]["free"] == 100 << 10
    text = (
        "Filesystem      Inodes   IUsed   IFree IUse% Mounted on\n/dev/sda1 1000 900 100 90% /a\n"
    )
    (row,) = rows(text)
    assert (row["free"], row["inodes"]) == (100, True)
