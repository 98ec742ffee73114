import pytest
from dialects import events

from diagnose.parsers.serving import scrapes as dialect
from diagnose.parsers.serving.exposition import moment_of_name
from diagnose.parsers.serving.snapshots import Distribution, unpacked

SCRAPE = """vllm:num_requests_running{engine="0"} 16.0
vllm:num_requests_waiting{engine="0"} 31.0
vllm:num_requests_waiting{engine="1"} 9.0
vllm:kv_cache_usage_perc{engine="0"} 0.41
vllm:kv_cache_usage_perc{engine="1"} 0.91
vllm:time_to_first_token_seconds_bucket{le="0.5"} 50.0
vllm:time_to_first_token_seconds_bucket{le="10.0"} 100.0
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 100.0
vllm:time_to_first_token_seconds_sum{engine="0"} 500.0
vllm:time_to_first_token_seconds_count{engine="0"} 100.0
vllm:request_queue_time_seconds_sum{engine="0"} 400.0
vllm:request_queue_time_seconds_count{engine="0"} 100.0
vllm:prefix_cache_queries_total{engine="0"} 1000.0
vllm:prefix_cache_hits_total{engine="0"} 250.0
vllm:num_preemptions_total{engine="0"} 7.0
vllm:request_success_total{finished_reason="stop"} 90.0
vllm:request_success_total{finished_reason="length"} 10.0
vllm:request_success_created{finished_reason="length"} 1.76e+09
"""


def scrapes_of(text, name="metrics.txt"):
    return [e for e in events(dialect, text, name) if e.name == "inference.metrics"]


def test_a_scrape_gives_means_and_shares():
    (event,) = scrapes_of(SCRAPE)
    expected = {
        "waiting": 40, "kv": 0.91, "kv_mean": pytest.approx(0.66), "ttft_mean": 5, "queue_mean": 4,
        "queue_share": 0.8, "hit": 0.25, "prefill_mean": None, "rest_mean": None, "requests": 100,
        "length_share": 0.1, "preemptions": 7, "preempted_share": 0.07, "ttft_p50": 0.5,
    }  # fmt: skip
    assert {name: event.fields[name] for name in expected} == expected


def test_the_time_to_the_first_token_is_split():
    text = SCRAPE + (
        "vllm:request_prefill_time_seconds_sum 60.0\nvllm:request_prefill_time_seconds_count 100.0\n"
    )
    (event,) = scrapes_of(text)
    assert event.fields["rest_mean"] == pytest.approx(0.4)
    assert event.fields["rest_share"] == pytest.approx(0.08)


def test_scrapes_in_a_row_are_told_apart():
    text = f"# 2026-01-05T10:00:00Z\n{SCRAPE}# 2026-01-05T10:01:00Z\n{SCRAPE}"
    first, second = scrapes_of(text)
    assert second.time - first.time == 60
    assert first.end_line < second.line


def test_servers_are_told_apart():
    text = 'vllm:num_requests_running{instance="a:8000"} 1.0\nvllm:num_requests_running{instance="b:8000"} 2.0\n'
    assert [e.fields["server"] for e in scrapes_of(text)] == ["a:8000", "b:8000"]


@pytest.mark.parametrize(
    "text, fields",
    [
        ('sglang:num_queue_reqs{model_name="a"} 5.0\nsglang:token_usage 0.98\nsglang:queue_time_seconds_sum 30\nsglang:queue_time_seconds_count 10\n', {"engine": "sglang", "waiting": 5, "kv": 0.98, "queue_mean": 3}),
        ("tgi_queue_size 12\ntgi_batch_current_size 4\ntgi_request_queue_duration_sum 8.0\ntgi_request_queue_duration_count 4\n", {"engine": "tgi", "waiting": 12, "running": 4, "queue_mean": 2}),
        ('nv_inference_request_success{model="a",version="1"} 100\nnv_inference_queue_duration_us{model="a"} 50000000\nnv_inference_compute_infer_duration_us{model="a"} 20000000\nnv_inference_count 400\nnv_inference_exec_count 100\n', {"engine": "triton", "queue_mean": 0.5, "inference_mean": 0.2, "batch_mean": 4}),
        ("trtllm_kv_cache_utilization 0.5\ntrtllm_request_queue_time_seconds_sum 30\ntrtllm_request_queue_time_seconds_count 10\n", {"engine": "tensorrt-llm", "kv": 0.5, "queue_mean": 3}),
        ("vllm_num_requests_running 3\r\nvllm:gpu_cache_usage_perc 0.5\r\n", {"running": 3, "kv": 0.5}),
        ("vllm:time_per_output_token_seconds_sum 2.0\nvllm:time_per_output_token_seconds_count 100.0\n", {"itl_mean": 0.02}),
        ("vllm:num_requests_running NaN\nvllm:num_requests_waiting 2.0 1767607200000\n", {"running": None, "waiting": 2}),
    ],
)  # fmt: skip
def test_every_engine_and_version_has_one_name(text, fields):
    (event,) = scrapes_of(text)
    assert {name: event.fields[name] for name in fields} == fields


def test_the_cache_is_read_from_labels():
    text = 'vllm:cache_config_info{block_size="16",gpu_memory_utilization="0.9",num_gpu_blocks="7191"} 1.0\nvllm:num_requests_running 0.0\n'
    (event,) = [e for e in events(dialect, text) if e.name == "inference.cache_config"]
    assert event.fields == {"block_size": 16, "blocks": 7191, "utilization": 0.9, "tokens": 115056}


def test_what_is_packed_comes_back():
    (event,) = scrapes_of(SCRAPE)
    snapshot = unpacked(event.fields["snapshot"])
    assert snapshot.counters["preemptions"] == 7
    assert snapshot.distributions["ttft"].buckets[0] == (0.5, 50)
    assert snapshot.finished == {"stop": 90, "length": 10}


@pytest.mark.parametrize(
    "buckets, share, expected",
    [
        (((1.0, 0.0), (2.0, 10.0), (float("inf"), 10.0)), 0.5, 1.5),
        (((1.0, 10.0), (float("inf"), 20.0)), 0.99, 1.0),
        (((1.0, 0.0), (float("inf"), 0.0)), 0.5, None),
        ((), 0.5, None),
    ],
)
def test_quantiles_lie_between_bounds(buckets, share, expected):
    assert Distribution(1.0, 10.0, buckets).quantile(share) == expected


@pytest.mark.parametrize(
    "name, dated",
    [
        ("m/metrics-2026-01-05T10-00-00.txt", True),
        ("1767607200.prom", True),
        ("node-07.prom", False),
    ],
)
def test_names_of_files_may_tell_the_moment(name, dated):
    assert (moment_of_name(name) is not None) is dated


@pytest.mark.parametrize(
    "text", ["", "see vllm:num_requests_waiting", "vllm: 3 servers", "# HELP vllm:x y", "nvme_errors 3"]
)  # fmt: skip
def test_prose_and_other_series_are_no_scrape(text):
    assert events(dialect, text) == []
