import pytest
from dialects import measured, records

from diagnose.parsers import memory_prints as dialect

MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    "text, values",
    [
        ("torch.cuda.memory_allocated(0) 318986240", {"memory_allocated": 318986240}),
        ("torch.cuda.max_memory_allocated: 3.5 GB", {"memory_peak": 3.5 * GIB}),
        ("torch.cuda.memory_reserved() = 4,096 MiB", {"memory_reserved": 4 * GIB}),
        ("GPU memory: allocated=3.5 GB, reserved = 4.5 GB", {"memory_allocated": 3.5 * GIB, "memory_reserved": 4.5 * GIB}),
        ("iteration 40: RSS: 12,480 MB", {"host_memory": 12480 * MIB}),
        ("start Current memory usage: 1200.5 MB", {"host_memory": 1200.5 * MIB}),
        ("GPU memory usage: 5,000 MiB", {"memory_used": 5000 * MIB}),
        ("nvidia-smi GPU-0 memory (MB) 2804", {"memory_used": 2804 * MIB}),
        ("peak GPU memory: 10.5 GiB", {"memory_peak": 10.5 * GIB}),
        ("CPU memory used: 12 GB", {"host_memory": 12 * GIB}),
    ],
)  # fmt: skip
def test_each_way_to_print_memory(text, values):
    (record,) = measured(dialect, text + "\r\n")
    assert (record.step, record.values) == (None, pytest.approx(values))


def test_of_several_devices_the_first_is_read():
    text = "torch.cuda.memory_allocated({}) {}\n"
    found = measured(dialect, text.format(0, 5000000) + text.format(1, 9) + text.format(0, 6000000))
    assert [record.values["memory_allocated"] for record in found] == [5000000, 6000000]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GPU memory total: 80 GB",
        "Available KV cache memory: 12.5 GiB",
        "model size: 3.1 GB, memory: fine",
        "memory_allocated before: 3 files of 2.1 GB",
        "torch.cuda.memory_allocated() / 1024**2",
        "step 3 loss 2.1 GPU memory: 5 GB",
        "mem bandwidth: 300 GB/s",
        "write to memory: /dev/shm/a",
        "swap memory used: 2 GB",
        "GPU memory: 12",
    ],
)
def test_what_is_no_memory_in_use_gives_nothing(text):
    assert records(dialect, text + "\n") == []
