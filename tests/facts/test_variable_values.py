"""Values of environment variables that have no effect, or not the one that was meant."""

import pytest

from diagnose.facts.variable_values import values
from diagnose.model.event import Nature

from .build import event


def setting(name, value, **more):
    fields = {"name": name, "value": value}
    return event("nccl.env", Nature.SETTING, fields=fields, fact="env", **more)


def found(*events, version=None):
    return [(one.name, one["variable"], one["problem"]) for one in values(events, version)]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("NCCL_IB_TIMEOUT", "600", "unit"),
        ("NCCL_IB_TIMEOUT", "22s", "number"),
        ("NCCL_IB_DISABLE", "true", "number"),
        ("NCCL_IB_RETRY_CNT", "9", "range"),
        ("NCCL_BUFFSIZE", "4", "unit"),
        ("NCCL_BUFFSIZE", "4M", "number"),
        ("NCCL_DEBUG", "1", "word"),
        ("NCCL_DEBUG", "debug_info", "word"),
        ("NCCL_ALGO", "Ring,Rings", "word"),
        ("TORCH_DISTRIBUTED_DEBUG", "1", "word"),
        ("NCCL_SOCKET_IFNAME", "", "empty"),
        ("NCCL_SOCKET_IFNAME", "e", "one-letter"),
        ("NCCL_SOCKET_IFNAME", "10.0.0.1", "address"),
        ("NCCL_SOCKET_IFNAME", "fe80::1", "address"),
        ("NCCL_SOCKET_IFNAME", "eth0:0", "alias"),
        ("NCCL_SOCKET_IFNAME", '"eth0"', "quotes"),
        ("NCCL_IB_HCA", "'mlx5_0'", "quotes"),
        ("GLOO_SOCKET_IFNAME", "^lo", "filter"),
    ],
)
def test_refused(name, value, problem):
    assert found(setting(name, value)) == [("env.refused_value", name, problem)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_TIMEOUT", "22"),
        ("NCCL_IB_TIMEOUT", "0x16"),
        ("NCCL_BUFFSIZE", "4194304"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_DEBUG_SUBSYS", "INIT,NET"),
        ("NCCL_DEBUG_SUBSYS", "^COLL"),
        ("NCCL_ALGO", "^NVLS"),
        ("NCCL_ALGO", "allreduce:tree,ring;broadcast:ring"),
        ("NCCL_PROTO", "LL128,Simple"),
        ("NCCL_SOCKET_IFNAME", "^docker,lo"),
        ("NCCL_SOCKET_IFNAME", "=eth0"),
        ("NCCL_IB_HCA", "=mlx5_1:1"),
        ("NCCL_IB_HCA", ""),
        ("GLOO_SOCKET_IFNAME", "$IFACE"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL"),
        ("NCCL_NET", "AWS Libfabric"),
        ("NCCL_FUTURE_SWITCH", "?"),
    ],
)
def test_legal(name, value):
    assert found(setting(name, value)) == []


def test_a_refused_value_says_what_is_taken_and_the_default():
    (one,) = values([setting("NCCL_IB_TIMEOUT", "600")], "2.21.5")
    assert one["expected"] == "a whole number from 0 to 31 (an exponent, not seconds)"
    assert one["default"] == 18


def test_a_legal_number_that_is_seldom_meant():
    assert found(setting("NCCL_IB_TIMEOUT", "5")) == [
        ("env.risky_value", "NCCL_IB_TIMEOUT", "unusual")
    ]


def devices(*names, host="node-07"):
    return event("nccl.ib.devices", Nature.SETTING, fields={"hcas": list(names)}, host=host)


@pytest.mark.parametrize(
    ("value", "host", "problems"),
    [
        ("mlx5_1", "node-07", ["prefix"]),
        ("mlx5_1:1", "node-07", ["prefix"]),
        ("=mlx5_1", "node-07", []),
        ("mlx5_1,mlx5_10", "node-07", []),
        ("mlx5", "node-07", []),
        ("mlx5_1", "node-08", []),
    ],
)
def test_a_filter_that_matches_more_than_it_names(value, host, problems):
    one = setting("NCCL_IB_HCA", value, host=host)
    assert [problem for *_, problem in found(one, devices("mlx5_1", "mlx5_10"))] == problems


@pytest.mark.parametrize(("value", "problems"), [("25", ["unusual", "timeout"]), ("22", [])])
def test_an_adapter_that_waits_longer_than_the_collective(value, problems):
    timeout = event(fields={"timeout": 600.0})
    one = setting("NCCL_IB_TIMEOUT", value)
    assert [problem for *_, problem in found(one, timeout)] == problems
