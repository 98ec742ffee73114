"""Kernel lines of network adapters.

::

    mlx5_core 0000:1a:00.0 ens1np0: Link down
    mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:
    ice 0000:1a:00.0 ens1f0: NIC Link is Down

``kernel.nic`` has ``state``: down, up, cable, plugged, health, recovered, command-timeout,
tx-timeout, temperature, insufficient-power. ``dump error cqe`` follows a failed completion, and
``ACCESS_REG ... failed`` comes from monitoring; neither is read.

*Empty*: no adapter reported anything. *Cut off*: a line cut short keeps what stands before the cut.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import pci

PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
LINUX = "Linux 5.4 to 6.12"

_MLX5 = (
    rf"(?P<driver>mlx5_core) (?P<pci>{PCI})(?: (?P<device>[\w.-]+))?: (?:\w+:\d+:\(pid \d+\): )?"
)


def _mlx5(state: str, message: str, nature: Nature, sample: str) -> Pattern:
    return Pattern(
        event="kernel.nic",
        regex=f"{_MLX5}(?P<message>{message})",
        nature=nature,
        source=f"{LINUX}, drivers/net/ethernet/mellanox/mlx5/core",
        sample=sample,
        types={"pci": pci},
        constants={"state": state},
    )


def _ethernet(state: str, message: str, nature: Nature, sample: str) -> Pattern:
    return Pattern(
        event="kernel.nic",
        regex=rf"(?P<driver>bnxt_en|ice|i40e|ixgbe|igb|qede|ionic|ena|atlantic) (?P<pci>{PCI})(?: (?P<device>[\w.-]+))?: (?P<message>{message})",
        nature=nature,
        source=f"{LINUX}, drivers/net/ethernet",
        sample=sample,
        types={"pci": pci},
        constants={"state": state},
    )


def _complete(event: Event, line: Line) -> Event:
    device = event.fields.get("device")
    if event.name == "kernel.nic":
        event.fields["device"] = device
        event.nic = str(device) if device else None
    return event


NIC = LineParser(
    name="kernel-nic",
    title="kernel lines of network adapters: links, firmware, stuck queues",
    patterns=(
        _mlx5("down", "Link down", Nature.ERROR, "mlx5_core 0000:1a:00.0 ens1np0: Link down"),
        _mlx5("up", "Link up", Nature.MEASUREMENT, "mlx5_core 0000:1a:00.0 ens1np0: Link up"),
        _mlx5("cable", r"Port module event(?:\[error\])?: module \d+, Cable (?:unplugged|error).*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable/module"),
        _mlx5("plugged", r"Port module event: module \d+, Cable plugged", Nature.MEASUREMENT,
              "mlx5_core 0000:1a:00.0: Port module event: module 0, Cable plugged"),
        _mlx5("health", r"Health issue observed.*|.*health compromised - reached miss count.*|Driver is in error state.*|PCI slot is unavailable.*|health recovery failed.*|.*firmware internal error.*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:"),
        _mlx5("recovered", r"health recovery succe\w+", Nature.MEASUREMENT,
              "mlx5_core 0000:1a:00.0: mlx5_health_try_recover:335:(pid 61): health recovery succeeded"),
        _mlx5("command-timeout", r"[A-Z_0-9]+\(0x[0-9a-f]+\) timeout\. Will cause a leak of a command resource", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: wait_func:1137:(pid 812): CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource"),
        _mlx5("tx-timeout", r"TX timeout (?:detected|on queue).*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0 ens1np0: TX timeout detected"),
        _mlx5("temperature", r"High temperature on sensors.*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: temp_warn:165:(pid 0): High temperature on sensors with bit set 0 1"),
        _mlx5("insufficient-power", r"Detected insufficient power on the PCIe slot.*", Nature.MEASUREMENT,
              "mlx5_core 0000:1a:00.0: Detected insufficient power on the PCIe slot (27W)."),
        _mlx5("down", r"port \d+ .{0,40}state change.{0,40}\b(?:[Dd]own|DOWN|ERR\w*)", Nature.ERROR,
              "mlx5_core 0000:1a:00.0 mlx5_0: port 1 state change to down"),
        _ethernet("down", r"(?:NIC )?Link is (?:Down|down)", Nature.ERROR, "ice 0000:1a:00.0 ens1f0: NIC Link is Down"),
        _ethernet("up", r"(?:NIC )?Link is (?:Up|up).*", Nature.MEASUREMENT, "bnxt_en 0000:1a:00.0 ens1f0: NIC Link is Up, 100000 Mbps full duplex"),
        Pattern(
            event="kernel.nic",
            regex=r"(?P<driver>bond\w*): \(slave (?P<device>[\w.-]+)\): (?P<message>link status definitely down)",
            nature=Nature.ERROR,
            source=f"{LINUX}, drivers/net/bonding/bond_main.c",
            sample="bond0: (slave ens1np0): link status definitely down, disabling slave",
            constants={"state": "down"},
        ),
        Pattern(
            event="kernel.nic",
            regex=r"(?P<driver>bond\w*): (?P<message>link status definitely down) for interface (?P<device>[\w.-]+)",
            nature=Nature.ERROR,
            source="Linux 3.10 to 5.4, drivers/net/bonding/bond_main.c",
            sample="bond0: link status definitely down for interface ens1np0, disabling it",
            constants={"state": "down"},
        ),
        Pattern(
            event="kernel.nic",
            regex=r"NETDEV WATCHDOG: (?:CPU: \d+: )?(?P<device>[\w.-]+) \((?P<driver>\w+)\): (?P<message>transmit queue \d+ timed out.*)",
            nature=Nature.ERROR,
            source=f"{LINUX}, net/sched/sch_generic.c, dev_watchdog",
            sample="NETDEV WATCHDOG: ens1f0 (ice): transmit queue 5 timed out",
            constants={"state": "tx-timeout"},
        ),
        Pattern(
            event="kernel.memory_registration_failed",
            regex=r"infiniband (?P<nic>\w+): (?:\w+:\d+:\(pid \d+\): )?(?P<message>async reg mr failed.*)",
            nature=Nature.ERROR,
            source=f"{LINUX}, drivers/infiniband/hw/mlx5/mr.c",
            sample="infiniband mlx5_0: reg_mr_callback:104:(pid 812): async reg mr failed. status -22",
        ),
    ),
    refine=_complete,
)  # fmt: skip

PARSERS = (NIC,)
