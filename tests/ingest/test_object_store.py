"""Logs in an object store give the report that the same files give on this machine."""

import gzip
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

import diagnose
from diagnose.ingest import pieces, ranges
from diagnose.ingest.discover import discover
from diagnose.ingest.source import Entry, Source
from diagnose.scanning import local, units

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


class Store:
    def __init__(self, address: str, log: Path) -> None:
        self.address = address
        self.log = log
        self.client: Any = boto3.client("s3", endpoint_url=address)
        self.client.create_bucket(Bucket="logs")

    def upload(self, folder: Path, name: str) -> str:
        """Copy a folder; its files get the times that the store gives them."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                key = f"{name}/{file.relative_to(folder).as_posix()}"
                self.client.put_object(Bucket="logs", Key=key, Body=file.read_bytes())
                time = self.client.head_object(Bucket="logs", Key=key)["LastModified"].timestamp()
                os.utime(file, (time, time))
        self.log.write_text("")
        return f"s3://logs/{name}"

    def asked(self, name: str) -> list[tuple[int, int] | None]:
        """Return the ranges asked of an object, None for the whole."""
        lines = (line.split("\t") for line in self.log.read_text().splitlines())
        ranges = [
            asked for method, path, asked in lines if method == "GET" and path == f"/logs/{name}"
        ]
        found = (re.fullmatch(r"bytes=(\d+)-(\d+)", asked) for asked in ranges)
        return [(int(one[1]), int(one[2]) + 1) if one else None for one in found]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    log = tmp_path_factory.mktemp("store") / "requests"
    command = [sys.executable, "-m", "tests.ingest.object_store", str(log)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert server.stdout is not None
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_ACCESS_KEY_ID", "someone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "something")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield Store(address, log)
        server.kill()


def tar_of(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(folder, "job")
    return buffer.getvalue()


def zip_of(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return buffer.getvalue()


def run_folder(root: Path) -> Path:
    """Return a folder with all that a walk tells apart."""
    logs = SAMPLES / "comms/adapter-off-the-bus/logs"
    text = next(file for file in sorted(logs.iterdir())).read_bytes()
    files = {
        "node-01/ibstat.txt": text,
        "node-02/ibstat.txt.gz": gzip.compress(text),
        "packed.tar.gz": tar_of(logs),
        "packed.zip": zip_of(logs),
        "behind-nulls.log": bytes(70_000) + text,
        "empty.log": b"",
        "core.17": b"\x7fELF" + bytes(1000),
        "damaged.gz": gzip.compress(text)[:-500],
        ".hidden/x.log": text,
        ".hidden.log": text,
        "ckpt/step-100/model-00001-of-00002.safetensors": b"\x10" + bytes(7) + b'{"a": 1}' * 2,
        "ckpt/step-100/model-00002-of-00002.safetensors": b"",
        "ckpt/step-100/optim.pt": zip_of(logs)[:-40],
        "ckpt/latest": b"step-100",
    }
    for name, data in files.items():
        path = root / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root / "run"


def test_a_folder_gives_the_same_report(store: Store, tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    url = store.upload(folder, "run")
    here = diagnose.run(str(folder))
    there = diagnose.run(url)
    assert here.findings
    assert {one["file"] for one in here.inputs.skipped} >= {"core.17"}
    assert there.to_json() == here.to_json()


@pytest.mark.parametrize(
    "sample", ["healthy/checkpoints-of-many-frameworks", "dataflow/checkpoint-truncated"]
)
def test_samples_give_the_same_report(store: Store, tmp_path: Path, sample: str) -> None:
    folder = tmp_path / "logs"
    for file in (SAMPLES / sample / "logs").rglob("*"):
        if file.is_file():
            copy = folder / file.relative_to(SAMPLES / sample / "logs")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    url = store.upload(folder, f"{sample}/logs")
    assert diagnose.run(f"{url}/").to_json() == diagnose.run(str(folder)).to_json()


def test_patterns_and_several_paths_give_the_same_names(store: Store, tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    url = store.upload(folder, "run")
    for paths in (["node-*/ib*"], ["ckpt", "node-01/ibstat.txt"], ["*.gz", "**/ibstat.txt"]):
        here = diagnose.run([f"{folder}/{path}" for path in paths])
        there = diagnose.run([f"{url}/{path}" for path in paths])
        assert there.to_json() == here.to_json()


def test_workers_share_an_object_and_ask_for_their_ranges_alone(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = b"node-01: [Rank 0] step %d loss 2.5\n"
    folder = tmp_path / "big"
    folder.mkdir()
    (folder / "train.log").write_bytes(b"".join(line % number for number in range(60_000)))
    (folder / "other.log").write_bytes(line * 1000)
    url = store.upload(folder, "big")
    monkeypatch.setattr(units, "CHUNK", 256 << 10)
    monkeypatch.setattr(local, "WORTH_WORKERS", 0)
    here = diagnose.run(str(folder), jobs=2)
    there = diagnose.run(url, jobs=2)
    assert there.to_json() == here.to_json()
    asked = store.asked("big/train.log")
    size = (folder / "train.log").stat().st_size
    assert len(asked) >= 2 * (size // units.CHUNK)
    got = [one[1] - one[0] for one in asked if one is not None]
    assert len(got) == len(asked)
    # The first piece is looked at for headings before the file is cut.
    assert sum(got) < size + ranges.FIRST + pieces.PIECE + len(asked) * ranges.BEHIND


def test_no_more_is_got_than_is_read(store: Store, tmp_path: Path) -> None:
    lines = b"".join(b"step %d\n" % number for number in range(200_000))
    (tmp_path / "run").mkdir()
    (tmp_path / "run/a.log").write_bytes(lines)
    url = store.upload(tmp_path / "run", "ranges")
    source = Source("a.log", f"{url}/a.log", len(lines))
    with source.open(500_000, 1_000_000) as stream:
        assert stream.read(400_000) == lines[500_000:900_000]
        assert stream.read(50) == lines[900_000:900_050]
    [asked] = store.asked("ranges/a.log")
    assert asked == (500_000, 1_000_000)
    with source.open(999_999, 1_000_000) as stream:
        assert stream.readline() == lines[999_999:].partition(b"\n")[0] + b"\n"
    assert store.asked("ranges/a.log")[1:] == [
        (999_999, 1_000_000),
        (1_000_000, 1_000_000 + ranges.BEHIND),
    ]
    assert Entry("a.log", len(lines), path=f"{url}/a.log").read(5, 3) == lines[5:8]
    assert store.asked("ranges/a.log")[3:] == [(5, 8)]


def test_files_are_looked_at_with_two_small_requests_each(store: Store, tmp_path: Path) -> None:
    shards = tmp_path / "ckpt"
    shards.mkdir()
    for number in range(200):
        (shards / f"{number:05}.npy").write_bytes(b"\x93NUMPY" + bytes(3000))
    url = store.upload(shards, "ckpt-200")
    found = discover([url], lambda name: True)
    [folder] = found.folders
    assert [entry.head for entry in folder.entries] == [b"\x93NUMPY" + bytes(58)] * 200
    assert not found.sources
    assert all(one.read(2950, 100) == bytes(56) for one in folder.entries)
    asked = [store.asked(f"ckpt-200/{one.name}") for one in folder.entries]
    assert asked == [[(0, 512), (2494, 3006)]] * 200


def test_the_beginning_of_a_large_binary_file_is_enough(store: Store, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/weights.npy").write_bytes(b"\x93NUMPY" + bytes(20 << 20))
    url = store.upload(tmp_path / "run", "weights")
    with pytest.raises(diagnose.NoInputError, match="NumPy array"):
        diagnose.run(url)
    size = (tmp_path / "run/weights.npy").stat().st_size
    beginning, end, *again = store.asked("weights/weights.npy")
    assert (beginning, end) == ((0, 512), (size - 512, size))
    assert set(again) == {(0, ranges.FIRST)}


def test_small_files_are_got_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    for number in range(100):
        (folder / f"rank{number}.log").write_text(f"[rank{number}] started\n" * 1000)
    url = store.upload(folder, "small")
    for jobs in (1, 2):
        store.log.write_text("")
        monkeypatch.setattr(local, "WORTH_WORKERS", 0)
        assert len(diagnose.run(url, jobs=jobs).inputs.skipped) == 0
        for file in folder.iterdir():
            assert store.asked(f"small/{file.name}") == [(0, 512), (0, file.stat().st_size)]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("s3://logs/nothing", "no such file or folder"),
        ("s3://logs/nothing-*/x.log", "no such file or folder"),
        ("s3://no-such-bucket/x", "no such file or folder"),
        ("s3://locked/x", "permission denied"),
        ("s3://Not_A_Bucket!/x", "not an address of this kind of store"),
    ],
)
def test_what_cannot_be_read_is_said_in_plain_words(store: Store, path: str, reason: str) -> None:
    with pytest.raises(diagnose.NoInputError) as caught:
        diagnose.run(path)
    assert caught.value.report is not None
    assert caught.value.report.inputs.skipped == [{"file": path, "reason": reason}]
    assert "s3cret" not in str(caught.value)


def test_nothing_but_the_report_is_printed(store: Store, tmp_path: Path) -> None:
    url = store.upload(run_folder(tmp_path), "run")
    ended = subprocess.run(
        [sys.executable, "-m", "diagnose", url, "--format", "json", "--exit-zero"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == diagnose.run(url).to_json()


def test_one_missing_address_among_good_ones(store: Store, tmp_path: Path) -> None:
    url = store.upload(run_folder(tmp_path), "run")
    report = diagnose.run([f"{url}/node-01/ibstat.txt", "s3://logs/nothing"])
    assert report.inputs.skipped == [
        {"file": "s3://logs/nothing", "reason": "no such file or folder"}
    ]
    assert report.findings


def test_without_credentials(store: Store, tmp_path: Path) -> None:
    known = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    unknown = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-m", "diagnose", "s3://logs/without", "--format", "json"],
        env=known | unknown | {"AWS_ENDPOINT_URL": store.address},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 3
    assert ended.stderr.count("\n") == 1
    assert "s3://logs/without: no valid credentials were found" in ended.stderr


def test_a_signed_address_is_shown_without_its_signature(store: Store, tmp_path: Path) -> None:
    store.upload(run_folder(tmp_path), "signed")
    asked = {"Bucket": "logs", "Key": "signed/node-01/ibstat.txt"}
    url = store.client.generate_presigned_url("get_object", asked)
    assert "Signature" in url
    report = diagnose.run(url)
    assert report.findings[0].evidence[0].file == "ibstat.txt"
    assert "Signature" not in report.to_json()
    with pytest.raises(diagnose.NoInputError) as caught:
        diagnose.run(url.replace("ibstat.txt", "nothing"))
    assert "Signature" not in str(caught.value)
