"""Names of environment variables: known, misspelled, obsolete, unknown."""

import pytest

from diagnose.facts.variables import distance, names, release, table
from diagnose.model.event import Nature

from .build import event

STEERS = (
    "interface", "adapters", "gid", "retries", "algorithm", "buffers", "network", "paths", "logs",
    "watchdog", "other",
)  # fmt: skip


def setting(name, value="1", **more):
    fields = {"name": name, "value": value}
    return event("nccl.env", Nature.SETTING, fields=fields, fact="env", **more)


def test_no_valid_name_is_a_misspelling():
    known = table().known
    assert {name: meant for name in known if (meant := table().meant(name))} == {}


def test_what_was_meant_is_known_or_said_in_words():
    for meant in table().misspelled.values():
        assert " " in meant or meant in table().known
    assert table().known.isdisjoint(table().misspelled)
    assert table().known.isdisjoint(table().obsolete)


def test_each_variable_can_be_checked():
    for variable in table().variables.values():
        assert variable.kind in ("whole", "words", "interfaces", "adapters", "text")
        assert variable.differs in ("fatal", "slow", "noted", "normal")
        assert variable.steers in STEERS
        assert bool(variable.words) == (variable.kind == "words")
        assert list(variable.defaults) == sorted(variable.defaults, key=release)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("NCCL_SOCK_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOKCET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOCKET_IFNME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IB_GIDINDEX", "NCCL_IB_GID_INDEX"),
        ("NCLL_DEBUG", "NCCL_DEBUG"),
        ("NCCL_BUFSIZE", "NCCL_BUFFSIZE"),
        ("TORCH_NCCL_BLOKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"),
        ("RCCL_MSCCL_ENABEL", "RCCL_MSCCL_ENABLE"),
        ("GLOO_SOCK_IFNAME", "GLOO_SOCKET_IFNAME"),
    ],
)
def test_misspelled(written, meant):
    found = list(names([setting(written, "eth0", host="node-07")], None))
    assert [(one.name, one["written"], one["meant"], one.host) for one in found] == [
        ("env.misspelled", written, meant, "node-07")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_FUTURE_SWITCH",
        "NCCL_MY_PLUGIN",
        "NCCL_NETS",
        "NCCL_IB_QOS",
        "NCCL_LL256_BUFFSIZE",
        "OFI_NCCL_PROTOCOL",
        "OFI_NCCL_NET_LATENC",
        "NCCL_GPUDIRECTTCPX_FORCE_ACK",
        "NCCL_SHARP_DISABLE",
        "UCX_NET_DEVICES",
        "NCCL_VERSION",
        "NCCL_ASYNC_ERROR_HANDLING",
    ],
)
def test_unknown_names_far_from_all_are_left_alone(name):
    assert list(names([setting(name)], None)) == []


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("NCCL_IB_GDR_LEVEL", None, ["env.obsolete"]),
        ("NCCL_WORK_FIFO_DEPTH", None, []),
        ("NCCL_WORK_FIFO_DEPTH", "2.21.5", []),
        ("NCCL_WORK_FIFO_DEPTH", "2.22.3", ["env.obsolete"]),
    ],
)
def test_a_name_is_obsolete_from_a_release_on(name, version, found):
    assert [one.name for one in names([setting(name)], version)] == found


@pytest.mark.parametrize(("beside", "both"), [("NCCL_SOCKET_IFNAME", True), ("NCCL_DEBUG", False)])
def test_the_right_name_may_be_set_as_well(beside, both):
    (one,) = names([setting("NCCL_SOCK_IFNAME"), setting(beside)], None)
    assert one["both"] is both


def test_each_value_of_a_host_is_said_once():
    ranks = [setting("NCCL_SOCK_IFNAME", "eth0", host="node-07", rank=rank) for rank in range(8)]
    assert len(list(names(ranks, None))) == 1


@pytest.mark.parametrize(
    ("version", "value"),
    [("2.13.4", 14), ("2.14.3", 18), ("2.22.3", 18), ("2.27.6+cuda12.8", 20), (None, None)],
)
def test_the_default_depends_on_the_release(version, value):
    assert table().variables["NCCL_IB_TIMEOUT"].default(version) == value


@pytest.mark.parametrize(
    ("first", "second", "letters"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("", "ab", 2), ("abcd", "badc", 2)],
)
def test_distance(first, second, letters):
    assert distance(first, second) == distance(second, first) == letters
