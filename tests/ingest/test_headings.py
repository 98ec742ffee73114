import pytest

from diagnose.ingest.headings import LARGEST, divide
from diagnose.ingest.nodeset import MOST, expand
from diagnose.ingest.pieces import PIECE, Pieces


def owners(text, holding=()):
    data = text.encode()
    found = divide(data, holding)
    if found is None:
        return None
    edges = [*found.starts, len(found.data)]
    return [
        (host, found.data[start:end].decode())
        for host, start, end in zip(found.owners, edges, edges[1:], strict=False)
    ]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node-07", ["node-07"]),
        ("node-[07-09,11]", ["node-07", "node-08", "node-09", "node-11"]),
        ("a[1-2],b7", ["a1", "a2", "b7"]),
        ("rack[1-2]n[1-2]", ["rack1n1", "rack1n2", "rack2n1", "rack2n2"]),
        ("node-[7", []),
        ("node-[x-y]", []),
        (f"node-[1-{2 * MOST}]", []),
    ],
)
def test_folded_lists(text, hosts):
    assert expand(text) == hosts


def test_a_text_without_headings_is_left_alone():
    assert owners("step 1\nstep 2\n") is None
    assert owners("") is None


def test_what_stands_before_the_first_heading_is_nobody_s():
    assert owners("a\n=== node-07 ===\nb\n") == [(None, "a\n"), ("node-07", "=== node-07 ===\nb\n")]


def test_a_heading_before_this_piece_holds_on():
    assert owners("a\n", ("node-07",)) == [("node-07", "a\n")]
    assert owners("a\n", ("node-07", "node-08")) == [("node-07", "a\n"), ("node-08", "a\n")]


def test_folded_output_stands_once_for_each_host_and_keeps_its_lines():
    found = divide(b"x\n----------------\nn[1-2]\n----------------\na\nb")
    assert list(found.lines) == [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    assert list(found.owners) == [None, "n1", "n2"]


@pytest.mark.parametrize(
    "line",
    [
        "== step 7 ==",
        "# lr 0.1",
        "---- epoch-3 ----",
        "## rank-3",
        ">>> model-7",
        "=== 12 ===",
        "#",
    ],
)
def test_words_that_are_no_hosts(line):
    found = owners(f"{line}\nb\n")
    assert found is None or {host for host, _ in found} == {None}


def test_prompts_are_looked_for_in_pastes_alone():
    text = "root@node-07:~# ibstat\n" + "x\n" * LARGEST
    assert owners(text) is None


def test_a_heading_holds_over_pieces():
    import io

    line = b"0123456789 abcdef\n"
    data = b"=== node-07 ===\n" + line * (2 * PIECE // len(line))
    pieces = list(Pieces(io.BytesIO(data), heading=()))
    assert len(pieces) > 1
    assert {piece.host(0) for piece in pieces} == {"node-07"}
    assert {piece.host(0) for piece in Pieces(io.BytesIO(data))} == {None}


@pytest.mark.parametrize("heading", ["=== cl042 ===\n", "--- cl042 ---\n", "#### cl042\n"])
def test_an_unclear_name_is_a_heading_before_the_output_of_a_tool(heading):
    shown = "Infiniband device 'mlx5_0' port 1 status:\n"
    dated = "Mon Jan 12 10:00:00 UTC 2026\n# Port extended counters: Lid 131 port 1\n"
    assert owners(heading + shown) == [("cl042", heading + shown)]
    assert owners(heading + dated) == [("cl042", heading + dated)]
    assert owners(heading + "a word\n") is None


@pytest.mark.parametrize(
    "line", ["Host: node-07", "hostname=node-07", "$ hostname\nnode-07\n$ ibstat"]
)
def test_what_names_the_machine_before_the_output_of_a_tool_is_a_heading(line):
    hosts = [host for host, _ in owners(f"{line}\nCA 'mlx5_0'\n\tCA type: MT4129\n")]
    assert hosts[-1] == "node-07"
