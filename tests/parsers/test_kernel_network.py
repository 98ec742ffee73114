import pytest
from communication import check_table, read

from diagnose.model.event import Nature
from diagnose.parsers import kernel_network


def test_samples_match_and_patterns_are_safe():
    check_table(kernel_network)


@pytest.mark.parametrize(
    ("text", "driver", "state", "nic", "nature"),
    [
        ("mlx5_core 0000:1a:00.0 ens1np0: Link down", "mlx5_core", "down", "ens1np0", Nature.ERROR),
        ("mlx5_core 0000:1a:00.0 mlx5_2: Link up", "mlx5_core", "up", "mlx5_2", Nature.MEASUREMENT),
        ("mlx5_core 0000:1a:00.0 mlx5_0: port 1 state change to down", "mlx5_core", "down", "mlx5_0", Nature.ERROR),
        ("mlx5_core 0000:1a:00.0: Port module event[error]: module 0, Cable error, No EEPROM/retry timeout", "mlx5_core", "cable", None, Nature.ERROR),
        ("mlx5_core 0000:5e:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:", "mlx5_core", "health", None, Nature.ERROR),
        ("mlx5_core 0000:5e:00.0: poll_health:955:(pid 0): device's health compromised - reached miss count", "mlx5_core", "health", None, Nature.ERROR),
        ("mlx5_core 0000:5e:00.0: Driver is in error state. Unloading", "mlx5_core", "health", None, Nature.ERROR),
        ("mlx5_core 0000:5e:00.0: health recovery succeeded", "mlx5_core", "recovered", None, Nature.MEASUREMENT),
        ("mlx5_core 0000:5e:00.0 ens1np0: TX timeout on queue: 5, SQ: 0x11ab, CQ: 0x1c", "mlx5_core", "tx-timeout", "ens1np0", Nature.ERROR),
        ("bnxt_en 0000:1a:00.0 ens1np0: NIC Link is Down", "bnxt_en", "down", "ens1np0", Nature.ERROR),
        ("bnxt_en 0000:1a:00.0 ens1np0: NIC Link is Up, 100000 Mbps full duplex", "bnxt_en", "up", "ens1np0", Nature.MEASUREMENT),
        ("ice 0000:1a:00.0 ens1f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC", "ice", "up", "ens1f0", Nature.MEASUREMENT),
        ("ena 0000:00:06.0 eth1: Link is down", "ena", "down", "eth1", Nature.ERROR),
        ("bond0: (slave ens1np0): link status definitely down, disabling slave", "bond0", "down", "ens1np0", Nature.ERROR),
        ("NETDEV WATCHDOG: ens1f0 (ice): transmit queue 5 timed out", "ice", "tx-timeout", "ens1f0", Nature.ERROR),
        ("NETDEV WATCHDOG: CPU: 12: ens1f0 (i40e): transmit queue 5 timed out 5060 ms", "i40e", "tx-timeout", "ens1f0", Nature.ERROR),
    ],
)  # fmt: skip
def test_adapters_of_all_makes(text, driver, state, nic, nature):
    (event,) = read(kernel_network, f"[ 8123.456789] {text}")
    assert event.name == "kernel.nic"
    assert (event.fields["driver"], event.fields["state"]) == (driver, state)
    assert (event.nic, event.nature) == (nic, nature)


@pytest.mark.parametrize(
    "text",
    [
        "mlx5_core 0000:1a:00.0: firmware version: 28.41.1000",
        "mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:811:(pid 812): ACCESS_REG(0x805) op_mod(0x1) failed, status bad parameter(0x3), syndrome (0x15c356), err(-22)",
        "infiniband mlx5_0: dump_cqe:272:(pid 812): dump error cqe",
        "mlx5_core 0000:1a:00.0: PCIe slot power capability was not advertised.",
    ],
)
def test_near_misses(text):
    assert read(kernel_network, text) == []
