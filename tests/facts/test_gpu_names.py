"""Names of GPUs in a baseline against those that the logs show."""

import pytest

from diagnose.facts.baseline.gpu_names import same_model

H100 = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("H100", H100),
        ("h100", H100),
        ("NVIDIA H100", H100),
        ("H100 SXM", H100),
        ("H100 SXM5", H100),
        ("H100 PCIe", "NVIDIA H100 PCIe"),
        (H100, H100),
        ("A100", "NVIDIA A100-SXM4-80GB"),
        ("A100 SXM", "NVIDIA A100-SXM4-80GB"),
        ("A100-80GB", "NVIDIA A100-SXM4-80GB"),
        ("A100 80 GB", "NVIDIA A100-SXM4-80GB"),
        ("V100", "Tesla V100-SXM2-32GB"),
        ("RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("RTX4090", "NVIDIA GeForce RTX 4090"),
        ("MI300X", "AMD Instinct MI300X OAM"),
        ("L40S", "NVIDIA L40S"),
        ("H100", "NVIDIA H100 NVL"),
        (None, H100),
        ("H100", None),
    ],
)
def test_a_short_name_is_that_gpu(wanted, found):
    assert same_model(wanted, found)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("A10", "NVIDIA A100-SXM4-80GB"),
        ("A100", "NVIDIA A10"),
        ("H20", "NVIDIA H200"),
        ("H200", "NVIDIA H20"),
        ("L4", "NVIDIA L40S"),
        ("L40", "NVIDIA L40S"),
        ("H200", "NVIDIA GH200 480GB"),
        ("B200", "NVIDIA GB200"),
        ("MI300", "AMD Instinct MI300X"),
        ("H100 PCIe", "NVIDIA H100 NVL"),
        ("A100 PCIe", "NVIDIA A100-SXM4-80GB"),
        ("A100 40GB", "NVIDIA A100-SXM4-80GB"),
        ("H100", "NVIDIA A100 80GB PCIe"),
    ],
)
def test_a_part_of_a_name_is_another_gpu(wanted, found):
    assert not same_model(wanted, found)
