from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, reading


def placed(name="cuda.error", *, rank=0, gpu=None, restart=()):
    own = init(0, 2, file="rank0.log", host="node-07", pid=11, rank=0, gpu="0000:5d:00.0")
    failed = event(name, file="rank0.log", line=99, rank=rank, host="node-07", gpu=gpu)
    build(reading(own, failed, *restart))
    return failed.gpu


def test_an_error_of_cuda_stands_for_the_gpu_of_its_rank():
    assert placed() == "0000:5d:00.0"
    assert placed("nccl.cuda_failure", gpu="3") == "0000:5d:00.0", "a number that a mask may shift"


def test_other_errors_and_ranks_without_a_place_name_no_gpu():
    assert placed("python.exception") is None
    assert placed(rank=1) is None


def test_a_place_from_another_start_of_the_job_does_not_count():
    again = event("torchrun.restart", Nature.EFFECT, "rank0.log", line=50)
    assert placed(restart=[again]) is None
