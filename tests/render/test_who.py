import pytest

from diagnose.model.report import Culprit
from diagnose.render.who import culprits


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("GPU 3 is slow with all others", ""),
        ("gpu3 of node-01 is lost", ""),
        ("GPU 31 is slow", "GPU gpu3"),
        ("a GPU is slow", "GPU gpu3"),
    ],
)
def test_a_gpu_that_the_title_names_is_not_named_again(title, said):
    assert culprits(Culprit(gpus=["gpu3"]), "en", named_in=title) == said


def test_a_host_and_its_adapter_are_named_in_any_order():
    culprit = Culprit(nics=["node-03/mlx5_2"])
    assert culprits(culprit, "en", named_in="RDMA port mlx5_2 of node-03 went down") == ""
    assert culprits(culprit, "en", named_in="A port of node-03 went down") == "NIC node-03/mlx5_2"
