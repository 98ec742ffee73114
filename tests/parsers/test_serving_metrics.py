import pytest

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.parsers.serving import metrics as dialect

TABLE = """============ Serving Benchmark Result ============
Successful requests:                     300
Request rate configured (RPS):           4.00
Request throughput (req/s):              0.41
---------------Time to First Token----------------
Mean TTFT (ms):                          1442.20
P99 TTFT (ms):                           6637.90
==================================================
"""
SCRAPE = """vllm:num_requests_running{engine="0"} 16.0
vllm:num_requests_waiting{engine="0"} 31.0
vllm:num_requests_waiting{engine="1"} 9.0
vllm:kv_cache_usage_perc{engine="0"} 0.41
vllm:time_to_first_token_seconds_bucket{le="0.5"} 12.0
vllm:time_to_first_token_seconds_sum{engine="0"} 500.0
vllm:time_to_first_token_seconds_count{engine="0"} 100.0
vllm:request_queue_time_seconds_sum{engine="0"} 400.0
vllm:request_queue_time_seconds_count{engine="0"} 100.0
vllm:prefix_cache_queries_total{engine="0"} 1000.0
vllm:prefix_cache_hits_total{engine="0"} 250.0
"""


def record(parser, text):
    lines = [peel(raw, "a.txt", n, NOBODY) for n, raw in enumerate(text.splitlines(), 1)]
    assert parser.starts(lines[0])
    taken = [lines[0]]
    for line in lines[1:]:
        if parser.ends(taken, line):
            break
        taken.append(line)
    return list(parser.read(taken))


def test_a_table_is_read_in_seconds():
    (event,) = record(dialect.BENCHMARK, TABLE + "and then something else\n")
    assert event.fields["ttft_mean"] == 1.4422
    assert event.fields["served_of_rate"] == 0.1025
    assert event.end_line == 8


def test_an_unlimited_rate_is_no_rate():
    text = TABLE.replace("4.00", "inf ")
    assert record(dialect.BENCHMARK, text)[0].fields["served_of_rate"] is None


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_table_cut_before_its_figures_gives_nothing(lines):
    text = "\n".join(TABLE.split("\n")[:lines])
    assert record(dialect.BENCHMARK, text) == []


def test_a_scrape_gives_means_and_shares():
    (event,) = record(dialect.SCRAPE, SCRAPE)
    assert event.fields["waiting"] == 40
    assert event.fields["queue_mean"] == 4
    assert event.fields["queue_share"] == 0.8
    assert event.fields["hit"] == 0.25
    assert event.fields["prefill_mean"] is None


@pytest.mark.parametrize(
    "text", ["see vllm:num_requests_waiting", "vllm: 3 servers", "# HELP vllm:x y"]
)
def test_prose_opens_no_scrape(text):
    assert not dialect.SCRAPE.starts(peel(text, "a.txt", 1, NOBODY))
