import pytest
from dialects import events

from diagnose.parsers.serving import requests as dialect

VLLM = (
    "Received request cmpl-7: prompt: 'my secret plan', params: SamplingParams(n=2, presence_penalty=0.0, "
    "repetition_penalty=1.05, temperature=0.0, top_p=1.0, top_k=-1, stop=['###'], stop_token_ids=[], "
    "max_tokens=4096, prompt_logprobs=None, guided_decoding=None), prompt_token_ids: [17, 4711]"
)
SGLANG = "Receive: obj=GenerateReqInput(rid='7f', text='my secret plan', sampling_params={'temperature': 0.6, 'max_new_tokens': 128, 'stop': []}, return_logprob=False)"
FINISH = "Finish: obj=GenerateReqInput(rid='7f', text='my secret plan', sampling_params={'temperature': 0.6}), out={'text': 'the secret', 'meta_info': {'id': '7f', 'finish_reason': {'type': 'length', 'length': 128}, 'prompt_tokens': 812, 'completion_tokens': 128, 'cached_tokens': 512, 'e2e_latency': 1.92, 'output_token_logprobs': [[-0.1, 17, 'secret']]}}"
ANSWER = '{"id": "cmpl-7", "metrics": {"time_to_first_token_ms": 41.0, "generation_time_ms": 800.0, "queue_time_ms": 2310.5, "mean_itl_ms": 21.3}}'


@pytest.mark.parametrize(
    "text, name, fields",
    [
        (VLLM, "inference.request", {"temperature": 0, "top_k": -1, "n": 2, "repetition_penalty": 1.05, "stops": True, "guided": False, "prompt_logprobs": None}),
        (VLLM.replace("guided_decoding=None", "guided_decoding=GuidedDecodingParams(json='x')"), "inference.request", {"guided": True}),
        ("Using default chat sampling params from model: {'repetition_penalty': 1.05, 'top_k': 20}", "inference.sampling_defaults", {"repetition_penalty": 1.05, "top_k": 20, "temperature": None}),
        ("Using default chat sampling params from model generation config: {'temperature': 1.0}", "inference.sampling_defaults", {"temperature": 1.0}),
        (SGLANG, "inference.request", {"temperature": 0.6, "max_tokens": 128, "stops": False}),
        (FINISH, "inference.timing", {"engine": "sglang", "total": 1.92, "cached_tokens": 512, "output_tokens": 128, "finish_reason": "length", "queue": None}),
        (ANSWER, "inference.timing", {"engine": "vllm", "queue": 2.3105, "prefill": 0.041, "decode": 0.8, "total": pytest.approx(3.1515), "ttft": pytest.approx(2.3515), "itl": pytest.approx(0.0213)}),
    ],
)  # fmt: skip
def test_logged_requests_are_read(text, name, fields):
    (event,) = [event for event in events(dialect, text + "\r\n") if event.name == name]
    assert {key: event.fields[key] for key in fields} == fields


@pytest.mark.parametrize("text", [VLLM, SGLANG, FINISH])
def test_prompts_and_answers_are_not_kept(text):
    for event in events(dialect, text):
        assert "secret" not in event.text + str(event.fields)
        assert "4711" not in event.text + str(event.fields)


@pytest.mark.parametrize(
    "text", ["", "params: Sampling", "SamplingParams are documented", '{"metrics": {"loss": 0.1}}']
)
def test_cut_lines_and_other_metrics_give_nothing(text):
    assert events(dialect, text) == []
