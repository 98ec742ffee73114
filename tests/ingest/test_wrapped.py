"""Lines that a terminal broke at its width."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest.unwrap import unwrap
from diagnose.ingest.wrapped import LARGEST, rejoined

LOG = """\
[2025-07-19 13:20:40] worker-2:511:774 [3] NCCL INFO Using network IB
[2025-07-19 13:21:02] worker-2:511:774 [3] transport/net_ib.cc:254 NCCL WARN NET/IB : mlx5_4:1 async fatal event: local catastrophic error
worker-2:511:774 [3] NCCL INFO transport/net_ib.cc:2010 -> 6
[rank3]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690, remote process exited or there was a network error, NCCL version 2.26.2
"""  # noqa: E501


def wrap(text, width, end="\n"):
    lines = [
        line[at : at + width] for line in text.split("\n") for at in range(0, len(line) or 1, width)
    ]
    return end.join(lines).encode()


@pytest.mark.parametrize("width", [80, 90, 91, 100, 110, 120, 130])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_broken_records_are_whole_again(width, end):
    made = rejoined(wrap(LOG, width, end))
    assert made is not None
    lines = made[0].decode().split(end)
    assert [line for line in LOG.splitlines() if line not in lines] == []


def test_one_broken_record_in_a_log():
    data = (
        b"[2025-07-19 13:21:02] worker-2:511:774 [3] transport/net_ib.cc:254 NCCL WARN NET/IB : mlx5_\n"
        b"4:1 async fatal event: local catastrophic error\n"
        b"worker-2:511:774 [3] NCCL INFO transport/net_ib.cc:2010 -> 6\n"
    )
    clean = unwrap(data)
    first, second, *_ = clean.data.split(b"\n")
    assert first.endswith(b"NET/IB : mlx5_4:1 async fatal event: local catastrophic error")
    assert second == b"4:1 async fatal event: local catastrophic error"
    assert clean.lines is None


def test_a_blank_that_the_terminal_dropped_comes_back():
    # Of the last column of a row, a blank is not copied.
    data = wrap(LOG, 100).split(b"\n")
    data.insert(1, b"[rank3]: " + b"x" * 84 + b" four 5")
    data[1] = data[1][:99]
    data.insert(2, b"of the parts")
    made = rejoined(b"\n".join(data))
    assert made is not None
    assert data[1] + b" of the parts" in made[0].split(b"\n")


ERROR = "[rank3]: DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, NCCL version 2.26.2"


@pytest.mark.parametrize(
    "text",
    [
        LOG,
        "",
        "\n\n",
        f"{ERROR}\nncclRemoteError: A call failed.\nLast error:\nsocket closed\n",
        f"{ERROR}\n[rank3]: Traceback (most recent call last):\n",
        f"{ERROR}\n    warnings.warn(\n{ERROR}\n",
        f"{ERROR}\r\n" * 3,
        "+" + "-" * 78 + "+\n" + ("|" + " GPU  Name ".ljust(78) + "|\n") * 4,
        "def main(arguments, *, verbose=False, quiet=False, output=None, level=3, jobs=2, x=1):\nreturn 1\n",
        ("The quick brown fox jumps over the lazy dog and runs into the deep dark woods and\n"
         "then it comes back again to the place where it was in the first place to see if\n") * 5,
        f"{'x' * 300}\nrest\n",
        "[rank0]: short\nrest\n",
    ],
)  # fmt: skip
def test_whole_lines_stay_as_they_are(text):
    assert rejoined(text.encode()) is None
    assert unwrap(text.encode()).data == text.encode()


def test_a_file_is_left_alone():
    data = wrap(LOG, 100)
    assert rejoined(data + b"\n" + b"x\n" * LARGEST) is None


TEXT = st.text(string.ascii_lowercase + "019 _.:/[]|", max_size=260)
RECORDS = st.lists(TEXT.map("[rank3]: {}".format) | TEXT, max_size=8).map("\n".join)


@given(RECORDS | st.just(LOG), st.integers(60, 150), st.sampled_from(["\n", "\r\n"]))
def test_no_line_is_lost_or_moved(text, width, end):
    data = wrap(text, width, end)
    made = rejoined(data)
    if made is None:
        return
    before, after = data.split(b"\n"), made[0].split(b"\n")
    assert len(after) == len(before)
    assert all(new.startswith(old.rstrip(b"\r")) for old, new in zip(before, after, strict=True))
    assert made[1] == list(range(len(before) - (not before[-1])))


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data):
    made = rejoined(data)
    assert made is None or made[0].count(b"\n") == data.count(b"\n")
