from types import SimpleNamespace

import pytest
from dialects import events, measured, records

from diagnose.parsers.serving import launch, sglang_batches, sglang_messages

dialect = SimpleNamespace(PARSERS=(*sglang_batches.PARSERS, *sglang_messages.PARSERS, launch.NAMES))

DECODE = "[2026-01-05 10:00:01 TP0] Decode batch, #running-req: 60, #token: 370959, token usage: 0.82, cuda graph: True, gen throughput (token/s): 4594.01, #queue-req: 12, \n"
PREFILL = "[2026-01-05 10:00:00 TP0] Prefill batch, #new-seq: 3, #new-token: 6144, #cached-token: 2048, token usage: 0.41, #running-req: 57, #queue-req: 12, \n"


def test_a_decode_line_is_read():
    (record,) = measured(dialect, DECODE)
    assert record.values == {
        "running": 60, "waiting": 12, "kv_cache_usage": 0.82, "generation_tokens_per_s": 4594.01,
    }  # fmt: skip


def test_the_hit_rate_is_of_the_batch():
    (record,) = measured(dialect, PREFILL)
    assert record.values["prefix_cache_hit_rate"] == 0.25


def prefills(batches):
    return "".join(
        f"[2026-01-05 10:00:00 TP0] Prefill batch, #new-seq: 2, #new-token: {2000 - cached}, "
        f"#cached-token: {cached}, token usage: 0.41, #running-req: 9, #queue-req: 3, \n"
        for cached in batches
    )


def falls(text):
    return [e.fields["fall"] for e in events(dialect, text) if e.name == "inference.prefix_cache"]


def test_single_batches_are_no_fall_of_the_hit_rate():
    assert max(falls(prefills([1800, 0, 1800, 200, 1700, 0] * 60)), default=0) < 0.1


def test_a_hit_rate_that_stays_low_is_a_fall():
    (fall,) = falls(prefills([1600] * 120 + [0] * 120))
    assert fall > 0.7


def test_older_lines_state_the_hit_rate():
    line = prefills([0]).replace("token usage", "cache hit rate: {}%, token usage")
    (fall,) = falls("".join(line.format(rate) for rate in (81.5, 81.0, 81.2, 40.0, 20.0)))
    assert fall == pytest.approx(0.61)


def test_every_kind_of_pool_and_graph_is_read():
    text = DECODE.replace("batch,", "batch [77],").replace(
        "token usage: 0.82, cuda graph: True", "full token usage: 0.52, swa token usage: 0.93, "
        "accept len: 2.31, accept rate: 0.58, cuda graph: False"
    )  # fmt: skip
    (record,) = measured(dialect, text)
    assert (record.values["kv_cache_usage"], record.values["accept_length"]) == (0.93, 2.31)
    (event,) = [e for e in events(dialect, text) if e.name == "inference.decode_graphs"]
    assert event.fields["share"] == 1


def test_older_signs_and_orders_are_read():
    text = "[2025-01-05 10:00:01 TP0] Decode batch. #running-req: 8, #token: 9222, token usage: 0.99, gen throughput (token/s): 112.10, #queue-req: 40\r\n"
    (record,) = measured(dialect, text)
    assert (record.values["waiting"], record.values["kv_cache_usage"]) == (40, 0.99)


def test_a_queue_over_several_lines_is_told():
    (event,) = [e for e in events(dialect, DECODE * 4) if e.name == "inference.queue"]
    assert (event.fields["samples"], event.fields["waiting_max"]) == (4, 12)


@pytest.mark.parametrize(
    "text, name, fields",
    [
        ("KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.5123 -> 0.6321", "inference.preempted", {"retracted": 2, "ratio": 0.5123}),
        ("KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 812, #new_token_ratio: 0.5 -> 0.6", "inference.preempted", {"retracted": 1, "ratio": 0.5, "ratio_after": 0.6}),
        ("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 600000", "inference.kv_tokens", {"tokens": 600000}),
        ("Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.6", "inference.no_kv_room", {"utilization": 0.6}),
        ("Exception: Capture cuda graph failed: CUDA out of memory.", "inference.oom", {"phase": "capture"}),
        ("Decode out of memory. Try to lower your batch size.", "inference.kv_pool_empty", {"kind": "Decode"}),
        ("server_args=ServerArgs(model_path='/models/a', mem_fraction_static=0.88, tp_size=1)", "inference.utilization", {"value": 0.88}),
    ],
)  # fmt: skip
def test_messages_are_read_with_their_values(text, name, fields):
    (event,) = [event for event in events(dialect, text) if event.name == name]
    assert {key: event.fields[key] for key in fields} == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[2026-01-05 10:00:01 TP0] Decode batch, #running-req: 60, #tok",
        "Prefill batches are large\n",
        "the watchdog may time out\n",
    ],
)
def test_cut_lines_and_prose_give_nothing(text):
    assert records(dialect, text) == []
