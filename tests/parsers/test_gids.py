import pytest
from communication import check_table, cut_anywhere, read

from diagnose.parsers.convert import gid_kind
from diagnose.parsers.fabric import gids

SAMPLE = gids.PARSERS[0].sample


def rows(text):
    return [(one.nic, one.fields["index"], one.fields["version"], one.fields["kind"], one.fields["netdev"])
            for one in read(gids, text)]  # fmt: skip


EXPECTED = [
    ("mlx5_0", 0, "v1", "link-local", "eth2"),
    ("mlx5_0", 3, "v2", "ipv4", "eth2"),
]


@pytest.mark.parametrize(
    "text",
    [
        SAMPLE,
        SAMPLE.replace("\t", "    "),
        SAMPLE.replace("\n", "\r\n"),
        "".join(f"node-07: {line}\n" for line in SAMPLE.splitlines()),
        "".join(f"[1,0]<stdout>:{line}\n" for line in SAMPLE.splitlines()),
        "\n".join(SAMPLE.splitlines()[2:]),
        "$ show_gids\n" + SAMPLE,
    ],
)
def test_each_row_is_an_address(text):
    assert rows(text) == EXPECTED


def test_a_table_says_whether_it_was_read_to_its_end():
    assert {one.fields["whole"] for one in read(gids, SAMPLE)} == {True}
    assert {one.fields["whole"] for one in read(gids, SAMPLE.partition("n_gids")[0])} == {False}


def test_infiniband_has_no_version():
    text = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\nmlx5_0\t1\t0\tfe80:0000:0000:0000:a088:c203:00ab:12c0\t\t\t\nn_gids_found=1\n"
    assert rows(text) == [("mlx5_0", 0, None, "link-local", None)]


def test_a_global_ipv6_address():
    text = SAMPLE.replace("0000:0000:0000:0000:0000:ffff:0a08:0311\t10.8.3.17  ", "2001:0db8:0000:0000:0000:0000:0000:0011\t")  # fmt: skip
    assert rows(text)[1] == ("mlx5_0", 3, "v2", "ipv6", "eth2")


def test_two_tables_in_a_row_and_cuts():
    assert len(rows(SAMPLE + SAMPLE.replace("mlx5_0", "mlx5_1"))) == 4
    cut_anywhere(gids, SAMPLE)


def test_declarations():
    check_table(gids)


def test_ibstatus_is_no_table():
    assert rows("\tdefault gid:\t fe80:0000:0000:0000:a088:c203:00ab:12c0\n") == []


@pytest.mark.parametrize(
    ("gid", "kind"),
    [
        ("fe80:0000:0000:0000:0e42:a1ff:fea4:94a8", "link-local"),
        ("::ffff:10.8.3.17", "ipv4"),
        ("0000:0000:0000:0000:0000:ffff:a9fe:0102", "link-local"),
        ("2001:db8::11", "ipv6"),
        ("0000:0000:0000:0000:0000:0000:0000:0000", None),
        ("eth2", None),
    ],
)
def test_kinds_of_addresses(gid, kind):
    assert gid_kind(gid) == kind
