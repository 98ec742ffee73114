import pytest
from dialects import events

from diagnose.parsers import bad_sample as dialect

PATTERNS = dialect.PARSERS[0].patterns


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.sample[:50])
def test_a_sample_gives_one_event_only(pattern):
    assert [event.name for event in events(dialect, pattern.sample)] == [pattern.event]


@pytest.mark.parametrize(
    ("text", "what", "fields"),
    [
        ("PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f2c>", "image", {"path": None}),
        ("[rank3]: PIL.UnidentifiedImageError: cannot identify image file '/data/a b.jpg'", "image", {"path": "/data/a b.jpg"}),
        ("OSError: broken data stream when reading image file", "image", {"type": "OSError"}),
        ("tarfile.ReadError: ('unexpected end of data @ /data/s-1.tar')", "", None),
        ("pyarrow.lib.ArrowInvalid: JSON parse error: Invalid value. in row 3", "text", {"row": 3}),
        ("zlib.error: Caught BadGzipFile in DataLoader worker process 0.", "sample", {"type": "BadGzipFile"}),
        ("tensorflow.python.framework.errors_impl.DataLossError: {{function_node x}} truncated record at 8812", "record", {}),
    ],
)  # fmt: skip
def test_what_could_not_be_decoded(text, what, fields):
    found = events(dialect, text + "\r\n")
    if fields is None:
        assert found == []
        return
    assert [event.fields["what"] for event in found] == [what]
    assert {name: found[0].fields[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("skipping corrupt sample 18221", None),
        ("Skipped 12 bad images", 12),
        ("WARNING: skipping over the broken records of shard 3", None),
    ],
)
def test_samples_left_out(text, count):
    (event,) = events(dialect, text)
    assert (event.name, event.fields.get("count")) == ("dataloader.sample_skipped", count)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Corrupt JPEG data: premature end of data segment",
        "libpng warning: iCCP: known incorrect sRGB profile",
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.",
        "skipping the first 94 batches",
        "skip_invalid_samples: true",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step.",
    ],
)
def test_near_misses(text):
    assert events(dialect, text) == []
