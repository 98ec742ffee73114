import pytest
from dialects import events, measured, records

from diagnose.parsers.serving import vllm_stats as dialect


def v1(running, waiting, kv, *, prompt=500.0, generated=900.0, hit=20.0, extra="", engine="000"):
    return (
        f"Engine {engine}: Avg prompt throughput: {prompt} tokens/s, Avg generation throughput: "
        f"{generated} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, {extra}"
        f"GPU KV cache usage: {kv}%, Prefix cache hit rate: {hit}%\n"
    )


V0 = (
    "INFO 01-05 10:00:05 metrics.py:449] Avg prompt throughput: 812.4 tokens/s, Avg generation "
    "throughput: 1204.9 tokens/s, Running: 61 reqs, Swapped: 2 reqs, Pending: 12 reqs, GPU KV cache "
    "usage: 92.1%, CPU KV cache usage: 3.0%.\n"
    "INFO 01-05 10:00:05 metrics.py:465] Prefix cache hit rate: GPU: 41.20%, CPU: 0.00%\n"
)


def named(text, name):
    return [event for event in events(dialect, text) if event.name == name]


def test_a_line_of_the_newer_engine_is_read():
    text = v1(20, 23, 98.4, extra="Deferred: 2 reqs, Preemptions: 7, ")
    (record,) = measured(dialect, text)
    assert record.values == pytest.approx(
        {
            "prompt_tokens_per_s": 500, "generation_tokens_per_s": 900, "running": 20,
            "waiting": 23, "deferred": 2, "preemptions": 7, "kv_cache_usage": 0.984,
            "prefix_cache_hit_rate": 0.2,
        }
    )  # fmt: skip


def test_a_line_of_the_older_engine_is_read():
    (record,) = measured(dialect, V0)
    assert record.values["waiting"] == 12
    assert record.values["kv_cache_usage"] == pytest.approx(0.921)
    assert named(V0, "inference.preemptions")[0].fields["count"] == 2


def test_the_optional_parts_are_read():
    text = v1(3, 1, 40.0, extra="Deferred: 2 reqs, Corrupted: 4 reqs, ").replace(
        "20.0%\n", "20.0%, External prefix cache hit rate: 3.0%, MM cache hit rate: 60.0%\n"
    )
    (record,) = measured(dialect, text)
    assert record.values["deferred"] == 2
    assert record.values["external_hit_rate"] == pytest.approx(0.03)
    assert record.values["multimodal_hit_rate"] == pytest.approx(0.6)
    assert record.values["prefix_cache_hit_rate"] == pytest.approx(0.2)
    (event,) = named(text, "inference.corrupted")
    assert event.fields["count"] == 4


def test_a_line_of_several_engines_says_so():
    text = v1(9, 9, 50.0).replace("Engine 000", "4 Engines Aggregated") * 3
    (event,) = named(text, "inference.queue")
    assert (event.fields["engine"], event.fields["engines"]) == ("all", 4)


def test_a_queue_is_told_once_with_its_levels():
    text = v1(4, 0, 9.0) + v1(10, 9, 30.0) + v1(12, 9, 35.0) + v1(14, 6, 38.0) + v1(15, 0, 40.0)
    (event,) = named(text, "inference.queue")
    assert (event.line, event.end_line) == (2, 4)
    assert event.fields["samples"] == 3
    assert event.fields["waiting_per_running"] == 0.75
    assert event.fields["running_range"] == 4
    assert event.fields["drained"] is True


def test_engines_are_told_apart():
    text = "".join(v1(4, 0, 9.0, engine="000") + v1(9, 9, 95.0, engine="001") for _ in range(3))
    (event,) = named(text, "inference.queue")
    assert (event.fields["engine"], event.fields["samples"]) == ("001", 3)


def test_the_fall_of_the_hit_rate_begins_where_it_leaves_its_level():
    rates = [84.0, 84.2, 84.1, 60.0, 30.0, 12.0]
    text = "".join(v1(10, 0, 30.0, hit=rate) for rate in rates)
    (event,) = named(text, "inference.prefix_cache")
    assert (event.line, event.end_line) == (4, 6)
    assert event.fields["before"] == pytest.approx(0.841)
    assert event.fields["after"] == pytest.approx(0.12)


def test_requests_without_a_token_are_a_stall():
    still = v1(3, 1, 9.0, prompt=0.0, generated=0.0)
    (event,) = named(v1(3, 0, 9.0) + still * 3, "inference.stall")
    assert (event.fields["samples"], event.fields["recovered"]) == (3, False)


@pytest.mark.parametrize(
    "text, name",
    [
        (v1(0, 0, 0.0, prompt=0.0, generated=0.0) * 4, "inference.stall"),
        (v1(0, 0, 0.0, prompt=0.0, generated=0.0) * 4, "inference.serving"),
        (v1(200, 0, 99.9) * 4, "inference.queue"),
        (v1(200, 0, 99.9) * 4, "inference.preemptions"),
        ("".join(v1(9, 0, 9.0, hit=rate) for rate in (0.0, 10.0, 40.0, 80.0)), "inference.prefix_cache"),
        (v1(9, 0, 9.0, hit=90.0) + v1(9, 0, 9.0, hit=20.0) * 3, "inference.prefix_cache"),
    ],
    ids=["idle", "idle-serves-nothing", "full-without-queue", "full-without-loss", "warm-up", "first-requests-hit"],
)  # fmt: skip
def test_ordinary_work_is_not_told(text, name):
    assert named(text, name) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Avg prompt throughput: 812.4 tokens/s, Avg generation thr",
        "Avg prompt throughput: 812.4 tokens/s, Avg generation throughput: 3.0 tokens/s, Running: ",
        "we saw an Avg prompt throughput: of 812 tokens\n",
    ],
)
def test_cut_lines_and_prose_give_nothing(text):
    assert records(dialect, text) == []


def test_a_line_cut_behind_the_running_requests_is_still_a_sample():
    (record,) = measured(dialect, v1(7, 3, 50.0)[:130].rstrip() + "\r\n")
    assert record.values["running"] == 7
    assert "kv_cache_usage" not in record.values
