import argparse
import collections
import os
import pickle
import struct

import pytest
from checkpoint_files import Desk, made, named
from hypothesis import given
from hypothesis import strategies as some

from diagnose import shipped
from diagnose.parsers.checkpoint import dangers, files, look, pickles, structure
from diagnose.parsers.checkpoint import folder as dialect

PROTOCOLS = range(6)
COMMAND = "touch pwned"


class Trap:
    """An object whose pickle calls a function."""

    def __init__(self, function, *arguments):
        self.told = function, arguments

    def __reduce__(self):
        return self.told


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**200), 2**200) | some.floats(allow_nan=False) | some.text(),
    lambda below: some.lists(below) | some.dictionaries(some.text() | some.integers(-9, 9), below) | some.tuples(below, below),
    max_leaves=20,
)  # fmt: skip


@given(PLAIN, some.sampled_from(PROTOCOLS))
def test_plain_values_are_read_as_python_reads_them(value, protocol):
    read = pickles.load(pickle.dumps(value, protocol))
    assert (read.value, read.damage, read.suspicious) == (value, None, {})


@given(PLAIN, some.sampled_from(PROTOCOLS), some.data())
def test_a_pickle_cut_off_anywhere_is_damaged(value, protocol, data):
    packed = pickle.dumps([value], protocol)
    cut = data.draw(some.integers(0, len(packed) - 1))
    assert pickles.load(packed[:cut]).damage is not None


@given(some.binary(max_size=300))
def test_any_bytes_are_read_or_damaged(data):
    for packed in (data, b"\x80\x04" + data):
        read = pickles.load(packed)
        structure.keys(read.value)
        structure.values(read.value)


def test_objects_become_stand_ins_with_their_state():
    state = collections.OrderedDict(
        args=argparse.Namespace(world_size=8, lr=1e-4, betas=(0.9, 0.95)), sets={frozenset({1})}, raw=b"x"
    )  # fmt: skip
    for protocol in PROTOCOLS:
        read = pickles.load(pickle.dumps(state, protocol))
        assert structure.keys(read.value)[:2] == ("args", "sets")
        assert structure.values(read.value)["args.world_size"] == 8
        assert read.suspicious == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "function, arguments, name",
    [
        (os.system, (COMMAND,), f"{os.system.__module__}.system"),
        (eval, ("open('pwned', 'w')",), "builtins.eval"),
        (exec, ("open('pwned', 'w')",), "builtins.exec"),
        (open, ("pwned", "w"), None),
    ],
)
def test_a_hostile_pickle_runs_nothing_and_is_named(desk, function, arguments, name, protocol):
    trap = {"model": [Trap(function, *arguments)]}
    packed = pickle.dumps(trap, protocol)
    read = pickles.load(packed)
    assert [*read.suspicious] == [name] if name else len(read.suspicious) == 1
    desk.entry("model.bin", packed)
    assert not (desk.path / "pwned").exists()


@pytest.mark.parametrize(
    "packed, name",
    [
        (b"cos\nsystem\n(S'id'\ntR.", "os.system"),
        (b"(S'id'\nios\nsystem\n.", "os.system"),
        (b"(cos\nsystem\nS'id'\no.", "os.system"),
        (b"S'o\\163'\nS'\\x73ystem'\n\x93.", "os.system"),
        (b"S'o\\163'\nS'\\x73ystem'\n\x93.", "os.system"),
        (b"Vo\\u0073\nVsystem\n\x93.", "os.system"),
        (b"\x80\x04\x8c\x05torch\x8c\x09os.system\x93.", "torch.os.system"),
        (b"\x80\x02ccopy_reg\n_reconstructor\n0csubprocess\nPopen\n.", "subprocess.Popen"),
        (b"cbuiltins\ngetattr\n(cnumpy\ncore\nS'__globals__'\ntR.", "numpy.core.__globals__"),
        (b"\x80\x02}S'a'\ncbuiltins\neval\n(S'1'\ntRs0N.", "builtins.eval"),
        (b"\x80\x04\x8c\x02ab\x8c\x02cd\x85\x93.", pickles.COMPUTED),
        (b"\x80\x02Nq\x00N\x85R.", pickles.COMPUTED),
        (b"cmarshal\nloads\n(S'x'\ntR.", "marshal.loads"),
        (b"\x80\x02csocket\nsocket\n.", "socket.socket"),
    ],
)
def test_a_hidden_function_is_named(packed, name):
    assert name in pickles.load(packed).suspicious


@pytest.mark.parametrize(
    "packed",
    [
        b"c__main__\nNet\n.",
        b"cnumpy.random._pickle\n__randomstate_ctor\n.",
        b"c_codecs\nencode\n.",
        b"cposixpath\njoin\n.",
        b"cpathlib\nPosixPath\n.",
        b"cmy.code.trace\nModel\n.",
        b"cbuiltins\ngetattr\n(cmy.code\nKind\nS'LINEAR'\ntR.",
        b"cfunctools\npartial\n.",
    ],
)
def test_ordinary_names_are_not_suspicious(packed):
    assert pickles.load(packed).suspicious == {}


def test_the_list_of_names_that_run_code_says_what_each_does():
    rows = shipped.table("pickle_globals")
    assert len({row["name"] for row in rows}) == len(rows)
    assert all(dangers.danger(row["name"]) == row["does"] for row in rows)
    assert max(row["name"].count(".") for row in rows) < dangers.DEEPEST


def nested(count):
    return b"\x80\x04N" + b"\x85" * count + b"."


@pytest.mark.parametrize(
    "packed",
    [
        nested(100_000),
        b"\x80\x02" + b"(" * 100_000 + b".",
        b"\x80\x02]q\x00h\x00a.",
        b"\x80\x02]q\x00" + b"".join(b"]q%c(" % (n + 1) + b"h%c" % n * 10 + b"e" for n in range(99)) + b".",
        b"\x80\x02r\xff\xff\xff\xff.",
        b"\x80\x04N\x94" * 9 + b"j\xff\xff\xff\xff.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x02\x8b\xff\xff\xff\x7f.",
        b"L" + b"9" * 100_000 + b"L\n.",
        b"\x80\x02}(" + b"".join(b"\x8a\x12" + (n * (2**61 - 1)).to_bytes(18, "little") + b"N" for n in range(20_000)) + b"u.",
        b"\x80\x02}" + nested(50_000)[2:-1] + b"Ns.",
    ],
    ids=("nested", "marks", "cyclic", "laughs", "memo", "get", "frame", "bytes", "long", "digits", "collisions", "keys"),
)  # fmt: skip
def test_a_bomb_ends_quickly(packed):
    read = pickles.load(packed)
    structure.keys(read.value)
    assert len(structure.values(read.value)) <= structure.VALUES


def test_an_object_at_the_end_of_many_paths_is_entered_once():
    below = {}
    for _ in range(structure.LEVELS):
        below = {f"k{n}": below for n in range(1000)}
    assert structure.values(below) == {}


def test_overlong_and_too_many_names_end_the_reading_of_a_name():
    long = pickles.load(b"c" + b"a." * 5000 + b"\nos.system\n.")
    assert [*long.suspicious] == [pickles.OVERLONG]
    many = pickles.load(b"".join(b"cm\nf%d\n0" % n for n in range(20_000)) + b"N.")
    assert (many.value, many.damage) == (None, None)


def test_a_pickle_of_too_many_values_is_neither_read_nor_called_damaged(monkeypatch):
    monkeypatch.setattr(pickles._Reader, "most", 100)
    read = pickles.load(pickle.dumps([*range(1000)]))
    assert (read.value, read.damage) == (None, None)


def test_many_values_are_cut():
    values = structure.values({f"k{n}": n for n in range(5000)})
    assert (len(values), values["k0"]) == (structure.VALUES, 0)


@pytest.mark.parametrize("name", ["step-5/.metadata", "random_states_0.pkl", "pytorch_model.bin"])
def test_a_suspicious_pickle_is_an_event_with_its_file(desk, name):
    desk.entry(name, pickle.dumps({"a": Trap(os.system, COMMAND)}))
    (event,) = named(desk.read(), "ckpt.suspicious_pickle")
    assert (event["path"], event["global"]) == (name, f"{os.system.__module__}.system")
    assert not (desk.path / "pwned").exists()


def test_a_suspicious_pickle_in_a_file_of_torch_save_is_found(desk):
    data = made("torch/new.pt")
    at = data.index(b"ccollections\nOrderedDict\n")
    name = b"cos\nsystem\n"
    padded = b"cos\nsystem\n0N" + b"0N" * ((25 - len(name) - 2) // 2)
    hostile = data[:at] + padded[:25] + data[at + 25 :]
    found = files.contents(desk.entry("model.pt", hostile))
    assert found.problem is not None  # The checksum tells as well.
    unchecked = made("torch/no_crc.pt")
    at = unchecked.index(b"ccollections\nOrderedDict\n")
    hostile = unchecked[:at] + padded[:25] + unchecked[at + 25 :]
    assert "os.system" in files.contents(desk.entry("model.pt", hostile)).suspicious


def test_of_many_files_some_are_looked_into(desk, monkeypatch):
    monkeypatch.setattr(look, "OPENED", 4)
    packed = pickle.dumps({"a": Trap(os.system, COMMAND)})
    for rank in range(16):
        desk.entry(f"random_states_{rank}.pkl", packed)
    assert len(named(desk.read(), "ckpt.suspicious_pickle")) == 4


def test_legacy_files_are_looked_into(desk):
    parts = [pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, {}, {"a": Trap(os.system, COMMAND)}, [])]  # fmt: skip
    desk.entry("old.pt", b"".join(parts))
    assert [event.name for event in desk.read()] == ["ckpt.suspicious_pickle"]


def test_length_fields_of_an_old_storage_are_counted(desk):
    whole = made("torch/legacy.pt")
    assert dialect.wants("legacy.pt")
    keys = struct.pack("<q", 16)
    assert keys in whole
    assert files.damage(desk.entry("legacy.pt", whole)) is None
