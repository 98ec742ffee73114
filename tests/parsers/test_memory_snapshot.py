import pickle

import pytest

from diagnose import api
from diagnose.errors import Unreadable
from diagnose.ingest.sniff import identity
from diagnose.parsers import memory_snapshot as dialect
from diagnose.parsers.document import WholeDocument

GIB = 1 << 30
LIB = "/opt/venv/lib/python3.11/site-packages/torch/"


def block(size, state="inactive", *frames):
    listed = [{"filename": name, "line": line, "name": "f"} for name, line in frames]
    return {"address": 1, "size": size, "requested_size": size, "state": state, "frames": listed}


def segment(*blocks, device=0):
    live = sum(one["size"] for one in blocks if one["state"] == "active_allocated")
    return {
        "device": device, "address": 7 << 40, "total_size": sum(one["size"] for one in blocks),
        "allocated_size": live, "active_size": live, "stream": 0, "segment_type": "large",
        "segment_pool_id": (0, 0), "is_expandable": False, "blocks": [*blocks],
    }  # fmt: skip


def snapshot(*segments, traces=((),), **more):
    return {"segments": [*segments], "device_traces": [[*one] for one in traces],
            "allocator_settings": {"expandable_segments": False}, **more}  # fmt: skip


OOM = {"action": "oom", "addr": 0, "size": 3 * GIB, "device_free": GIB // 2, "stream": 0, "frames": []}  # fmt: skip
HOLES = snapshot(
    segment(block(4 * GIB, "active_allocated", (LIB + "nn/functional.py", 9), ("/app/model.py", 88))),
    segment(block(2 * GIB), block(GIB, "active_allocated", ("/app/model.py", 88), ("/app/t.py", 2))),
    segment(block(2 * GIB), block(GIB // 2, "active_pending_free")),
    traces=[[{"action": "alloc", "size": 4 * GIB, "frames": []}, OOM]],
)  # fmt: skip


def read(data, name="step.pickle", protocol=4):
    packed = data if isinstance(data, bytes) else pickle.dumps(data, protocol)
    assert dialect.accepts(name, packed[: 64 << 10])
    return list(dialect.read(WholeDocument(name, identity(name), packed)))


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_who_holds_memory_and_in_which_pieces_the_rest_lies(protocol):
    (event,) = read(HOLES, protocol=protocol)
    wanted = {
        "reserved": 9 * GIB + GIB // 2, "allocated": 5 * GIB, "free": 4 * GIB, "pending": GIB // 2,
        "largest_free": 2 * GIB, "ooms": 1, "requested": 3 * GIB, "device_free": GIB // 2,
        "holder": "/app/model.py:88 f", "holder_size": 5 * GIB, "expandable": False, "gpu_index": 0,
    }  # fmt: skip
    assert {name: event.fields[name] for name in wanted} == wanted
    assert event.fields["free_share"] == pytest.approx(4 / 9.5, abs=1e-4)


def test_each_device_is_an_event():
    both = snapshot(segment(block(GIB)), segment(block(GIB), device=3))
    assert [one.fields["gpu_index"] for one in read(both)] == [0, 3]


def test_a_snapshot_without_a_failure():
    (event,) = read(snapshot(segment(block(GIB))))
    assert (event.fields["ooms"], event.fields["requested"]) == (0, None)
    assert (event.fields["holder"], event.fields["holder_size"]) == (None, 0)


def test_a_damaged_one_is_skipped_with_a_reason():
    packed = pickle.dumps(HOLES)
    with pytest.raises(Unreadable, match="cut off"):
        read(packed[: len(packed) // 2])


class Runs:
    def __reduce__(self):
        return print, ("no",)


def test_one_that_would_run_code_is_not_opened(capsys):
    with pytest.raises(Unreadable, match="run code"):
        read(snapshot(segment(block(GIB)), extra=Runs()))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "data", [{"segments": [{"text": "hello"}]}, {"entries": []}, [1, 2], {"total_size": 3}]
)
def test_other_pickles_are_not_taken(data):
    assert not dialect.accepts("x.pickle", pickle.dumps(data))


def test_a_snapshot_beside_the_text_proves_fragmentation(tmp_path):
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of"
        " 79.25 GiB of which 1.37 GiB is free. Including non-PyTorch memory, this process has 77.87 GiB memory in"
        " use. Of the allocated memory 64.18 GiB is allocated by PyTorch, and 11.46 GiB is reserved by PyTorch but"
        " unallocated."
    )  # fmt: skip
    (tmp_path / "a.log").write_text(text + "\n")
    alone = api.run([tmp_path]).findings[0].confidence
    (tmp_path / "oom.pickle").write_bytes(pickle.dumps(HOLES))
    assert api.run([tmp_path]).findings[0].confidence > alone
