import json
from types import SimpleNamespace

import pytest
from dialects import events

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.parsers.serving import bench_json, bench_table, genai_perf

TABLE = """============ Serving Benchmark Result ============
Successful requests:                     300
Failed requests:                         2
Maximum request concurrency:             25
Request rate configured (RPS):           4.00
Benchmark duration (s):                  733.10
Request throughput (req/s):              0.41
Total Token throughput (tok/s):          1843.53
---------------Time to First Token----------------
Mean TTFT (ms):                          1442.20
P99 TTFT (ms):                           6637.90
---------------Inter-Token Latency----------------
Max ITL (ms):                            2110.00
==================================================
"""
GENAI = """                     NVIDIA GenAI-Perf | LLM Metrics
┏━━━━━━━━━━━━┳━━━━━━┳━━━━━┳━━━━━┳━━━━━┳━━━━━┳━━━━━┓
┃  Statistic ┃  avg ┃ min ┃ max ┃ p99 ┃ p90 ┃ p75 ┃
┡━━━━━━━━━━━━╇━━━━━━╇━━━━━╇━━━━━╇━━━━━╇━━━━━╇━━━━━┩
│ Time To First Token (ms) │ 1,442.20 │ 102.30 │ 6,812.10 │ 6,637.90 │ 3,102.00 │ 1,812.00 │
│ Output sequence length │ 595.60 │ 539.00 │ 638.00 │ 636.80 │ 626.00 │ 608.00 │
│ Inter Token Latency (ms) │ 20.00 │ 10.00 │ 90.00 │ 80.00 │ 40.00 │ 30.00 │
│ Output Token Throughput Per User │ 49.10 │ 1.00 │ 90.00 │ 80.00 │ 40.00 │ 30.00 │
│ (tokens/sec/user) │ │ │ │ │ │ │
│ Request Throughput (per │ 0.41 │ N/A │ N/A │ N/A │ N/A │ N/A │
│ sec) │ │ │ │ │ │ │
└────────────┴──────┴─────┴─────┴─────┴─────┴─────┘
"""
CSV = (
    "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n"
    'Time To First Token (ms),"1,442.20",102.3,6812.1,6637.9,5000.0,3102.0,1812.0,1308.4,900.0\n'
    "\nMetric,Value\nRequest Throughput (per sec),0.41\nRequest Count (count),300\n"
)


def blocks(parser, text):
    lines = [peel(raw, "a.txt", n, NOBODY) for n, raw in enumerate(text.splitlines(), 1)]
    starts = [at for at, line in enumerate(lines) if parser.starts(line)]
    for start in starts:
        taken = [lines[start]]
        for line in lines[start + 1 :]:
            if parser.ends(taken, line):
                break
            taken.append(line)
        yield from parser.read(taken)


def expect(event, **fields):
    assert {name: event.fields[name] for name in fields} == pytest.approx(fields)


def test_a_table_is_read_in_seconds():
    (event,) = blocks(bench_table.PARSERS[0], TABLE + "and then something else\n")
    expect(
        event, requests=300, failed=2, rate=4, throughput=0.41, served_of_rate=0.1025,
        concurrency_limit=25, duration=733.1, total_tps=1843.53, ttft_mean=1.4422, ttft_p99=6.6379,
        itl_max=2.11,
    )  # fmt: skip
    assert event.fields["ttft_median"] is None
    assert event.end_line == 14


def test_an_unlimited_rate_is_no_rate():
    (event,) = blocks(bench_table.PARSERS[0], TABLE.replace("4.00", "inf "))
    assert (event.fields["rate"], event.fields["served_of_rate"]) == (None, None)
    assert event.fields["unlimited"] is True


def test_rows_of_sglang_are_read():
    text = TABLE.replace("Failed requests:    ", "Backend: sglang\nAccept length: 2.31\n#").replace(
        "P99 TTFT", "Mean E2E Latency (ms): 9000.0\nP99 TTFT"
    )
    (event,) = blocks(bench_table.PARSERS[0], text)
    expect(event, accept_length=2.31, e2e_mean=9)
    assert event.fields["program"] == "sglang"


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_table_cut_before_its_figures_gives_nothing(lines):
    text = "\n".join(TABLE.split("\n")[:lines])
    assert list(blocks(bench_table.PARSERS[0], text)) == []


def test_the_table_of_genai_perf_is_read():
    (event,) = blocks(genai_perf.PARSERS[0], GENAI)
    expect(
        event,
        ttft_mean=1.4422,
        ttft_p99=6.6379,
        ttft_max=6.8121,
        tpot_mean=0.02,
        throughput=0.41,
        output_mean=595.6,
    )


def test_its_csv_is_read():
    (event,) = events(SimpleNamespace(PARSERS=genai_perf.PARSERS[1:]), CSV, "profile.csv")
    expect(event, ttft_mean=1.4422, ttft_median=1.3084, throughput=0.41, requests=300)


@pytest.mark.parametrize(
    "result, fields",
    [
        ({"backend": "vllm", "request_rate": 4.0, "completed": 300, "request_throughput": 0.41, "mean_ttft_ms": 1442.2, "p99_e2el_ms": 9000.0, "itls": [[0.02, 2.5], []], "errors": ["", "timeout"]}, {"served_of_rate": 0.1025, "ttft_mean": 1.4422, "e2e_p99": 9, "itl_max": 2.5, "failed": 1}),
        ({"backend": "sglang", "request_rate": "inf", "completed": 3, "request_throughput": 2.0, "mean_e2e_latency_ms": 100.0}, {"e2e_mean": 0.1, "throughput": 2.0}),
        ({"request_throughput": {"unit": "requests/sec", "avg": 0.41}, "time_to_first_token": {"unit": "ms", "avg": 1442.2, "p50": 1308.4}, "request_count": {"avg": 300}}, {"throughput": 0.41, "ttft_median": 1.3084, "requests": 300}),
    ],
)  # fmt: skip
def test_json_results_are_read(result, fields):
    (event,) = events(bench_json, json.dumps(result, indent=1))
    expect(event, **fields)


def test_a_result_on_each_line_is_a_run():
    line = json.dumps({"backend": "sglang", "completed": 3, "request_throughput": 2.0}) + "\n"
    assert [event.line for event in events(bench_json, line * 2)] == [1, 2]


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"request_throughput": 1, "loss": 2}', '["request_throughput", "completed"]'],
)
def test_other_json_is_no_result(text):
    assert events(bench_json, text) == []
