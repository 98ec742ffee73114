"""perftest: ib_write_bw, ib_read_bw, ib_send_bw, and their latency tests.

::

                        RDMA_Write BW Test
     Dual-port       : OFF		Device         : mlx5_0
     Number of qps   : 1		Transport type : IB
     Mtu             : 4096[B]
     Link type       : IB
     local address: LID 0x83 QPN 0x0049 PSN 0x2a1f4e RKey 0x1fff00 VAddr 0x007f2c5c000000
     remote address: LID 0x97 QPN 0x0051 PSN 0x91ab22 RKey 0x1fff00 VAddr 0x007f9b1a000000
     #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
     65536      5000             391.12             390.87 		     0.745525

Each run is one event ``bench.link`` at its largest message: ``tool``, ``operation`` (write, read, send,
atomic), ``device``, ``link_layer``, ``mtu`` (bytes), ``gid_index``, ``streams`` (queue pairs), ``size``, ``gbps``
(one way, Gb/s) or ``latency`` (s), ``local`` and ``remote``: hosts where a command line or the name of
the file has them, else addresses (``LID 131``, or the IPv4 address of a GID); ``outbound`` whether data
goes from local to remote.

The heading tells the unit: Gb/sec, else MiB/sec, which older releases call MB/sec and which is 2^20
bytes as well. Tests in both directions print the sum of both. The JSON file states no unit; there
the rate follows from the messages a second. Every ``WARNING`` is left out, and so is ``Conflicting CPU
frequency values``, which means nothing.

*Empty*: a heading without a row failed; the reason is in ``bench.failed``. *Cut off*: the rows that are
there count; without the heading of the columns the unit is unknown and nothing is said.
"""

import json
import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Value
from diagnose.parsers.bandwidth.link import host_word, link
from diagnose.parsers.base import BlockParser, Document, FileParser, Note
from diagnose.parsers.gate import Gate

MIB_TO_GBPS = 8 * (1 << 20) / 1e9

_PROGRAMS = tuple(
    f"ib_{verb}_{what}" for verb in ("write", "read", "send", "atomic") for what in ("bw", "lat")
)
_TITLE = LazyPattern(
    r"^\s*(Send|RDMA_Write(?:_imm)?|RDMA_Read|Atomic)\b[\w ]*?\b(Bidirectional )?(?:Post List )?(BW|Latency)[\w ]* Test\s*$"
)
_TITLE_IN_JSON = LazyPattern(
    r"^(Send|RDMA_Write|RDMA_Read|Atomic)_.*?(Bidirectional_)?(?:Post_List_)?(BW|Latency)_"
)
_COMMAND = LazyPattern(r"(?:^|[\s/;&'\"])ib_(?:write|read|send|atomic)_(?:bw|lat)\b(.*)$")
_FAR_SHELL = LazyPattern(r"\bssh\s+(?:-\S+\s+)*(?:[\w.-]+@)?([\w.-]+)\s")
_PROMPT = LazyPattern(r"^\[?[\w.-]+@([\w.-]+)[: ]")
_WAITING = LazyPattern(r"^\*? ?Waiting for client")
_PARAMETERS = {
    "Device": "device", "Link type": "link_layer", "Mtu": "mtu", "GID index": "gid_index",
    "Number of qps": "streams",
}  # fmt: skip
_PARAMETER = LazyPattern(rf"\b({'|'.join(_PARAMETERS)})\s*:\s*([\w.]+)")
_ADDRESS = LazyPattern(r"^\s*(local|remote) address: LID (?:0x)?([0-9a-fA-F]+)")
_GID = LazyPattern(r"^\s*GID: ([\d:]+)\s*$")
_UNIT = LazyPattern(r"#bytes.*BW average\[([GMi]+[bB])/sec\]")
_DELAYS = LazyPattern(r"#bytes\s+#iterations\s+(?:t_min|t_avg)")
_ROW = LazyPattern(r"^\s*\d+(?:\s+\d[\d.]*){3,}\s*$")
_RULE = LazyPattern(r"^-{40,}\s*$")


def _starts(line: Line) -> bool:
    return any(one.search(line.text) is not None for one in (_TITLE, _WAITING, _COMMAND))


def _ends(lines: list[Line], following: Line) -> bool:
    if _COMMAND.search(following.text) or _WAITING.match(following.text):
        return True
    if _TITLE.match(following.text):
        return any(_TITLE.match(line.text) for line in lines)
    return _RULE.match(lines[-1].text) is not None and any(_ROW.match(one.text) for one in lines)


def _read(lines: list[Line]) -> Iterator[Event]:
    fields: dict[str, Value] = {}
    server = any(_WAITING.match(line.text) for line in lines)
    rows: list[tuple[Line, list[float]]] = []
    unit: str | None = None
    last = "local"
    for line in lines:
        text = line.text
        if found := _TITLE.match(text):
            verb = found[1].lower().removeprefix("rdma_").removesuffix("_imm")
            fields.update(operation=verb, bidirectional=found[2] is not None)
            fields["tool"] = f"ib_{verb}_{'bw' if found[3] == 'BW' else 'lat'}"
        elif found := _UNIT.search(text):
            unit = found[1]
        elif _DELAYS.search(text):
            unit = "usec"
        elif unit is not None and _ROW.match(text):
            rows.append((line, [float(value) for value in text.split()]))
        elif found := _ADDRESS.match(text):
            last = found[1]
            if int(found[2], 16):
                fields.setdefault(last, f"LID {int(found[2], 16)}")
        elif (found := _GID.match(text)) and (address := _ipv4(found[1])):
            fields.setdefault(last, address)
        elif found := _COMMAND.search(text):
            fields.update(_named(text, found[1]))
        else:
            fields.update(_parameters(text))
    if "operation" not in fields or not rows:
        return
    fields["outbound"] = server == (fields["operation"] == "read")
    line, values = max(rows, key=lambda row: row[1][0])
    yield link(line, {**fields, **_figures(values, str(unit), both=bool(fields["bidirectional"]))})


def _named(text: str, arguments: str) -> dict[str, Value]:
    """Return the ends that a command line names: where it runs and the server it connects to."""
    ends: dict[str, Value] = {}
    shell = _FAR_SHELL.search(text) or _PROMPT.match(text)
    if shell is not None and (near := host_word(shell[1])):
        ends["local"] = near
    words = re.sub(r"[;&|>'\"].*", "", arguments).split()
    named = [far for word in words if (far := host_word(word)) is not None]
    if named:
        ends["remote"] = named[-1]
    return ends


def _parameters(text: str) -> dict[str, Value]:
    return {
        _PARAMETERS[found[1]]: int(found[2]) if found[2].isdigit() else found[2]
        for found in _PARAMETER.finditer(text)
    }


def _ipv4(gid: str) -> str | None:
    """Return the address of a GID in decimal octets, None where it holds no IPv4 address."""
    octets = [int(one) for one in gid.split(":") if one]
    mapped = len(octets) == 16 and not any(octets[:10]) and octets[10:12] == [255, 255]
    return ".".join(map(str, octets[12:])) if mapped else None


def _figures(values: list[float], unit: str, *, both: bool) -> dict[str, Value]:
    if unit == "usec":
        typical = values[4] if len(values) >= 6 else values[2]
        return {"size": int(values[0]), "latency": typical * 1e-6}
    average = values[3] * (1.0 if unit == "Gb" else MIB_TO_GBPS)
    return {"size": int(values[0]), "gbps": average / 2 if both else average}


def _accepts(name: str, head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"test_info"' in head and b'"Connection_type"' in head


def _read_json(document: Document) -> Iterator[Event]:
    try:
        found = json.loads(document.text())
    except ValueError as error:
        raise Note(f"cut off or no JSON: {error}") from None
    info, results = found.get("test_info", {}), found.get("results", {})
    test = _TITLE_IN_JSON.match(str(info.get("test")))
    if test is None or "MsgSize" not in results:
        raise Note("no test of bandwidth or latency with a result")
    verb = test[1].lower().removeprefix("rdma_")
    fields: dict[str, Value] = {
        "tool": f"ib_{verb}_{'bw' if test[3] == 'BW' else 'lat'}", "operation": verb,
        "device": info.get("Device"), "link_layer": info.get("Link_type"), "mtu": info.get("Mtu"),
        "gid_index": info.get("GID_index"), "streams": info.get("Number_of_qps"),
        "bidirectional": test[2] is not None, "size": results["MsgSize"], "outbound": verb != "read",
    }  # fmt: skip
    if "MsgRate" in results:
        rate = results["MsgRate"] * results["MsgSize"] * 8e-3
        fields["gbps"] = rate / 2 if test[2] else rate
    elif "t_typical" in results:
        fields["latency"] = results["t_typical"] * 1e-6
    yield link(document.at(f"{fields['tool']} on {info.get('Device')}"), fields)


TEXT = BlockParser(
    name="perftest",
    title="ib_write_bw and its kin: bandwidth and latency between two adapters",
    opens=("BW Test", "Latency Test", "Waiting for client", *_PROGRAMS),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("bench.link",),
    sample=(
        "                    RDMA_Write BW Test\n"
        " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
        " Number of qps   : 1\t\tTransport type : IB\n"
        " Mtu             : 4096[B]\n"
        " Link type       : IB\n"
        "---------------------------------------------------------------------------------------\n"
        " local address: LID 0x83 QPN 0x0049 PSN 0x2a1f4e RKey 0x1fff00 VAddr 0x007f2c5c000000\n"
        " remote address: LID 0x97 QPN 0x0051 PSN 0x91ab22 RKey 0x1fff00 VAddr 0x007f9b1a000000\n"
        "---------------------------------------------------------------------------------------\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536      5000             391.12             390.87 \t\t     0.745525\n"
        "---------------------------------------------------------------------------------------\n"
    ),
    maximum=1200,
)

JSON = FileParser(
    name="perftest-json",
    title="ib_write_bw --out_json: the result as a file",
    accepts=_accepts,
    gate=Gate(starts=(b"{",), holds=(b'"test_info"',)),
    read=_read_json,
    emits=("bench.link",),
    sample=(
        '{\n"test_info": {\n"test": "RDMA_Write_BW_Test",\n"Device": "mlx5_0",\n"Number_of_qps": 1,\n'
        '"Connection_type": "RC",\n"Mtu": 4096,\n"Link_type": "IB"\n},\n"results": {\n"MsgSize": 65536,\n'
        '"n_iterations": 5000,\n"BW_peak": 391.12,\n"BW_average": 390.87,\n"MsgRate": 0.745525\n}\n}\n'
    ),
    alone=True,
)

PARSERS = (TEXT, JSON)
