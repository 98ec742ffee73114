import gzip
import io
import json
import pickle
import struct
import tarfile

import pytest
from dumps import Group, as_json, call, dump, frames, idle, p2p, pickled, waiting
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose import api
from diagnose.errors import Unreadable
from diagnose.facts.collectives import derive
from diagnose.ingest.sniff import identity
from diagnose.parsers import flight_recorder as dialect
from diagnose.parsers.convert import numbers_in, spans
from diagnose.parsers.document import WholeDocument

RANKS = [0, 1, 2, 3]
NAME = "nccl_trace_rank_2"


def read(data, name=NAME):
    data = pickled(data) if isinstance(data, dict | list) else data
    assert dialect.accepts(name, data[: 64 << 10])
    return list(dialect.read(WholeDocument(name, identity(name), data)))


def groups(data, name=NAME):
    return {event.communicator: event for event in read(data, name) if event.name == "fr.group"}


def refusal(data, name=NAME):
    with pytest.raises(Unreadable) as caught:
        read(data, name)
    return str(caught.value)


def test_what_a_group_says():
    ranks = list(range(1024))
    group = Group("5", ranks, 9, 7, "mesh_dp", [
        call(7, state="completed"), call(8, "_all_gather_base", size=512, dtype="BFloat16",
        frames=frames("all_gather /opt/venv/lib/site-packages/torch/distributed/distributed_c10d.py:88",
                      "step /srv/train.py:41")), call(9),
    ])  # fmt: skip
    event = groups(dump(group))["5"]
    wanted = {
        "group": "mesh_dp", "members": "0-1023", "last_enqueued": 9, "last_completed": 7,
        "last_started": None, "pending": 2, "seq": 8, "op": "_ALLGATHER_BASE", "numel_in": 512,
        "dtype": "BFloat16", "state": "scheduled", "timeout": 600, "created": 1767607200.008,
        "site": "step /srv/train.py:41", "p2p": False,
    }  # fmt: skip
    assert {name: event.fields[name] for name in wanted} == wanted
    assert (event.rank, event.line, event.time) == (2, 1, None)
    assert "2 pending from _ALLGATHER_BASE #8" in event.text


def test_what_a_dump_says():
    event = next(one for one in read(dump(waiting(RANKS, 41))) if one.name == "fr.dump")
    wanted = {
        "version": "2.10",
        "entries": 1,
        "pending": 1,
        "wrapped": True,
        "last_op": "ALLREDUCE",
        "world_size": 4,
    }
    assert {name: event.fields[name] for name in wanted} == wanted


@pytest.mark.parametrize("version", ["2.1", "2.4", "2.5", "2.9", "2.10", "2.11"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_all_versions_and_protocols_mean_the_same_as_json(version, protocol):
    value = dump(waiting(RANKS, 41), version=version)
    of_json = dump(waiting(RANKS, 41), version=version, text=True)
    assert read(pickled(value, protocol)) == read(as_json(of_json))


@pytest.mark.parametrize("write", [pickled, as_json])
def test_the_first_version_is_a_list_of_entries(write):
    entries = [
        {"pg_id": 0, "seq_id": seq, "profiling_name": "nccl:all_reduce", "state": state,
         "time_created_us": 1767607200_000000, "input_sizes": [[4]]}
        for seq, state in ((1, "completed"), (2, "scheduled"))
    ]  # fmt: skip
    event = groups(write(entries))["0"]
    assert (event["last_enqueued"], event["last_completed"], event["seq"]) == (2, 1, 2)
    assert event["created"] == 1767607200


def test_without_counters_they_come_from_the_entries():
    value = dump(Group("0", RANKS, 0, 0, calls=[call(3, state="completed"), call(4), call(5)]))
    del value["pg_status"]
    event = groups(value)["0"]
    assert (event["last_enqueued"], event["last_completed"], event["pending"]) == (5, 3, 2)


@pytest.mark.parametrize("record, counted", [(0, 0), (700, None)])
def test_a_wrapped_ring_says_nothing_of_a_group_without_entries(record, counted):
    value = dump(
        Group("0", RANKS, 0, 0, calls=[call(3, record=record, state="completed")]),
        Group("1", RANKS, 0, 0, "mesh_dp"),
    )
    del value["pg_status"]
    assert groups(value)["1"]["last_enqueued"] == counted


def test_groups_without_entries_are_found_by_the_order_of_their_numbers():
    value = dump(
        Group("0", RANKS, 50, 50),
        Group("12", RANKS, 9, 8, "mesh_tp", [call(9)]),
        Group("112", [2], 7, 7, "mesh_ep"),
        ids=[0, 5, 17],
    )
    value["pg_config"] = dict(sorted(value["pg_config"].items()))  # as texts: 0, 112, 12
    found = groups(value)
    assert {name: event["last_enqueued"] for name, event in found.items()} == {
        "0": 50,
        "12": 9,
        "112": 7,
    }


def test_an_order_that_the_entries_contradict_is_not_used():
    value = dump(Group("3", RANKS, 9, 8, calls=[call(9)]), Group("1", RANKS, 7, 7), ids=[0, 1])
    assert groups(value)["1"]["last_enqueued"] == 7  # the only group and the only number left
    value = dump(*(Group(name, RANKS, 9, 8, calls=calls) for name, calls in
                   (("3", [call(9)]), ("1", []), ("2", []))), ids=[0, 1, 2])  # fmt: skip
    assert groups(value)["1"]["last_enqueued"] is None


def test_a_name_that_only_the_entries_have_takes_the_settings_of_its_description():
    value = dump(Group("0", RANKS, 5, 4, calls=[call(5)]), Group("7", [2], 1, 1, "mesh_ep"))
    value["pg_config"][""] = value["pg_config"].pop("0") | {"name": ""}
    found = groups(value)
    assert found["0"]["members"] == "0-3"
    assert "" not in found


def test_gloo_leaves_its_entries_scheduled():
    entries = [call(1, retired=True), call(2)]
    for entry in entries:
        entry["profiling_name"] = "gloo:all_reduce"
    value = dump(Group("0", RANKS, 2, -1, calls=entries))
    assert groups(value)["0"]["seq"] == 2


def test_what_the_counters_say_ended_is_not_pending():
    assert groups(dump(Group("0", RANKS, 6, 6, calls=[call(6)])))["0"]["pending"] == 0


def test_sends_and_receives_have_numbers_of_their_own():
    value = dump(Group("0", RANKS, 31, 30, "pp", [p2p(31, "recv 1<-0", record=9)]))
    event = groups(value)["0"]
    assert (event["p2p"], event["op"], event["peer"], event["seq"]) == (True, "RECV", 0, 31)


def test_few_calls_of_many_are_kept():
    calls = [call(n, state="completed" if n < 1000 else "scheduled") for n in range(2000)]
    event = groups(dump(Group("0", RANKS, 1999, 999, calls=calls)))["0"]
    assert len(event["calls"]) <= 12
    assert event["pending"] == 1000


@pytest.mark.parametrize(
    "name, rank",
    [
        ("nccl_trace_rank_5", 5),
        ("logs/_dump_12", 12),
        ("comm_lib_trace_rank_3", 3),
        ("nccl_trace_rank_node02_5", 5),
        ("nccl_trace_rank_7.pkl", 7),
        ("nccl_trace_rank_7.json.gz", 7),
        ("all.tar!tmp/nccl_trace_rank_7", 7),
        ("ring.node-3.7", 7),
        ("renamed", 2),
    ],
)
def test_the_rank_is_in_the_name_or_in_all_groups(name, rank):
    value = dump(
        Group("0", list(range(16)), 5, 4, calls=[call(5)]), Group("9", [2], 1, 1, "mesh_ep")
    )
    if name == "ring.node-3.7":
        value["pg_config"]["9"]["ranks"] = "[7]"
    assert {event.rank for event in read(value, name)} == {rank}


def test_ranks_are_read_as_json_alone():
    value = dump(waiting(RANKS, 5))
    value["pg_config"]["0"]["ranks"] = "__import__('os').system('true')"
    assert groups(value)["0"]["members"] == ""


GLOBAL = b"\x80\x02}(X\x09\x00\x00\x00pg_configcos\nsystem\nu."


class Evil:
    def __reduce__(self):
        return print, ("ran",)


def hostile(value):
    return pickled({"version": "2.10", "pg_config": {}, "entries": [value]})


@pytest.mark.parametrize(
    "data, says",
    [
        (GLOBAL, "GLOBAL, which can run code"),
        (hostile(Evil()), "can run code"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_configX\x01\x00\x00\x00aQu.", "BINPERSID"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_config)Ru.", "REDUCE"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_config\x82\x01u.", "EXT1"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_config" + b"(" * 100_000, "deep"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_config\x8a\xff" + b"\x7f" * 255 + b"u.", "64 bits"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_config\x8b" + struct.pack("<I", 1 << 31) + b"u.", "not need"),
        (b"\x80\x02}X\x09\x00\x00\x00pg_configNs)" + b"\x85" * 100_000 + b"Ns.", "keys"),
        (pickled(dump(waiting(RANKS, 5)))[:-40], "cut off"),
        (b"\x80\x02}X\x09\x00\x00\x00pg_config", "cut off"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_confige.", "cut off before its end or damaged"),
        (as_json(dump(waiting(RANKS, 5)))[:-40], "cut off"),
        (b'{"entries": [{"profiling_name": 1, "x": ' + b"[" * 200_000, "nested too deep"),
        (b'{"version": "2.10", "pg_config": {}, "x": ' + b"9" * 9000 + b"}", "damaged"),
        (b"", "ended while it wrote"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_not_opened(data, says):
    assert says in refusal(data)


def test_a_memo_of_four_billion_places_costs_nothing():
    put = b"r\xff\xff\xff\xff"
    assert read(b"\x80\x02}" + put + b"(X\x09\x00\x00\x00pg_config}u.") != []


def test_lists_that_hold_each_other_many_times_over_are_no_trouble():
    nested: list = []
    for _ in range(20):
        nested = [nested] * 8
    value = dump(waiting(RANKS, 5))
    value["entries"][0] |= {"input_sizes": nested, "frames": nested, "process_group": nested}
    assert read(value) != []


def test_a_loop_of_references_is_no_trouble():
    loop: list = []
    loop.append(loop)
    value = dump(waiting(RANKS, 5))
    value["entries"][0]["input_sizes"] = loop
    assert groups(value)["0"]["numel_in"] is None


@pytest.mark.parametrize(
    "entry",
    [{}, {"profiling_name": None}, {"profiling_name": "nccl:all_reduce", "collective_seq_id": True},
     {"profiling_name": "nccl:all_reduce", "collective_seq_id": 1, "input_sizes": [["x"]], "frames": [1], "process_group": []},
     7, None, [1]],
)  # fmt: skip
def test_entries_that_make_no_sense_are_left_out_or_read_as_far_as_they_go(entry):
    assert read(dump(idle(RANKS, 5)) | {"entries": [entry]}) != []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"version": "2.10", "entries": [{"record_', "cut off before its end or damaged"),
        (b'{"version": "2.10", "entries": "x", "pg_config": 5}', "no entry can be read as a call"),
        (
            b'{"version": 2, "entries": [{"record_id": "a", "state": 7}], "pg_config": {"0": {"ranks": "x"}}}',
            "no entry can be read as a call",
        ),
        (b"\x80\x02}q\x00(X\x07\x00\x00\x00versionq\x01cposix\nsystem\nu.", "can run code"),
    ],
)
def test_a_damaged_dump_is_told_by_its_name(data, reason):
    assert reason in refusal(data)


@pytest.mark.parametrize(
    "name, head",
    [
        ("data.pkl", pickled({"weights": [1, 2]})),
        ("data.pkl", pickled([1, 2, 3])),
        ("job.log", b"2026-01-05 10:00:00 step 5 loss 1.5\n"),
        ("a.json", b'{"version": "1.2", "entries": [{"time": 5}]}'),
        ("m.jsonl", b'{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 2.0}\n'),
        ("empty.log", b""),
    ],
)
def test_what_is_no_dump(name, head):
    assert not dialect.accepts(name, head)


def skipped(report):
    return {one["file"]: one["reason"] for one in report.inputs.skipped}


def test_beside_logs_in_archives_and_compressed(tmp_path):
    value = dump(waiting(RANKS, 41))
    (tmp_path / "rank0.log").write_text("2026-01-05 10:00:00 step 5 loss 1.5\n")
    (tmp_path / "_dump_0").write_bytes(pickled(value))
    (tmp_path / "nccl_trace_rank_1.gz").write_bytes(gzip.compress(pickled(value)))
    with tarfile.open(tmp_path / "more.tar.gz", "w:gz") as archive:
        for name, data in (("nccl_trace_rank_2", pickled(dump(idle(RANKS, 40)))),
                           ("comm_lib_trace_rank_3.json", as_json(value))):  # fmt: skip
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    report = api.run([tmp_path])
    assert report.inputs.skipped == []
    assert report.findings[0].culprit.ranks == [2]


def test_what_cannot_be_used_is_in_the_report(tmp_path):
    (tmp_path / "rank0.log").write_text("2026-01-05 10:00:00 step 5 loss 1.5\n")
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"")
    (tmp_path / "nccl_trace_rank_1").write_bytes(GLOBAL)
    (tmp_path / "nccl_trace_rank_2").write_bytes(pickled(dump(waiting(RANKS, 5)))[:-9])
    (tmp_path / "other.pkl").write_bytes(pickle.dumps({"weights": [1]}))
    found = skipped(api.run([tmp_path]))
    assert "empty flight-recorder dump" in found["nccl_trace_rank_0"]
    assert "can run code" in found["nccl_trace_rank_1"]
    assert "cut off" in found["nccl_trace_rank_2"]
    assert found["other.pkl"] == "binary (pickle)"


def test_a_dump_is_no_log_of_lines(tmp_path):
    value = dump(waiting(RANKS, 41), note="CUDA error: an illegal memory access was encountered")
    (tmp_path / "nccl_trace_rank_0.json").write_text(json.dumps(value, indent=1))
    report = api.run([tmp_path])
    assert report.inputs.lines == 0
    assert {finding.cause for finding in report.findings} == {"comms.timeout-unexplained"}


@pytest.mark.parametrize("numbers, text", [([], ""), ([3], "3"), ([3, 1, 2, 9], "1-3,9")])
def test_ranks_as_a_short_text(numbers, text):
    assert spans(numbers) == text
    assert numbers_in(text) == sorted(numbers)


WHOLE = pickled(
    dump(
        Group("0", RANKS, 42, 40, calls=[call(41, frames=frames("step /srv/train.py:4")), call(42)])
    )
)


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=4), st.integers(0, 4))
@settings(max_examples=300, deadline=None)
def test_damaged_bytes_are_refused_or_read_and_nothing_else(at, instead, gone):
    data = b"\x80\x02" + (WHOLE[:at] + instead + WHOLE[at + gone :])[2:]
    try:
        found = list(dialect.read(WholeDocument(NAME, identity(NAME), data)))
    except Unreadable:
        return
    list(derive(found))
