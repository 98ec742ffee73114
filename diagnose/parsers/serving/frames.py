"""In which phase of a serving engine a Python traceback ends.

A frame of the engine's own code tells whether memory ran out while the model was loaded, while the
memory was profiled, while CUDA graphs were captured, or while requests were served::

      File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2301, in profile_run

*Empty*: no traceback of an engine. *Cut off*: a frame is one line; what is missing above tells no phase.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern

_ALL = "vLLM 0.2 to 0.19"

_SERVING = (
    "execute_model",
    "forward_batch_generation",
    "forward_extend",
    "forward_decode",
    "run_batch",
    "step",
    "busy_loop",
    "run_busy_loop",
    "run_engine_loop",
    "event_loop_overlap",
    "event_loop_normal",
    "prefill",
    "decode",
    "Prefill",
    "Decode",
    "run_engine_core",
)
"""Functions of the loops and of the step that serve requests."""

FRAMES = LineParser(
    name="serving-frames",
    title="frames of serving engines in a traceback, by phase",
    patterns=(
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>profile_run|_dummy_run|profile_num_available_blocks|determine_num_available_blocks|determine_available_memory|profile_max_num_token)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2301, in profile_run',
            constants={"phase": "profile"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>capture_model|_capture_cudagraphs|capture_one_batch_size|init_device_graphs|init_cuda_graphs|capture)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2401, in capture_model',
            constants={"phase": "capture"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"with torch\.cuda\.(?P<function>graph)\((?:cudagraph,|self\._graph,|\s*cudagraph\b)",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, vllm/compilation/backends.py and cuda_graph.py, vllm/worker/model_runner.py",
            sample="    with torch.cuda.graph(cudagraph, pool=self.graph_pool):",
            constants={"phase": "capture"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>load_model|load_weights|create_weights)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 180, in load_model',
            constants={"phase": "load"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang|text_generation_server)[/\\]\S{1,160}, line \d+, in (?P<function>_get_prompt_logprobs_dict|_get_prompt_logprobs|compute_logprobs|gather_logprobs|_get_logprobs|get_top_logprobs|get_token_ids_logprobs|compute_temp_top_p_normalized_logprobs|process_input_logprobs|batch_top_tokens|add_input_logprob_return_values)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, SGLang and TGI, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/sample/sampler.py", line 168, in gather_logprobs',
            constants={"phase": "logprobs"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>_execute_mm_encoder|_execute_encoder|get_multimodal_embeddings|embed_multimodal|_process_image_input|_process_video_input|get_image_feature|get_video_feature)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1890, in _execute_mm_encoder',
            constants={"phase": "images"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>wake_up|create_and_map|resume_memory_occupation|reload_weights|update_weights_from_\w+|update_weights)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/device_allocator/cumem.py", line 231, in wake_up',
            constants={"phase": "wake"},
        ),
        Pattern(
            event="inference.frame",
            regex=rf"[/\\](?:vllm|sglang|lmdeploy|text_generation_server)[/\\]\S{{1,160}}, line \d+, in (?P<function>{'|'.join(_SERVING)})\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, SGLang and TGI, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 441, in execute_model',
            literals=tuple(f", in {name}" for name in _SERVING),
            constants={"phase": "serving"},
        ),
    ),
)  # fmt: skip

PARSERS = (FRAMES,)
