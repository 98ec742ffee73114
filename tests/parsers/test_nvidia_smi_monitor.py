import pytest
from communication import read

from diagnose.parsers import nvidia_smi_monitor

HEAD = (
    "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n"
    "# Idx      W      C      C      %      %      %      %    MHz    MHz\n"
)
OLD = "# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk\n# Idx     W     C     %     %     %     %   MHz   MHz\n"


def rows(gpus):
    return "".join(
        f"    {gpu}    {power}     61     78     {use}     71      0      0   2619   {clock}\n"
        for gpu, power, use, clock in gpus
    )


def found(text):
    return {event.gpu: event for event in read(nvidia_smi_monitor, text)}


def test_samples_of_each_gpu_over_repeated_headings():
    text = "".join(HEAD + rows([(0, 688, use, 1965), (3, 121, 100, 1200)]) for use in (10, 90, 98))
    events = found(text)
    assert {gpu: one.fields["samples"] for gpu, one in events.items()} == {"0": 3, "3": 3}
    first = events["0"].fields
    assert (first["use"], first["power"], first["clock"], first["temperature"]) == (
        90,
        688,
        1965,
        61,
    )
    assert (round(first["use_low"], 2), round(first["use_high"], 2)) == (0.33, 0.67)
    assert (events["3"].line, events["3"].fields["clock"]) == (12, 1200)


def test_an_old_heading_and_values_that_are_not_known():
    (event,) = found(OLD + "    0    56    41     -     5     0     0   877  1290\n").values()
    assert (event.fields["use"], event.fields["temperature"]) == (None, 41)


def test_dates_and_commas():
    text = (
        "#Date       Time        gpu    pwr     sm   pclk  pviol  tviol\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      %    MHz      %   bool\n"
        " 20260309   14:20:31      1    301     99   1110      3      1\n"
    )
    assert found(text)["1"].fields["thermal_violation"] == 1
    commas = "\n".join(", ".join(line.split()) for line in text.splitlines())
    assert found(commas)["1"].fields["clock"] == 1110


QUERY = (
    "timestamp, index, pci.bus_id, utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], temperature.gpu\n"
    "2026/03/09 04:48:45.120, 3, 00000000:5D:00.0, 100 %, 312.40 W, 1035 MHz, 86\n"
    "2026/03/09 04:48:46.120, 3, 00000000:5D:00.0, 98 %, [N/A], 1035 MHz, 87\n"
)


@pytest.mark.parametrize("text", [QUERY, QUERY.replace("\n", "\r\n"), QUERY + "node-07$ date\n"])
def test_the_output_of_a_query(text):
    (event,) = found(text).values()
    assert (event.gpu, event.fields["index"], event.fields["samples"]) == ("0000:5d:00.0", 3, 2)
    assert (event.fields["use"], event.fields["power"], event.fields["clock"]) == (99, 312.4, 1035)


@pytest.mark.parametrize(
    "text",
    [
        HEAD,
        HEAD + "    0    688     61\n",
        "# gpu memory is full\n# gpu memory is full\n",
        "nvidia-smi --query-gpu=power.draw,utilization.gpu --format=csv\n",
    ],
)
def test_nothing_to_read(text):
    assert not found(text)


def test_link_width_reasons_and_memory_of_a_query():
    text = (
        "index, utilization.gpu [%], power.draw [W], pcie.link.width.current, pcie.link.width.max,"
        " clocks_event_reasons.active, ecc.errors.uncorrected.volatile.total, memory.used [MiB]\n"
        "3, 100 %, 300.00 W, 8, 16, 0x0000000000000048, 2, 1024 MiB\n"
        "3, 100 %, 300.00 W, 8, 16, 0x0000000000000004, 2, 2048 MiB\n"
    )
    fields = found(text)["3"].fields
    assert (fields["pcie_width"], fields["pcie_width_max"], fields["ecc_volatile"]) == (8, 16, 2)
    assert fields["slowdown"] == "HW Slowdown, HW Thermal Slowdown"
    assert fields["memory_used"] == 2 << 30


def test_the_power_cap_is_no_slowdown_and_a_rare_reason_is_left_out():
    head = "index, utilization.gpu [%], clocks_throttle_reasons.hw_slowdown, clocks_throttle_reasons.active\n"
    rows = ["3, 100 %, Not Active, 0x4\n"] * 4 + ["3, 100 %, Active, 0x8\n"]
    assert found(head + "".join(rows))["3"].fields["slowdown"] is None


def test_dcgm_columns():
    text = (
        "#Entity           GPUTL     MCUTL     TMPTR     POWER     XIDER     GRACT     SMACT     TENSO     DRAMA\n"
        "ID                                        C         W\n"
        "GPU 3             100       2         47        121.3     0         0.998     0.124     0.000     0.021\n"
        "GPU 4             100       55        61        640.0     79        0.998     0.912     0.480     0.410\n"
    )
    gpus = found(text)
    assert (gpus["3"].fields["sm_active"], gpus["3"].fields["xid"]) == (0.124, None)
    assert (gpus["4"].fields["power"], gpus["4"].fields["xid"]) == (640.0, 79)
