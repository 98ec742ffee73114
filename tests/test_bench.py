import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    # the samples have a module of this name as well
    monkeypatch.delitem(sys.modules, "generate", raising=False)


def logs(folder, size=300_000, files=None, pack=None, **content):
    import generate
    from ranklog import Content

    generate.write(folder, size, Content(ranks=4, **content), files, pack)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_options_give_the_same_bytes(tmp_path):
    first = logs(tmp_path / "a", errors=0.05)
    assert first == logs(tmp_path / "b", errors=0.05)
    assert list(first) == [f"rank{rank}.log" for rank in range(4)]


def test_another_number_of_files_holds_the_same_lines(tmp_path):
    each = logs(tmp_path / "each")
    parts = logs(tmp_path / "parts", files=60)
    assert 60 <= len(parts) < 100
    of_rank = b"".join(data for name, data in parts.items() if name.startswith("rank2."))
    assert of_rank == each["rank2.log"]
    assert all(data.endswith(b"\n") for data in parts.values())

    (whole,) = logs(tmp_path / "one", files=1).values()
    assert sorted(whole.splitlines()) == sorted(b"".join(each.values()).splitlines())


def test_packed_files_unpack_to_the_same_bytes(tmp_path):
    each = logs(tmp_path / "plain")
    gz = logs(tmp_path / "gz", pack="gz")
    assert {name: gzip.decompress(data) for name, data in gz.items()} == {
        f"{name}.gz": data for name, data in each.items()
    }
    (packed,) = logs(tmp_path / "zst", files=1, pack="zst").values()
    (whole,) = logs(tmp_path / "one", files=1).values()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == whole


def test_errors_have_their_share_of_the_bytes(tmp_path):
    log = logs(tmp_path / "logs", size=4_000_000, errors=0.2)["rank0.log"]
    assert 0.15 < 460 * log.count(b"Traceback (most recent call last)") / len(log) < 0.25


def test_the_table_has_every_command_and_judges_every_target(tmp_path):
    command = ["bench/table.py", "--size", "2MB", "--only", "zst-one", "--runs", "1"]
    done = subprocess.run(
        [sys.executable, *command, "--scratch", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| zst")]
    status = {row[1]: row[7].strip(" |") for row in rows if len(row) == 8}
    assert status["diagnose"] == "1", "the logs show a root cause"
    assert status["decompressor"] == status["our reading"] == "0"
    assert [row[4].strip(" |") in ("yes", "no") for row in rows if len(row) == 5] == [True, True]
    assert list(tmp_path.iterdir()) == []
