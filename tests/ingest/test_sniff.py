import io
import pickle
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest.host import is_host, states_host
from diagnose.ingest.sniff import Identity, binary_reason, identity, is_text, zip_kind


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "head", "reason"),
    [
        ("core.12", b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\x00", "binary (ELF core dump)"),
        ("a.so", b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00", "binary (ELF program or library)"),
        ("model.pt", zipped("model/data.pkl", "model/version"), "binary (PyTorch zip)"),
        ("x.npz", zipped("a.npy"), "binary (NumPy zip)"),
        ("dump", pickle.dumps({"version": "2.4"}, protocol=2), "binary (pickle)"),
        ("dump", pickle.dumps({"version": "2.4"}, protocol=5), "binary (pickle)"),
        ("m.safetensors", (99).to_bytes(8, "little") + b'{"a":1}', "binary (safetensors)"),
        ("t", b"\x18\x00\x00\x00\x00\x00\x00\x00abcd\x09brain.Event:2", "binary (TensorBoard events)"),
        ("x", bytes(range(256)) * 4, "binary (mostly control characters)"),
        ("x", b"ab\x00\x00" * 100, "binary (NUL bytes)"),
        ("x", bytes(4096), "NUL bytes only, as in a file that was never flushed"),
    ],
)  # fmt: skip
def test_names_what_is_not_text(name: str, head: bytes, reason: str) -> None:
    assert binary_reason(name, head) == reason


ROOT = b"Root cause: RDMA port mlx5_2 of node-03 went down"
SURE = b"confirmed by evidence (0.95); critical, comms, cause comms.link-down"


@pytest.mark.parametrize(
    "head",
    [
        b'{\n  "schema": "diagnose.report/1",\n  "tool": {', b'{"schema":"diagnose.report/2"}',
        b'\xef\xbb\xbf{ "schema": "diagnose.report/1"', b"%s\n  How sure: %s\n" % (ROOT, SURE),
        b"## %s\n\n**How sure:** %s\n" % (ROOT, SURE),
        "根因: x\n  把握: 证据确认（0.95）; 严重，通信".encode(),
    ],
)  # fmt: skip
def test_a_report_of_the_program_is_no_evidence(head: bytes) -> None:
    assert binary_reason("a", head) == "a report of diagnose"


@pytest.mark.parametrize(
    "head",
    [
        b'{"schema": "other.report/1"}', b'{"log": "\\"schema\\": \\"diagnose.report/1\\""}',
        b"x\n{\n  \"schema\": \"diagnose.report/1\"", b"a\nHow sure: are you\n", ROOT + b"\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_report_is_text(head: bytes) -> None:
    assert is_text("a", head)


@pytest.mark.parametrize(
    "head",
    [
        b"", b"plain\n", "größe\n".encode("latin-1"), b"\x1b[31mred\x1b[0m\r\n" * 9,
        "a line of text\n".encode("utf-16"), "a line of text\n" .encode("utf-16-le"),
        bytes(100) + b"text behind a hole\n" * 9 + bytes(100), b"one stray \x00 in a long text\n" * 1 + b"x" * 400,
    ],
)  # fmt: skip
def test_text_in_every_encoding_is_text(head: bytes) -> None:
    assert is_text("a.log", head)


def test_a_zip_of_logs_is_not_judged_here() -> None:
    assert zip_kind("logs.zip", zipped("logs/rank0.log")) is None
    assert zip_kind("logs.whl", zipped("logs/rank0.log")) is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rank17.log", Identity(rank=17)),
        ("rank_3.out", Identity(rank=3, stream="stdout")),
        ("logs/rank-3.err.gz", Identity(rank=3, stream="stderr")),
        ("1/rank.0/stdout", Identity(rank=0, stream="stdout")),
        ("local_rank_3.log", Identity(local_rank=3)),
        ("localrank3.log", Identity(local_rank=3)),
        (
            "none_i9_c9yol/attempt_1/3/stderr.log",
            Identity(local_rank=3, attempt=1, stream="stderr"),
        ),
        ("slurm-1234_7.out", Identity(rank=7, stream="stdout")),
        ("slurm-1234_0_7.out", Identity(rank=7, stream="stdout")),
        ("slurm-1234-node07-7.out", Identity(rank=7, host="node07", stream="stdout")),
        ("slurm-1234.out", Identity(stream="stdout")),
        ("nccl.gpu-n37.4242.log", Identity(host="gpu-n37")),
        ("nccl_trace_rank_5", Identity(rank=5)),
        ("nccl_trace_rank_node02_5", Identity(rank=5, host="node02")),
        ("comm_lib_trace_rank_5.pkl", Identity(rank=5)),
        ("_dump_12", Identity(rank=12)),
        ("workerlog.3", Identity(local_rank=3)),
        ("worker_3.log", Identity(rank=3)),
        ("worker-2", Identity(host="worker-2")),
        ("node-07.log", Identity(host="node-07")),
        ("dmesg-node-07.log", Identity(host="node-07")),
        ("node-07-after.txt", Identity(host="node-07")),
        ("node-07-ethtool-t1.txt", Identity(host="node-07")),
        ("node-07-20260114-0300.txt", Identity(host="node-07")),
        ("stack-node-07-1234.txt", Identity(host="node-07")),
        ("py-spy-node-07.txt", Identity(host="node-07")),
        ("pyspy_node-07_rank3.txt", Identity(rank=3, host="node-07")),
        ("node-07-nvidia-smi-q.txt", Identity(host="node-07")),
        ("kern-gpu-n37.log", Identity(host="gpu-n37")),
        ("log_node7.txt", Identity(host="node7")),
        ("node-07/train.log", Identity(host="node-07")),
        ("node-07.tar.gz!var/log/messages", Identity(host="node-07")),
        ("node-07_rank3.log", Identity(rank=3, host="node-07")),
        ("10.1.2.3.log", Identity(host="10.1.2.3")),
        ("ip-addr-node-12.txt", Identity(host="node-12")),
        ("ip-addr-ip-10-0-0-7.txt", Identity(host="ip-10-0-0-7")),
        ("node-51-rank0.log", Identity(rank=0, host="node-51")),
        ("rank12-node-03.log", Identity(rank=12, host="node-03")),
        ("node-51-local-rank-2.log", Identity(local_rank=2, host="node-51")),
        ("dmesg_node-03.txt", Identity(host="node-03")),
        ("node-07.rank3.err", Identity(rank=3, host="node-07", stream="stderr")),
        ("train-gpu-n37-rank12.out", Identity(rank=12, host="gpu-n37", stream="stdout")),
        ("node-51-gpu3.log", Identity(host="node-51")),
        ("slurm-1234-node-07-rank3.out", Identity(rank=3, host="node-07", stream="stdout")),
        ("slurm-1234-ip-10-0-0-7.out", Identity(host="ip-10-0-0-7", stream="stdout")),
        ("node-07-2025-07-04.log", Identity(host="node-07")),
        ("20250704-node-07.log", Identity(host="node-07")),
        ("all-reduce-node-02.txt", Identity(host="node-02")),
        ("worker-rank3.log", Identity(rank=3)),
        ("agent-node-02.log", Identity(host="node-02")),
        ("node-02-agent.err", Identity(host="node-02", stream="stderr")),
        ("driver-node-02.txt", Identity(host="node-02")),
        ("node-12-3.log", Identity(host="node-12-3")),
        ("llama-worker-3.log", Identity(host="llama-worker-3")),
        ("node-gpu01.log", Identity(host="node-gpu01")),
        ("h100-node-3.log", Identity(host="h100-node-3")),
    ],
)
def test_reads_who_wrote_a_file(name: str, expected: Identity) -> None:
    assert identity(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "log.txt", "train.log", "main_log-2.txt", "run2-resumed.log", "job-12345.log", "12345.log",
        "zero_pp_rank_0_mp_rank_00_model_states.pt", "node_rank_0.log", "step-500.json", "gpu3.log",
        "nvidia-smi-q.txt", "nccl.init.77.log", "frank3.log", "exp-12.log", "2025-07-04.log", "<stdin>",
        "nccl_allreduce.log", "rank3d.log", "", "///", "v100.log",
    ],
)  # fmt: skip
def test_an_unclear_name_says_nothing(name: str) -> None:
    found = identity(name)
    assert (found.rank, found.local_rank, found.host, found.attempt) == (None, None, None, 0)


@pytest.mark.parametrize(
    "word", ["node-07", "gpu-n37", "worker-3", "dgx-a100-03", "ip-10-0-0-7", "nid001234"]
)
def test_clear_host_names(word: str) -> None:
    assert is_host(word)
    assert states_host(word)


@pytest.mark.parametrize(
    "word",
    ["log", "train", "stderr", "main", "mlx5_0", "eth0", "a.py", "step-5", "utf-8", "gpu0", "node"],
)
def test_words_that_are_no_hosts(word: str) -> None:
    assert not is_host(word)
    assert not states_host(word)


def test_a_long_name_takes_no_time() -> None:
    assert not is_host("worker-1-" + "a1234-" * 40 + "?")
    assert identity("a1234-" * 5000 + "node-") == Identity()


@given(st.text(max_size=60))
def test_identity_never_raises(name: str) -> None:
    identity(name)


@given(st.binary(max_size=200))
def test_sniffing_never_raises(head: bytes) -> None:
    binary_reason("a", head)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("w-01/dmesg.txt", "w-01"),
        ("bundle/th02/nvsmi.csv", "th02"),
        ("th02/nvidia-smi-q.txt", "th02"),
        ("th02/node-07-dmesg.txt", "node-07"),
        ("run7/dmesg.txt", None),
        ("step-100/env.txt", None),
        ("th02/notes.txt", None),
        ("day/dmesg.txt", None),
        ("w-01/rank3.log", None),
        ("attempt_1/dmesg.txt", None),
    ],
)
def test_a_folder_names_the_host_of_what_a_tool_printed(name: str, host: str | None) -> None:
    assert identity(name).host == host
