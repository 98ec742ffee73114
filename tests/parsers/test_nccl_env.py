import pytest
from communication import check_table, names, one, read

from diagnose.parsers import nccl_env as module

WHO = "node-07:4121:4388 [3] NCCL INFO "


def settings(text):
    return [(event.fields["name"], event.fields["value"]) for event in read(module, text)]


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (WHO + "NCCL_IB_TIMEOUT set by environment to 22.", [("NCCL_IB_TIMEOUT", "22")]),
        (WHO + "NCCL_SOCKET_IFNAME set by environment to eth0", [("NCCL_SOCKET_IFNAME", "eth0")]),
        (WHO + "NCCL_IB_HCA set to mlx5_0,mlx5_1", [("NCCL_IB_HCA", "mlx5_0,mlx5_1")]),
        (WHO + "NET/Plugin: Plugin name set by env to libnccl-net.so", [("NCCL_NET_PLUGIN", "libnccl-net.so")]),
        ("export NCCL_SOCK_IFNAME=eth0", [("NCCL_SOCK_IFNAME", "eth0")]),
        ("+ NCCL_DEBUG=INFO", [("NCCL_DEBUG", "INFO")]),
        ("NCCL_DEBUG=INFO NCCL_P2P_DISABLE=1 torchrun train.py", [("NCCL_DEBUG", "INFO"), ("NCCL_P2P_DISABLE", "1")]),
        ("mpirun -np 16 -x NCCL_IB_HCA=mlx5_0,mlx5_1 -x UCX_NET_DEVICES=mlx5_0:1 ./all_reduce", [("NCCL_IB_HCA", "mlx5_0,mlx5_1"), ("UCX_NET_DEVICES", "mlx5_0:1")]),
        ("srun --export=ALL,NCCL_DEBUG=INFO,NCCL_IB_HCA=mlx5_0,mlx5_1 train.sh", [("NCCL_DEBUG", "INFO"), ("NCCL_IB_HCA", "mlx5_0,mlx5_1")]),
        ("docker run --env=NCCL_DEBUG=WARN image", [("NCCL_DEBUG", "WARN")]),
        ('declare -x NCCL_SOCKET_IFNAME="eth0"', [("NCCL_SOCKET_IFNAME", "eth0")]),
        ("environ({'RANK': '0', 'NCCL_DEBUG': 'INFO', 'API_TOKEN': 'x'})", [("NCCL_DEBUG", "INFO")]),
        ('os.environ["NCCL_IB_DISABLE"] = "1"', [("NCCL_IB_DISABLE", "1")]),
        ("      NCCL_IB_GID_INDEX:   3", [("NCCL_IB_GID_INDEX", "3")]),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING=1", [("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")]),
        ("NCCL_SOCKET_IFNAME=", [("NCCL_SOCKET_IFNAME", "")]),
        ('export NCCL_DEBUG_SUBSYS="INIT, NET"', [("NCCL_DEBUG_SUBSYS", "INIT, NET")]),
        ("export NCCL_DEBUG=INFO  # NCCL_IB_TIMEOUT=22", [("NCCL_DEBUG", "INFO")]),
        ("export NCCL_IB_HCA=mlx5_0,mlx5_1; export NCCL_DEBUG=INFO", [("NCCL_IB_HCA", "mlx5_0,mlx5_1"), ("NCCL_DEBUG", "INFO")]),
        ("setenv NCCL_IB_HCA mlx5_0", [("NCCL_IB_HCA", "mlx5_0")]),
        ("mpiexec -genv NCCL_DEBUG INFO ./train", [("NCCL_DEBUG", "INFO")]),
        ("ENV NCCL_DEBUG INFO", [("NCCL_DEBUG", "INFO")]),
        ("ENV NCCL_DEBUG=INFO \\", [("NCCL_DEBUG", "INFO")]),
        ("    NCCL_IB_TIMEOUT=22 \\", [("NCCL_IB_TIMEOUT", "22")]),
        ('docker run -e "NCCL_DEBUG=INFO" image', [("NCCL_DEBUG", "INFO")]),
        ('Environment="NCCL_DEBUG=INFO"', [("NCCL_DEBUG", "INFO")]),
        ("#SBATCH --export=ALL,NCCL_SOCK_IFNAME=ib0", [("NCCL_SOCK_IFNAME", "ib0")]),
        ("      - NCCL_SOCK_IFNAME=eth0", [("NCCL_SOCK_IFNAME", "eth0")]),
        ('{"name": "NCCL_IB_HCA", "value": "mlx5_0,mlx5_1"}', [("NCCL_IB_HCA", "mlx5_0,mlx5_1")]),
        ("- {name: NCCL_IB_GID_INDEX, value: '3'}", [("NCCL_IB_GID_INDEX", "3")]),
        ('os.environ.setdefault("NCCL_DEBUG", "INFO")', [("NCCL_DEBUG", "INFO")]),
        ("runtime_env={'env_vars': {'NCCL_SOCK_IFNAME': 'eth0'}}", [("NCCL_SOCK_IFNAME", "eth0")]),
        ("MASTER_ADDR=10.0.0.7", [("MASTER_ADDR", "10.0.0.7")]),
    ],
)  # fmt: skip
def test_settings(text, found):
    assert settings(text) == found
    assert {event.fact for event in read(module, text)} == {"env"}
    assert settings(text + "\r\n") == found


@pytest.mark.parametrize(
    "text",
    [
        "Set NCCL_IGNORE_NET_MISMATCH=1 to continue.",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        WHO + "You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.",
        "For more detail try export NCCL_DEBUG=INFO before the run",
        "python train.py --note NCCL_DEBUG=INFO",
        "HF_TOKEN=abc",
        "NCCL_DEBUG: level of detail",
        "- NCCL_P2P_DISABLE=1 helped on one host",
        "set NCCL_DEBUG=INFO to see more",
        "# export NCCL_DEBUG=INFO",
        "- name: NCCL_DEBUG",
        WHO + "set by environment to 22.",
    ],
)
def test_prose_sets_nothing(text):
    assert names(module, text) == []


def test_refused_value():
    event = one(module, WHO + "Invalid value 22s for NCCL_IB_TIMEOUT, using default 20.")
    assert event.name == "nccl.env_invalid"
    assert (event.fields["name"], event.fields["value"]) == ("NCCL_IB_TIMEOUT", "22s")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (WHO + 'NCCL_SOCKET_IFNAME set by environment to "eth0"', '"eth0"'),
        ("environ({'NCCL_SOCKET_IFNAME': '\"eth0\"'})", '"eth0"'),
        ("- name: NCCL_SOCKET_IFNAME\n  value: '\"eth0\"'", '"eth0"'),
        ('- name: NCCL_SOCKET_IFNAME\n  value: "eth0"', "eth0"),
        ('export NCCL_SOCKET_IFNAME="eth0"', "eth0"),
    ],
)
def test_only_quotes_that_the_program_sees_are_kept(text, value):
    assert settings(text) == [("NCCL_SOCKET_IFNAME", value)]


def test_a_manifest_of_containers():
    text = """\
        env:
        - name: NCCL_SOCK_IFNAME
          value: "eth0"
        - name: API_TOKEN
          value: secret
        - name: NCCL_DEBUG
          valueFrom: {configMapKeyRef: {name: nccl, key: debug}}
        - name: NCCL_IB_HCA
          value: mlx5_0,mlx5_1
"""
    found = read(module, text)
    assert [(one.fields["name"], one.fields["value"], one.line, one.end_line) for one in found] == [
        ("NCCL_SOCK_IFNAME", "eth0", 2, 3),
        ("NCCL_IB_HCA", "mlx5_0,mlx5_1", 8, 9),
    ]


def test_a_thread_count_that_is_refused():
    event = one(module, WHO + "Invalid NCCL_NTHREADS 1024 (maximum 512).")
    assert (event.fields["name"], event.fields["value"]) == ("NCCL_NTHREADS", "1024")
