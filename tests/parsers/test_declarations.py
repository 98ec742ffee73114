"""What every parser promises: samples that match, safe patterns, needed literals, any text is safe."""

import runpy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.ingest.pattern import problems, proves
from diagnose.ingest.pieces import Pieces
from diagnose.parsers import parsers, shipped
from diagnose.parsers.base import FileParser, FolderParser, LineParser
from diagnose.parsers.collect import Collector
from diagnose.parsers.gate import Look
from diagnose.parsers.kept import events_of
from diagnose.parsers.reader import Reader

PATTERNS = [
    pytest.param(pattern, id=f"{parser.name}-{pattern.event}-{number}")
    for parser in parsers()
    if isinstance(parser, LineParser)
    for number, pattern in enumerate(parser.patterns)
]
READER = Reader(parsers())
FILE_PARSERS = [parser for parser in parsers() if isinstance(parser, FileParser)]
NAMES = (
    "a.log", "a.json", "nccl_trace_rank_3", "fr_dump_0", "config.yaml", "checkpoint_manifest.yaml",
    "mlx5_0/ports/1/counters/symbol_error", "sys/class/net/eth0/statistics/rx_errors",
)  # fmt: skip
SAMPLES = [
    text
    for parser in parsers()
    for text in (
        [pattern.sample for pattern in parser.patterns]
        if isinstance(parser, LineParser)
        else [getattr(parser, "sample", "")]
    )
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_its_sample_is_found(pattern):
    lines = [peel(raw, "a.log", 1, NOBODY) for raw in pattern.sample.split("\n")]
    assert any(pattern.match(line) for line in lines)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_cannot_run_away_and_its_literals_are_needed(pattern):
    assert problems(pattern.regex) == []
    assert pattern.required
    assert proves(pattern.regex, pattern.required)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_says_who_prints_it(pattern):
    assert pattern.source.strip()


def test_names_of_parsers_are_unique():
    names = [parser.name for parser in parsers()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["index", "literals"])
def test_what_ships_of_the_declarations_is_fresh(name):
    script = Path(__file__).parents[2] / ".ci" / "derive.py"
    made = runpy.run_path(str(script))
    shipped = made["FILES"][name].read_text(encoding="utf-8")
    assert shipped == made[name](), "run: python .ci/derive.py"


def test_the_index_leads_to_the_parsers_that_the_modules_declare():
    assert tuple(late.parser for late in shipped()) == parsers()
    by_index, by_module = Reader(shipped()), Reader(parsers())
    assert by_index.matcher.literals == by_module.matcher.literals
    numbers = range(len(by_module.matcher.literals))
    assert [by_index.routes[one] for one in numbers] == [by_module.routes[one] for one in numbers]


@pytest.mark.parametrize("parser", FILE_PARSERS, ids=lambda parser: parser.name)
def test_what_a_file_parser_accepts_passes_its_gate(parser):
    heads = {one.sample.encode()[: 64 << 10] for one in FILE_PARSERS} | {b"", b"39\n"}
    heads |= {parser.sample.encode() * 1000, b"\xef\xbb\xbf\r\n" + parser.sample.encode()}
    for name in NAMES:
        for head in heads:
            if parser.accepts(name, head[: 64 << 10]):
                assert parser.gate.admits(Look(name, head[: 64 << 10], READER.marks))


@pytest.mark.parametrize(
    "name",
    [
        "__0_0.distcp", "s/.metadata", ".metadata.tmp", "m.pt", "m.pth", "m.pth.tar", "m.ckpt",
        "m.safetensors", "m.nemo", "step=5-unfinished", "latest", "a/latest_universal",
        "latest_checkpointed_iteration.txt", "trainer_state.json", "_CHECKPOINT_METADATA",
        "_METADATA", "manifest.ocdbt", "commit_success.txt", ".zarray", "random_states_0.pkl",
        "custom_checkpoint_1.pkl", "iter_500/metadata.json", "model.safetensors.index.json",
        "pytorch_model-00001-of-00002.bin", "optimizer.bin", "scheduler.bin", "sampler_1.bin",
        "dl_state_dict.bin", "training_args.bin", "adapter_model.bin",
    ],
)  # fmt: skip
def test_what_a_folder_parser_wants_passes_its_gate(name):
    folder_parsers = [parser for parser in parsers() if isinstance(parser, FolderParser)]
    assert any(parser.wants(name) for parser in folder_parsers)
    assert all(one.gate.admits_name(name) for one in folder_parsers if one.wants(name))


torn = st.tuples(st.sampled_from(SAMPLES), st.integers(0, 400), st.integers(0, 400)).map(
    lambda cut: cut[0][min(cut[1:]) : max(cut[1:])]
)
texts = st.lists(st.one_of(torn, st.text(max_size=40)), max_size=8).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_any_text_gives_records_within_it_and_no_exception(text):
    import io

    data = text.encode("utf-8", "surrogatepass")
    into = Collector("a.log")
    READER.read("a.log", NOBODY, Pieces(io.BytesIO(data)), into)
    last = data.count(b"\n") + 1
    assert all(1 <= event.line <= event.end_line <= last for event in events_of(into.records()))
    assert not [note for note in into.notes if "could not be read (" in note]
