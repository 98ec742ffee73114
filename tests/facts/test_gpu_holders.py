import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, reading

GIB = 1 << 30


def row(*processes, index=2, gpu="0000:3b:00.0", host="node-07"):
    fields = {
        "index": index,
        "processes": [f"{pid} {name}" for pid, name, _ in processes],
        "process_sizes": [size for *_, size in processes],
    }
    return event("nvidia_smi.gpu", Nature.MEASUREMENT, "smi.txt", host=host, gpu=gpu, fields=fields)


def failed(**more):
    return event("cuda.oom_other", file="rank0.log", line=9, rank=0, host="node-07", **more)


def foreign(found, *rows):
    own = init(0, 1, file="rank0.log", host="node-07", pid=11, rank=0)
    build(reading(own, found, *rows))
    return found.fields.get("foreign"), found.fields.get("foreign_used")


OTHER, OWN = (900, "/home/user-b/python", 70 * GIB), (11, "python", GIB)


@pytest.mark.parametrize(
    "where", [{"gpu": "0000:3b:00.0"}, {"gpu": "2"}, {"fields": {"gpu_index": 2}}]
)
def test_a_process_that_is_not_of_the_job(where):
    assert foreign(failed(**where), row(OTHER, OWN)) == (["900 /home/user-b/python"], 70 * GIB)


def test_a_process_of_the_job_is_not_foreign():
    assert foreign(failed(gpu="2"), row(OWN)) == (None, None)


def test_a_process_on_another_gpu_does_not_count():
    elsewhere = row(OTHER, index=5, gpu="0000:ab:00.0")
    assert foreign(failed(gpu="2"), row(OWN), elsewhere) == (None, None)


def test_a_table_that_numbers_processes_otherwise_says_nothing():
    assert foreign(failed(gpu="2"), row(OTHER, (77_011, "python", GIB))) == (None, None)


def test_memory_that_the_table_does_not_tell():
    unknown = (900, "python", None)
    assert foreign(failed(gpu="2"), row(unknown, OWN)) == (["900 python"], None)


def test_a_table_of_another_host_says_nothing():
    assert foreign(failed(gpu="2"), row(OTHER, OWN, host="node-08")) == (None, None)


def test_without_any_table_the_text_stays_as_it_is():
    assert foreign(failed(gpu="2")) == (None, None)
