"""The same checkpoints in every form of listing, alone, in a log and cut off."""

import pytest

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.pattern import problems
from diagnose.ingest.source import Source
from diagnose.parsers import parsers
from diagnose.parsers.checkpoint import listing_rows
from diagnose.parsers.checkpoint.listing import accepts
from diagnose.parsers.checkpoint.listing_rows import row_of
from diagnose.parsers.reader import Reader
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all

READER = Reader(parsers())
GIB = 1 << 30


def files(step, skip=()):
    names = ["mp_rank_00_model_states.pt"]
    names += [f"zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in range(4) if n not in skip]
    return [
        (f"ckpt/global_step{step}/{name}", (4 if "model" in name else 2) * GIB) for name in names
    ]


TREE = [*files(400), *files(500, skip=(2,))]


def parts(path):
    return path.rpartition("/")[0], path.rpartition("/")[2]


def ls_r(row, *, root="ckpt", blank=""):
    out = [
        f"{root}:",
        "total 8",
        row("latest", 14),
        "drwxr-xr-x 2 train train 4096 Aug  1 10:03 global_step400",
    ]
    for folder in ("global_step400", "global_step500"):
        out += [blank, f"{root}/{folder}:", "total 12582912"]
        out += [row(parts(path)[1], size) for path, size in TREE if folder in path]
    return "\n".join(out) + "\n"


def lines(form):
    return "".join(form(path, size) + "\n" for path, size in TREE)


def tree_s():
    out = ["$ tree -s ckpt", "ckpt"]
    for folder, mark, bar in (("400", "├──", "│   "), ("500", "└──", "    ")):
        out.append(f"{mark} [       4096]  global_step{folder}")
        rows = [(path, size) for path, size in TREE if folder in path]
        out += [
            f"{bar}{'└──' if n == len(rows) - 1 else '├──'} [{size:>11}]  {parts(path)[1]}"
            for n, (path, size) in enumerate(rows)
        ]
    return "\n".join([*out, "", "2 directories, 9 files"]) + "\n"


FORMS = {
    "ls -lR": ls_r(lambda n, s: f"-rw-r--r-- 1 train train {s} Aug  1 10:03 {n}"),
    "ls -lR, absolute": ls_r(lambda n, s: f"-rw-r--r--  1 train train {s} Aug  1  2025 {n}", root="/x/ckpt"),
    "ls -lhR": ls_r(lambda n, s: f"-rw-r--r-- 1 train train {s / GIB:.1f}G Aug  1 10:03 {n}"),
    "ls --full-time": ls_r(lambda n, s: f"-rw-rw-r--. 1 train train {s} 2026-08-01 10:03:11.123456789 +0200 {n}"),
    "ls, long-iso": ls_r(lambda n, s: f"-rw-rw-r--+ 1 train domain users {s} 2026-08-01 10:03 {n}"),
    "ls, day first": ls_r(lambda n, s: f"-rw-r--r-- 1 train train {s}  1 Aug 10:03 {n}"),
    "ls -lgoR": ls_r(lambda n, s: f"-rw-r--r-- 1 {s} Aug  1 10:03 {n}"),
    "ls -lisR": ls_r(lambda n, s: f" 81231 {s // 1024} -rw-r--r-- 1 train train {s} Aug  1 10:03 {n}"),
    "ls -l of files": lines(lambda p, s: f"-rw-r--r-- 1 train train {s} Aug  1 10:03 {p}"),
    "find -ls": lines(lambda p, s: f"  8123123  {s // 1024} -rw-r--r--   1 train    train    {s} Aug  1 10:03 ./{p}"),
    "find -printf size path": lines(lambda p, s: f"{s} {p}"),
    "find -printf path size": lines(lambda p, s: f"{p} {s}"),
    "find -printf time size path": lines(lambda p, s: f"1785578591.1234567890 {s} {p}"),
    "find -printf size time path": lines(lambda p, s: f"{s} 1785578591.1234567890 {p}"),
    "find -printf +": lines(lambda p, s: f"2026-08-01+10:03:11.1234567890 {s} {p}"),
    "du -a": lines(lambda p, s: f"{s // 1024}\t{p}") + "12\tckpt/global_step500\n24\tckpt\n",
    "du -ah": lines(lambda p, s: f"{s // GIB}.0G\t./{p}") + "12G\t.\n",
    "du -a, tab lost": lines(lambda p, s: f"{s // 1024}    {p}") + "24 ckpt/global_step500\n",
    "tree -s": tree_s(),
    "tree -s, ASCII": tree_s().replace("│", "|").replace("├──", "|--").replace("└──", "`--"),
    "tree -psD": tree_s().replace("[ 2147483648]", "[-rw-r--r-- train    train     2147483648 Aug  1 10:03]"),
    "aws s3 ls --recursive": lines(lambda p, s: f"2026-08-01 10:03:11 {s:>10} {p}"),
    "aws s3 ls, human": lines(lambda p, s: f"2026-08-01 10:03:11 {s // GIB:>4}.0 GiB {p}") + "\nTotal Objects: 9\n",
    "gsutil ls -l": lines(lambda p, s: f"{s:>11}  2026-08-01T10:03:11Z  gs://bucket/{p}") + "TOTAL: 9 objects, 1 bytes (1 B)\n",
    "stat": lines(lambda p, s: f"  File: {p}\n  Size: {s}\tBlocks: {s // 512}   IO Block: 4096   regular file\nModify: 2026-08-01 10:03:11.123456789 +0000"),
    "stat -c": lines(lambda p, s: f"{p} {s} 1785578591"),
    "sha256sum": lines(lambda p, s: f"{'0123456789abcdef' * 4}  {p}"),
    "md5sum -b": lines(lambda p, s: f"{'0123456789abcdef' * 2} *{p}"),
}  # fmt: skip


def events(text, name="a.log"):
    data = text.encode()
    reading, _ = read_all([Source(name, None, len(data), data=data)], READER, wants=lambda _: False, engine=Local(1))  # fmt: skip
    return [event for event in reading.events if event.name.startswith("ckpt.")]


def judged(found):
    complete = {e["step"]: e["complete"] for e in found if e.name == "ckpt.folder"}
    missing = [e["missing"] for e in found if e.name == "ckpt.missing_shards"]
    newest = [e["step"] for e in found if e.name == "ckpt.newest_complete"]
    return complete, missing, newest


EXPECTED = (
    {400: True, 500: False},
    [["zero_pp_rank_2_mp_rank_00_optim_states.pt"]],
    [400],
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_shows_the_file_that_is_missing(form):
    assert judged(events(FORMS[form])) == EXPECTED


@pytest.mark.parametrize("form", FORMS)
def test_it_stands_between_the_lines_of_a_log_with_other_line_ends(form):
    text = f"step 9 | loss 2.41\nsaving\n{FORMS[form]}step 10 | loss 2.40\nstep 11 | loss 2.39\n"
    assert judged(events(text.replace("\n", "\r\n"))) == EXPECTED


@pytest.mark.parametrize("form", ["ls -lR", "ls --full-time", "find -ls", "du -a", "sha256sum"])
@pytest.mark.parametrize("prefix", ["[rank0]: ", "2026-08-01 10:04:00,123 - ops - INFO - ", "   "])
def test_prefixes_of_a_log_do_no_harm(form, prefix):
    text = "".join(f"{prefix}{line}\n" for line in FORMS[form].splitlines())
    assert judged(events(text)) == EXPECTED


@pytest.mark.parametrize("form", ["ls --full-time", "find -ls", "find -printf +", "gsutil ls -l"])
def test_the_time_of_a_collector_is_not_taken_for_that_of_the_file(form):
    text = "".join(f"2026-08-02T03:04:07.123456789Z {line}\n" for line in FORMS[form].splitlines())
    assert judged(events(text)) == EXPECTED


@pytest.mark.parametrize("prefix", ["node-07: ", "   "])
def test_a_tree_keeps_its_levels_behind_what_stands_before_all_its_lines(prefix):
    text = "".join(f"{prefix}{line}\n" for line in FORMS["tree -s"].splitlines())
    assert judged(events(text)) == EXPECTED


def test_hidden_files_that_a_listing_does_not_show_are_not_missing():
    def folder(*hidden):
        names = (*hidden, "__0_0.distcp", "__1_0.distcp")
        rows = "".join(f"-rw-r--r-- 1 train train 4096 2026-08-01 10:03 {n}\n" for n in names)
        return judged(events(f"ckpt/step-500:\ntotal 8\n{rows}"))

    assert folder() == ({500: None}, [], [])
    assert folder(".metadata") == ({500: True}, [], [500])
    assert folder(".metadata.tmp") == ({500: False}, [], [])


def test_events_stand_at_the_lines_of_the_listing():
    found = events("a\nb\n" + FORMS["ls -lR"])
    (missing,) = [event for event in found if event.name == "ckpt.missing_shards"]
    assert missing.line == 18
    assert missing.text.endswith("mp_rank_00_model_states.pt")


def test_a_command_names_the_folder():
    rows = [f"-rw-r--r-- 1 a a {s} Aug  1 10:03 {parts(p)[1]}" for p, s in TREE if "500" in p]
    text = "\n".join(["$ ls -l /data/ckpt/global_step500", "total 9", *rows, "$ "])
    (folder,) = [event for event in events(text) if event.name == "ckpt.folder"]
    assert (folder["path"], folder["step"]) == ("/data/ckpt/global_step500", 500)


def test_what_a_cut_may_have_taken_is_not_missing():
    head = FORMS["ls -l of files"].splitlines()[:3]  # as "| head -n 3" leaves it
    complete, missing, _ = judged(events("\n".join(["$ ls -l ckpt/*/*", *head]) + "\n"))
    assert (complete, missing) == ({400: True}, [])
    wide = "".join(
        f"-rw-r--r-- 1 a a 1 Aug  1 10:03 ckpt/iter_0000500/mp_rank_0{t}_00{p}/model_optim_rng.pt\n"
        for t in (0, 1) for p in (0, 1)
    )  # fmt: skip
    cut = wide.splitlines()[:3]
    (folder,) = [e for e in events("\n".join(cut)) if e.name == "ckpt.folder"]
    assert (folder["complete"], folder["why"]) == (None, "the listing may be cut off there")


@pytest.mark.parametrize("form", ["ls -lR", "ls -l of files", "find -ls", "aws s3 ls --recursive"])
def test_a_beginning_that_is_cut_off_hides_files_and_loses_none(form):
    rows = FORMS[form].splitlines()
    for begin in range(2, len(rows) - 2):
        found = events("\n".join(rows[begin:]) + "\n")
        names = [name for e in found if e.name == "ckpt.missing_shards" for name in e["missing"]]
        assert set(names) <= {"zero_pp_rank_2_mp_rank_00_optim_states.pt"}


@pytest.mark.parametrize("form", ["ls -lR", "ls -l of files", "find -ls", "tree -s"])
def test_an_end_that_is_cut_off_hides_files_and_loses_none(form):
    rows = FORMS[form].splitlines()
    for end in range(3, len(rows)):
        found = events("\n".join(rows[:end]) + "\n")
        names = [name for e in found if e.name == "ckpt.missing_shards" for name in e["missing"]]
        assert set(names) <= {"zero_pp_rank_2_mp_rank_00_optim_states.pt"}


def test_an_empty_file_in_a_listing_is_found_and_blocks_of_du_prove_none():
    text = FORMS["ls -l of files"].replace(f"{2 * GIB} Aug  1 10:03 ckpt/global_step400/zero_pp_rank_1", "0 Aug  1 10:03 ckpt/global_step400/zero_pp_rank_1")  # fmt: skip
    (zero,) = [event for event in events(text) if event.name == "ckpt.zero_size"]
    assert (zero["path"], zero.line) == (
        "ckpt/global_step400/zero_pp_rank_1_mp_rank_00_optim_states.pt",
        3,
    )
    blocks = FORMS["du -a"].replace(f"{2 * GIB // 1024}\tckpt/global_step400/zero_pp_rank_1", "0\tckpt/global_step400/zero_pp_rank_1")  # fmt: skip
    assert not [event for event in events(blocks) if event.name == "ckpt.zero_size"]


def test_rounded_sizes_are_not_compared_closely():
    rows = "".join(
        f"-rw-r--r-- 1 a a {size} Aug  1 10:0{step} out/ckpt_{step}00.pt\n"
        for step, size in ((1, "1.3G"), (2, "1.3G"), (3, "1.2G"))
    )
    assert not [event for event in events(rows) if event.name == "ckpt.size_outlier"]
    rows = rows.replace("1.2G", "0.4G")
    assert [e["step"] for e in events(rows) if e.name == "ckpt.size_outlier"] == [300]


def test_what_a_pointer_holds_is_read_from_cat():
    text = FORMS["ls -lR"] + "$ cat ckpt/latest\nglobal_step500\n"
    (dangling,) = [event for event in events(text) if event.name == "ckpt.latest_dangling"]
    assert (dangling["points_to"], dangling["why"]) == (
        "global_step500",
        "that checkpoint is not complete",
    )


@pytest.mark.parametrize(
    "text",
    [
        "saving to /data/ckpt/global_step500/mp_rank_00_model_states.pt took 12\n" * 5,
        "Loading /models/a/model-00001-of-00004.safetensors 12\n",
        "drwxr-xr-x 2 train train 4096 Aug  1 10:03 global_step500\n",
        "total loss: 3\n-rw-r--r-- 1 train train 12 Aug  1 10:03 notes.txt\n",
        "/data/ckpt/global_step500:\nFileNotFoundError: nothing here\n",
        "step 400 model.safetensors\nstep 500 model.safetensors\n",
        "",
    ],
)
def test_other_lines_are_no_listing(text):
    assert events(text) == []


@pytest.mark.parametrize(
    "text",
    ["", "total", "[[[[", "-rw-r--r-- 1 a a 12 Foo 99 99:99 x.pt", "9" * 5000, "│" * 4000, "-rw-r--r-- " * 700],
)  # fmt: skip
def test_any_line_is_harmless(text):
    row_of(text)


@pytest.mark.parametrize(
    "pattern",
    # A tree's bars and blanks are too alike for the check; a row has 1,500 characters at most.
    [
        one
        for name, one in vars(listing_rows).items()
        if isinstance(one, LazyPattern) and name != "TREE"
    ],
)
def test_no_pattern_of_rows_can_run_away(pattern):
    date = listing_rows.DATE
    assert problems(date) == []
    assert problems(pattern.pattern.replace(date, "date")) == []


def test_a_long_file_is_taken_as_a_whole_and_a_log_is_not():
    whole = FORMS["ls -l of files"] * 80
    assert accepts("listing.txt", whole.encode()[: 64 << 10])
    assert not accepts("listing.txt", whole.encode()[:1000])
    log = "".join(f"step {n} | loss 2.4\n" for n in range(5000))
    assert not accepts("a.log", (log + whole).encode()[: 64 << 10])
