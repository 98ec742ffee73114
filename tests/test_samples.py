"""Each shipped sample gives exactly its expected report, however its logs are delivered."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from diagnose import api
from diagnose.errors import NoInputError

ROOT = Path(__file__).parent.parent / "samples"
SAMPLES = sorted(path.parent for path in ROOT.glob("*/*/expected.yaml"))
NAMES = [f"{path.parent.name}/{path.name}" for path in SAMPLES]


def expected(sample: Path) -> dict:
    return yaml.safe_load((sample / "expected.yaml").read_text())


def diagnosed(sample: Path, logs: Path | None = None) -> api.Report:
    """Return the report of a sample, with the inventory that lies beside its logs if one does."""
    return api.run([logs or sample / "logs"], topology=inventory(sample))


def inventory(sample: Path) -> Path | None:
    topology = sample / "topology.yaml"
    return topology if topology.exists() else None


def seen(report: api.Report) -> dict:
    """Return the part of a report that must not depend on how the logs were delivered."""
    return {
        "verdict": report.verdict,
        "findings": [
            {
                "id": finding.id,
                "role": finding.role,
                **(
                    {"culprit": named}
                    if (
                        named := {
                            kind: value
                            for kind in ("ranks", "hosts", "gpus", "nics", "files")
                            if (value := getattr(finding.culprit, kind))
                        }
                    )
                    else {}
                ),
                "evidence": [f"{one.file}:{one.line}" for one in finding.evidence],
                "explains": finding.explains,
            }
            for finding in report.findings
            if finding.role != "context"
        ],
    }


def test_there_are_samples_of_every_stage_and_healthy_ones():
    folders = {path.parent.name for path in SAMPLES}
    assert folders == {"dataflow", "comms", "resources", "parameters", "healthy"}


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_the_report_is_just_the_expected_one(sample):
    want = expected(sample)
    report = diagnosed(sample)
    assert seen(report) == {"verdict": want["verdict"], "findings": want.get("findings", [])}


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_the_same_bytes_give_the_same_report(sample):
    assert diagnosed(sample).to_json() == diagnosed(sample).to_json()


def answer(report: api.Report) -> tuple:
    """Return verdict and roots: what must stay the same when the logs are altered."""
    roots = [finding for finding in report.findings if finding.role == "root"]
    return report.verdict, sorted(
        (one.id, tuple(one.culprit.ranks), tuple(one.culprit.hosts)) for one in roots
    )


def files_of(sample: Path) -> dict[str, bytes]:
    logs = sample / "logs"
    files = {
        path.relative_to(logs).as_posix(): path.read_bytes()
        for path in sorted(logs.rglob("*"))
        if path.is_file()
    }
    return {
        name.removesuffix(".gz"): gzip.decompress(data) if name.endswith(".gz") else data
        for name, data in files.items()
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder


def gzipped(files, tmp):
    return write(tmp, {f"{name}.gz": gzip.compress(data) for name, data in files.items()})


def in_tar(files, tmp):
    with tarfile.open(tmp / "logs.tar.gz", "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return tmp / "logs.tar.gz"


def in_zip(files, tmp):
    with zipfile.ZipFile(tmp / "logs.zip", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return tmp / "logs.zip"


def with_carriage_returns(files, tmp):
    return write(tmp, {name: data.replace(b"\n", b"\r\n") for name, data in files.items()})


def coloured(files, tmp):
    return write(
        tmp,
        {
            name: b"".join(
                b"\x1b[31m" + line + b"\x1b[0m\n" if line else b"\n"
                for line in data.rstrip(b"\n").split(b"\n")
            )
            for name, data in files.items()
            if not name.endswith((".json", ".csv", ".jsonl", ".yaml"))
        }
        | {
            name: data
            for name, data in files.items()
            if name.endswith((".json", ".csv", ".jsonl", ".yaml"))
        },
    )


ALTERATIONS = (gzipped, in_tar, in_zip, with_carriage_returns, coloured)


@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda alter: alter.__name__)
@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_an_altered_delivery_gets_the_same_answer(sample, alter, tmp_path):
    altered = alter(files_of(sample), tmp_path)
    assert answer(diagnosed(sample, altered)) == answer(diagnosed(sample))


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_a_paste_with_headings_gets_the_same_answer(sample):
    files = {name: data for name, data in files_of(sample).items() if b"\x00" not in data and data}
    paste = b"\n".join(b"==> %s <==\n%s" % (name.encode(), data) for name, data in files.items())
    assert answer(api.run_text(paste, topology=inventory(sample))) == answer(diagnosed(sample))


def test_an_empty_paste_says_so():
    with pytest.raises(NoInputError) as caught:
        api.run_text("")
    assert caught.value.report.verdict == "no-evidence"


def test_each_symptom_has_a_sample_and_one_that_only_looks_like_it():
    causes = api.load_knowledge().rules.causes
    rules = api.load_knowledge().rules.rules
    shown, mistaken = set(), set()
    for sample in SAMPLES:
        want = expected(sample)
        mistaken.update(want.get("looks_like", []))
        for finding in want.get("findings", []):
            if finding["role"] == "root":
                rule = rules[finding["id"]]
                shown.update(rule.symptoms or causes[rule.cause].symptoms)
    assert shown == mistaken == set(range(1, 14))
