import pytest
from communication import check_table, cut_anywhere, holds, one, read

from diagnose.parsers.fabric import ethtool

SETTINGS = """\
Settings for ens1f0np0:
	Supported ports: [ FIBRE ]
	Supported link modes:   10000baseKR/Full
				400000baseCR4/Full
	Speed: 400000Mb/s
	Lanes: 4
	Duplex: Full
	Auto-negotiation: on
	Port: FIBRE
Cannot get wake-on-lan settings: Operation not permitted
	Link detected: yes
"""
DRIVER = """\
driver: mlx5_core
version: 24.10-1.1.4
firmware-version: 28.43.2026 (MT_0000000838)
expansion-rom-version:
bus-info: 0000:1b:00.0
supports-statistics: yes
"""


@pytest.mark.parametrize(
    "text",
    [
        SETTINGS,
        SETTINGS.replace("\t", "        "),
        SETTINGS.replace("\t", ""),
        "".join(f"node-07: {line}\n" for line in SETTINGS.splitlines()),
    ],
)
def test_a_link(text):
    link = one(ethtool, text, "net.link")
    assert not holds(link, {"interface": "ens1f0np0", "speed_gbps": 400, "lanes": 4, "detected": True})  # fmt: skip


@pytest.mark.parametrize(
    ("said", "reason"), [("no", None), ("no (No cable)", "No cable"), ("no (Autoneg failure, No partner detected)", "Autoneg failure, No partner detected")]
)  # fmt: skip
def test_no_link(said, reason):
    text = f"Settings for ens1f0np0:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n\tLink detected: {said}\n"
    link = one(ethtool, text)
    assert not holds(link, {"speed_gbps": None, "detected": False, "reason": reason})


def test_a_driver():
    driver = one(ethtool, DRIVER)
    assert not holds(driver, {"driver": "mlx5_core", "version": "24.10-1.1.4", "firmware": "28.43.2026", "board": "MT_0000000838", "pci": "0000:1b:00.0", "interface": None, "fact": "net.driver"})  # fmt: skip
    assert driver.fields["value"] == "mlx5_core 24.10-1.1.4, firmware 28.43.2026"
    assert one(ethtool, "$ ethtool -i ens1f0np0\n" + DRIVER).fields["interface"] == "ens1f0np0"


def test_firmware_of_other_makers():
    broadcom = one(ethtool, DRIVER.replace("28.43.2026 (MT_0000000838)", "230.0.157.0/pkg 230.1.116.0"))  # fmt: skip
    assert not holds(broadcom, {"firmware": "230.0.157.0/pkg 230.1.116.0", "board": None})
    assert read(ethtool, DRIVER.replace("28.43.2026 (MT_0000000838)", "")) == []


def test_two_drivers_in_a_row():
    assert [found.fields["driver"] for found in read(ethtool, DRIVER + DRIVER.replace("mlx5_core", "bnxt_en"))] == ["mlx5_core", "bnxt_en"]  # fmt: skip


def test_what_only_looks_like_a_driver():
    assert read(ethtool, "driver: 550.54.15\nstarting the job\n") == []
    assert read(ethtool, DRIVER.partition("firmware")[0]) == []
    assert read(ethtool, "$ ethtool -i ens9\nCannot get driver information: No such device\n") == []


def test_cuts_and_declarations():
    cut_anywhere(ethtool, SETTINGS)
    cut_anywhere(ethtool, "$ ethtool -i ens1f0np0\n" + DRIVER)
    check_table(ethtool)
