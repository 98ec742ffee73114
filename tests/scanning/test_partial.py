"""Scans saved in parts, and what a run over parts says."""

import gzip
import json
import random
import shutil
from array import array
from itertools import cycle
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

import diagnose
from diagnose import api
from diagnose.cli import main
from diagnose.errors import NoInputError, Unreadable, UsageError
from diagnose.ingest.discover import discover
from diagnose.ingest.stream import CUT_OFF, PART_MAGIC
from diagnose.model.event import Clock, Event, Nature, Points
from diagnose.model.reading import Reading, SourceSummary
from diagnose.scanning import partial_file, partial_records
from diagnose.scanning.partial import Scan
from diagnose.scanning.partial_file import MARK, label_of, write_part
from diagnose.scanning.partial_read import read_part

ROOT = Path(__file__).parent.parent.parent / "samples"
SAMPLES = sorted(ROOT.glob("*/*/logs"))
NAMES = [f"{logs.parent.parent.name}/{logs.parent.name}" for logs in SAMPLES]
PORT_DEAD = "NET/IB : mlx5_2:1 Got async error event: port error"


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


SEVERAL = [logs for logs in SAMPLES if len(files_of(logs)) > 1]


def report(*paths, **options):
    try:
        return api.run(paths, **options).to_json()
    except NoInputError as error:
        return error.report.to_json()


def save(part, *paths, **options):
    api.scan(paths, save=part, **options)
    return part


def split(logs, folder, names, seed):
    """Return folders over which the files of a sample are spread, at least two of them."""
    chance = random.Random(seed)
    for number, path in enumerate(files_of(logs)):
        name = names[number] if number < 2 else chance.choice(names)
        place = folder / name / path.relative_to(logs)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return [folder / name for name in names if (folder / name).exists()]


def nodes(tmp_path, *names):
    """Return folders of hosts with a log each."""
    for name in names:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "rank0.log").write_text(
            f"{name}:41000:41301 [0] NCCL INFO NCCL version 2.27.6+cuda12.8\n"
            f"{name}:41000:41340 [0] transport/net_ib.cc:221 NCCL WARN {PORT_DEAD}\n"
        )
    return [tmp_path / name for name in names]


def parts_of(tmp_path, *names):
    folder = tmp_path / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    return [save(folder / f"{one.name}.part", one) for one in nodes(tmp_path, *names)]


def lines_in(part):
    """Return the lines of a part, as zstdcat shows them."""
    with part.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return reader.read().decode().splitlines()


def written(part, lines):
    """Write lines as a part."""
    packed = [zstandard.compress(f"{line}\n".encode()) for line in lines]
    part.write_bytes(MARK + b"".join(packed))
    return part


def notes(*paths):
    found = json.loads(report(*paths))["inputs"]
    return found["skipped"], found["truncated"]


# What a run over parts says


@pytest.mark.parametrize("logs", SAMPLES, ids=NAMES)
def test_a_part_alone_gives_the_report_of_its_logs(logs, tmp_path):
    assert report(save(tmp_path / "x.part", logs)) == report(logs)


@pytest.mark.parametrize(
    ("logs", "names"),
    [*zip(SEVERAL, cycle([("node-07", "node-08"), ("A", "B"), ("a", "a-2", "rank3")]))],
    ids=lambda value: value.parent.name if isinstance(value, Path) else value[0],
)
def test_parts_give_the_report_of_the_folders_they_are_called_after(logs, names, tmp_path):
    folders = split(logs, tmp_path, names, logs.parent.name)
    (tmp_path / "parts").mkdir()
    parts = [save(tmp_path / "parts" / f"{one.name}.part", one) for one in folders]
    expected = report(*folders)
    assert report(*parts) == expected
    assert report(save(tmp_path / "x.part", *parts)) == expected


def test_parts_are_found_as_folders_are(tmp_path):
    parts = parts_of(tmp_path, "node-07", "node-08")
    expected = report(tmp_path / "node-07", tmp_path / "node-08")
    assert report(tmp_path / "parts") == expected
    assert report(tmp_path / "parts" / "*.part") == expected
    assert report(parts[0], tmp_path / "node-08") == expected


def mixed_folder(folder):
    """Return a folder with logs, archives, checkpoints, and much that cannot be read."""
    (folder / "logs").mkdir(parents=True)
    (nodes_log := folder / "logs" / "a.log").write_text(f"{folder.name}:1:2 [0] NCCL WARN x\n")
    shutil.make_archive(str(folder / "z"), "tar", folder / "logs")
    for step in (100, 200):
        place = folder / "saved" / f"checkpoint-{step}"
        place.mkdir(parents=True)
        for name in ("model.safetensors", "optimizer.pt", "trainer_state.json"):
            (place / name).write_bytes(b"" if step == 200 else b"{}")
    shutil.make_archive(str(folder / "saved"), "tar", folder / "saved")
    packed = gzip.compress(random.Random(1).randbytes(9000).hex().encode() + b"\n")
    (folder / "cut.log.gz").write_bytes(packed[:-3000])
    (folder / "b!c.log").write_text(nodes_log.read_text())
    (folder / "core").write_bytes(b"\x7fELF" + bytes(90))
    (folder / "gone").symlink_to("nowhere")
    return folder


def test_what_cannot_be_read_is_listed_as_in_a_run_over_the_folders(tmp_path):
    folders = [mixed_folder(tmp_path / name) for name in ("node-07", "node-08")]
    parts = [save(tmp_path / f"{one.name}.part", one) for one in folders]
    expected = report(*folders)
    inputs = json.loads(expected)["inputs"]
    assert len(inputs["skipped"]) >= 4
    assert len(inputs["truncated"]) >= 2
    assert report(*parts) == expected
    assert report(save(tmp_path / "all.part", *parts)) == expected
    assert report(save(tmp_path / "x.part", folders[0])) == report(folders[0])


def test_parts_of_parts_give_the_report_of_the_parts(tmp_path):
    parts = parts_of(tmp_path, "node-07", "node-08", "node-09")
    expected = report(*parts)
    pair = save(tmp_path / "rack-1.part", *parts[1:])
    assert report(save(tmp_path / "all.part", parts[0], pair)) == expected
    assert report(pair, parts[0]) == expected
    (tmp_path / "put-together").write_bytes(b"".join(part.read_bytes() for part in parts))
    assert report(tmp_path / "put-together") == expected


def test_logs_are_scanned_beside_parts(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    (other,) = nodes(tmp_path, "node-08")
    both = save(tmp_path / "node-08.part", part, other / "rank0.log")
    assert report(both) == report(tmp_path / "node-07", other)


def test_a_host_that_only_the_name_of_the_part_states_is_known(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "dmesg.log").write_text(
        "[  100.5] NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus.\n"
    )
    save(tmp_path / "node-07.part", tmp_path / "here")
    found = api.run([tmp_path / "node-07.part"])
    assert found.findings[0].culprit.hosts == ["node-07"]
    assert found.findings[0].evidence[0].file == "dmesg.log"


def test_scans_of_the_same_name_are_told_apart(tmp_path):
    first, second = tmp_path / "rack-1", tmp_path / "rack-2"
    parts = [parts_of(folder, "node-07")[0] for folder in (first, second)]
    both = save(tmp_path / "both.part", *parts)
    for paths in (parts, [both]):
        found = json.loads(report(*paths))
        assert found["inputs"]["files"] == 2
        files = {one["file"] for finding in found["findings"] for one in finding["evidence"]}
        assert files <= {"node-07/rank0.log", "node-07-2/rank0.log"}


def test_a_part_is_known_by_its_content(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    part.rename(tmp_path / "data.bin")
    assert report(tmp_path / "data.bin") == report(tmp_path / "node-07")


def test_shared_columns_go_on_being_shared(tmp_path):
    lines = "".join(f'{{"step": {step}, "loss": 2.5, "step_time": 1.25}}\n' for step in range(100))
    (tmp_path / "rank0.jsonl").write_text(lines)
    save(tmp_path / "x.part", tmp_path / "rank0.jsonl")
    (source,) = discover([str(tmp_path / "x.part")]).sources
    (scan,) = read_part(source, lambda label: (label, ""), {})
    assert len(scan.reading.points) > 1
    assert len({id(one.lines) for one in scan.reading.points}) == 1


def test_every_value_comes_back_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(partial_file, "EVENTS", 2)
    monkeypatch.setattr(partial_records, "VALUES", 2)
    fields = [
        {},
        {"value": 1, "text": "x", "path": "a/rank0.log"},
        {"value": 1.0, "text": None, "path": "other"},
        {"value": True, "text": "x", "path": "x"},
        {"value": -0.0, "text": "x", "path": "x"},
        {"value": float("inf"), "text": ["x", [1, 2.5, None]], "path": "\ud800\x1b[31m中"},
        {"value": 10**30, "text": [], "path": ""},
    ]
    events = [
        Event(
            name="test.alarm", nature=Nature.ERROR, file="a/rank0.log", line=at, end_line=at + at % 2,
            text=f"alarm {at}", fields=one, time=at / 3 if at % 3 else None, clock=Clock.UTC,
            rank=at if at % 2 else None, host="node-07",
        )
        for at, one in enumerate(fields, 1)
    ]  # fmt: skip
    points = [
        Points(
            metric=metric, file="a/rank0.log", steps=array("d", [1, float("nan")]),
            times=array("d", [0.1, 0.2]), values=array("d", [1e300, float("-inf")]),
            lines=array("q", [1, 2**40]),
        )
        for metric in ("loss", "grad_norm")
    ]  # fmt: skip
    source = SourceSummary(
        name="a/rank0.log", bytes=7, lines=3, speakers={3: None, 4: 1.5}, clock=Clock.UPTIME
    )
    reading = Reading(sources=[source], events=events, points=points, looked_at=2)
    scan = Scan(name="a", prefix="a/", reading=reading, texts={"text:x:0": "1"}, nothing=False)
    write_part([scan], tmp_path / "a.part")
    (back,) = scans_in(tmp_path / "a.part")
    assert repr(back) == repr(scan)


# Rules and versions


RULE = """\
id: our-alarm
cause: {cause}
role: context
level: low
confidence: 0.6
title: Our alarm
explanation: It rang.
match:
  text: {text}
"""


def rules_in(folder, text="OUR ALARM RANG"):
    (folder / "dataflow").mkdir(parents=True)
    shipped = (ROOT.parent / "rules" / "dataflow" / "gil-held-by-loader.yaml").read_text()
    cause = shipped.partition("cause: ")[2].partition("\n")[0]
    rule = RULE.format(cause=cause, text=text)
    (folder / "dataflow" / "our-alarm.yaml").write_text(rule)
    return folder


@pytest.fixture
def alarmed(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank0.log").write_text("2026-01-02 10:00:00 OUR ALARM RANG loudly\n")
    return tmp_path / "logs"


def test_what_rules_of_a_team_select_is_scanned_for(alarmed, tmp_path):
    rules = [rules_in(tmp_path / "ours")]
    part = save(tmp_path / "x.part", alarmed, rules=rules)
    assert "our-alarm" in report(part, rules=rules)
    assert report(part, rules=rules) == report(alarmed, rules=rules)


def test_a_rule_that_was_not_scanned_for_is_named(alarmed, tmp_path):
    part = save(tmp_path / "x.part", alarmed)
    found = json.loads(report(part, rules=[rules_in(tmp_path / "ours")]))
    (note,) = found["inputs"]["truncated"]
    assert note["file"] == "x"
    assert "without the texts of the rule our-alarm" in note["what"]


def test_what_another_wording_of_a_rule_selected_is_left_out(alarmed, tmp_path):
    part = save(tmp_path / "x.part", alarmed, rules=[rules_in(tmp_path / "ours")])
    assert report(part) == report(alarmed)
    changed = [rules_in(tmp_path / "changed", "ALARM RANG NEVER")]
    found = json.loads(report(part, rules=changed))
    assert found["findings"] == []
    assert "our-alarm" in found["inputs"]["truncated"][0]["what"]


def test_notes_on_the_same_lack_of_many_parts_are_one(alarmed, tmp_path):
    parts = [save(tmp_path / f"n{number}.part", alarmed) for number in range(3)]
    found = json.loads(report(*parts, rules=[rules_in(tmp_path / "ours")]))
    (note,) = found["inputs"]["truncated"]
    assert note["count"] == 3
    together = save(tmp_path / "all.part", *parts)
    assert json.loads(report(together, rules=[tmp_path / "ours"]))["inputs"]["truncated"] == [note]


def test_a_part_of_another_version_is_used_and_named(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    program = json.loads(lines_in(part)[0])["program"]
    other = [line.replace(f'"{program}"', '"0.0.7"') for line in lines_in(part)]
    found = json.loads(report(written(tmp_path / "old.part", other)))
    assert found["findings"]
    (note,) = found["inputs"]["truncated"]
    assert f"scanned by diagnose 0.0.7, and this is {diagnose.VERSION}" in note["what"]


def test_a_part_of_a_newer_format_is_skipped_with_the_remedy(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    newer = [line.replace("diagnose.part/1", "diagnose.part/2") for line in lines_in(part)]
    written(part, newer)
    part.write_bytes(part.read_bytes().replace(MARK, PART_MAGIC + b"2\n"))
    (skipped,), _ = notes(part)
    assert skipped["file"] == "node-07.part"
    assert "diagnose.part/2" in skipped["reason"]
    assert "bring it up to date" in skipped["reason"]


# Parts that are not as they were written


def scans_in(part):
    (source,) = discover([str(part)]).sources
    return [*read_part(source, lambda label: (label, f"{label}/"), {})]


def test_a_part_that_is_cut_off_is_used_up_to_there(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    (whole,) = scans_in(part)
    data = part.read_bytes()
    kept = set()
    for end in range(len(MARK), len(data)):
        part.write_bytes(data[:end])
        try:
            (scan,) = scans_in(part)
        except Unreadable:
            assert kept <= {0}
            continue
        assert [one["what"][:20] for one in scan.reading.truncated] == ["not read to its end:"]
        kept.add(len(scan.reading.events))
        assert scan.reading.events in ([], whole.reading.events)
    assert kept == {0, len(whole.reading.events)}


def test_damage_anywhere_in_a_part_is_seen(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    data = part.read_bytes()
    for place in range(len(MARK), len(data)):
        part.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            (scan,) = scans_in(part)
        except Unreadable:
            continue
        assert len(scan.reading.truncated) == 1, place


def test_a_broken_part_ends_no_run(tmp_path):
    broken, other = parts_of(tmp_path, "node-07", "node-08")
    data = broken.read_bytes()
    broken.write_bytes(data[:-20])
    skipped, (cut,) = notes(broken, other)
    assert (skipped, cut["file"]) == ([], "node-07")
    broken.write_bytes(data[: len(MARK) + 20])
    (skipped,), cut = notes(broken, other)
    assert (skipped["file"], skipped["reason"], cut) == ("node-07.part", CUT_OFF, [])


def test_a_part_broken_before_its_first_record_is_the_reason_that_nothing_is_read(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    data = part.read_bytes()
    rest = data[len(MARK) :]
    for _ in ("what it is", "its sources"):
        frame = zstandard.ZstdDecompressor().decompressobj()
        frame.decompress(rest)
        rest = frame.unused_data
    part.write_bytes(data[: 9 - len(rest)])
    with pytest.raises(NoInputError, match="node-07: not read to its end: cut off before its end"):
        diagnose.run([part])


STRANGE = [None, True, -1, 10**400, 1.5, "x", [], {}, [None], [[]], {"all": []}, {"texts": [99]}]


def changed(value, chance):
    """Return a value of JSON with one place in it changed."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice([*value])
        return {**value, key: changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        return [*value[:place], changed(value[place], chance), *value[place + 1 :]]
    return chance.choice(STRANGE)


def test_lines_of_other_shapes_are_refused_or_are_values_like_any_other(tmp_path):
    whole, _ = parts_of(tmp_path, "node-07", "node-08")
    lines = lines_in(whole)
    chance = random.Random(7)
    for _ in range(1500):
        place = chance.randrange(len(lines))
        other = json.dumps(changed(json.loads(lines[place]), chance))
        written(whole, [*lines[:place], other, *lines[place + 1 :]])
        try:
            for scan in scans_in(whole):
                assert {type(one.line) for one in scan.reading.events} <= {int}
        except Unreadable as error:
            assert "damaged" in str(error) or "diagnose.part" in str(error)


def test_what_only_begins_like_a_part_is_skipped(tmp_path):
    for name, data in {"a": b"", "b": b"junk", "c": zstandard.compress(b"[" * 100_000)}.items():
        (tmp_path / name).write_bytes(MARK + data)
    with pytest.raises(NoInputError):
        api.run([tmp_path])


def test_a_part_in_an_archive_or_a_paste_is_skipped_with_the_reason(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    shutil.make_archive(str(tmp_path / "logs"), "tar", tmp_path / "parts")
    (skipped,), _ = notes(tmp_path / "logs.tar")
    assert "a part of diagnose scan" in skipped["reason"]
    with pytest.raises(NoInputError, match="a part of diagnose scan"):
        api.run_text(part.read_bytes())


# Writing


def test_a_part_is_lines_of_json(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    records = [json.loads(line) for line in lines_in(part)]
    assert records[0]["format"] == "diagnose.part/1"
    assert records[0]["label"] == "node-07"
    assert records[1]["sources"] == ["rank0.log"]
    assert records[-1]["end"]["events"] > 1


def test_the_same_logs_give_the_same_part(tmp_path):
    (part,) = parts_of(tmp_path, "node-07")
    data = part.read_bytes()
    assert save(part, tmp_path / "node-07").read_bytes() == data


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("node-07.part", "node-07"),
        ("node-07.example.com", "node-07.example.com"),
        (".part", ".part"),
    ],
)
def test_files_are_called_after_the_part(name, label):
    assert label_of(Path("/shared") / name) == label


def test_the_part_of_before_is_not_read_again(tmp_path):
    (folder,) = nodes(tmp_path, "node-07")
    save(folder / "node-07.part", folder)
    save(folder / "node-07.part", folder)
    assert json.loads(report(folder / "node-07.part"))["inputs"]["files"] == 1


def test_nothing_stays_behind_where_writing_fails(tmp_path, monkeypatch):
    (folder,) = nodes(tmp_path, "node-07")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(partial_file, "_write", full)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        save(tmp_path / "node-07.part", folder)
    assert [path.name for path in tmp_path.iterdir()] == ["node-07"]


def test_a_log_is_never_written_over(tmp_path):
    (folder,) = nodes(tmp_path, "node-07")
    with pytest.raises(UsageError, match="is no part"):
        save(folder / "rank0.log", folder)
    with pytest.raises(UsageError, match="does not exist"):
        save(tmp_path / "nowhere" / "x.part", folder)


def test_a_part_that_is_read_is_never_written_over(tmp_path):
    part, other = parts_of(tmp_path, "node-07", "node-08")
    before = part.read_bytes()
    for paths in ([part], [other, part.parent / "." / part.name]):
        with pytest.raises(UsageError, match="to be read as well; save under another name"):
            save(part, *paths)
    assert part.read_bytes() == before


def test_a_scan_of_nothing_is_a_part_that_says_why(tmp_path):
    (other,) = parts_of(tmp_path, "node-08")
    with pytest.raises(NoInputError, match="no such file"):
        save(tmp_path / "node-07.part", tmp_path / "missing")
    skipped, _ = notes(tmp_path / "node-07.part", other)
    assert [one["reason"] for one in skipped] == ["no such file or folder"]


def test_the_command_says_what_it_read(tmp_path):
    (folder,) = nodes(tmp_path, "node-07")
    part = tmp_path / "node-07.part"
    done = CliRunner().invoke(main, ["scan", str(folder), "--save", str(part)])
    assert done.exit_code == 0
    assert "1 files" not in done.output
    assert "node-07.part: 1 file, " in done.output
    assert "events" in done.output
    assert CliRunner().invoke(main, [str(part)]).exit_code == 1
