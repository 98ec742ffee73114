"""Files that only their whole shows, as collectors deliver them."""

import json

import pytest

from diagnose import api
from diagnose.ingest.sniff import NOBODY
from diagnose.parsers.document import WholeDocument, uncovered, uncovered_head

LISTING = (
    "# node-01\ntorch==2.6.0\nnvidia-nccl-cu12==2.21.5\n"
    "# node-02\ntorch==2.6.0\nnvidia-nccl-cu12==2.18.1\n"
    "# node-03\ntorch==2.6.0\nnvidia-nccl-cu12==2.21.5\n"
    "# node-04\ntorch==2.6.0\nnvidia-nccl-cu12==2.21.5\n"
)


def each(text, cover):
    return "".join(cover(line, at) + "\n" for at, line in enumerate(text.splitlines()))


COVERS = {
    "colour": lambda text: each(text, lambda line, _: f"\x1b[32m{line}\x1b[0m"),
    "kubectl": lambda text: each(text, lambda line, _: f"[pod/packages-0/main] {line}"),
    "runtime": lambda text: each(
        text, lambda line, at: f"2026-03-01T10:00:00.{at:09d}Z stdout F {line}"
    ),
    "docker": lambda text: each(
        text,
        lambda line, at: json.dumps(
            {"log": line + "\n", "stream": "stdout", "time": f"2026-03-01T10:00:00.{at:09d}Z"}
        ),
    ),
    "journal": lambda text: each(
        text, lambda line, at: f"Mar  1 10:00:{at:02d} login-01 pip[4242]: {line}"
    ),
    "blanks": lambda text: each(text, lambda line, _: line + "   "),
}


@pytest.mark.parametrize("cover", COVERS)
def test_a_document_behind_a_cover_is_the_document(cover):
    found = uncovered(WholeDocument("a.txt", NOBODY, COVERS[cover](LISTING).encode()))
    assert [line.text for line in found.lines()] == [*LISTING.splitlines(), ""]
    assert [line.number for line in found.lines()][:3] == [1, 2, 3]


def test_a_plain_document_stays_what_it_is():
    plain = WholeDocument("a.txt", NOBODY, LISTING.encode())
    assert uncovered(plain) is plain
    assert uncovered_head(LISTING.encode()) is None


def test_one_line_without_a_prefix_and_there_is_no_cover():
    text = "[pod/packages-0/main] # node-01\ntorch==2.6.0\n"
    assert uncovered_head(text.encode()) is None


def test_a_log_of_nccl_is_no_document():
    line = (
        "[pod/trainer-0/main] node-07:4121:4388 [3] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>\n"
    )
    assert uncovered_head(line.encode()) is None


def test_the_prefix_says_who_wrote_it():
    found = uncovered(WholeDocument("a.txt", NOBODY, COVERS["kubectl"](LISTING).encode()))
    assert found.identity.host == "packages-0"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("cover", [None, "runtime"])
def test_the_odd_host_is_found_in_any_delivery(cover, encoding, tmp_path):
    text = LISTING if cover is None else COVERS[cover](LISTING)
    (tmp_path / "packages.txt").write_bytes(text.encode(encoding))
    (tmp_path / "rank0.log").write_text(
        "node-02:11:12 [0] bootstrap.cc:77 NCCL WARN Message truncated : received 1024 bytes instead of 256\n"
    )
    roots = [one for one in api.run([str(tmp_path)]).findings if one.role == "root"]
    assert [one.cause for one in roots] == ["comms.version-mismatch"]
    assert roots[0].culprit.hosts == ["node-02"]
