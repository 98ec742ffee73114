import pytest

from diagnose.parsers.memory_phase import phase, users_frame

LIB = "/opt/venv/lib/python3.11/site-packages/"
TORCH = LIB + "torch/"
OUTER = ["/app/train.py:301 <module>", "/app/train.py:214 main"]
LAYERS = [TORCH + "nn/modules/module.py:1751 _wrapped_call_impl", TORCH + "nn/modules/module.py:1762 _call_impl", "/app/model.py:88 forward"]  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([TORCH + "cuda/__init__.py:319 _lazy_init"], "init"),
        ([TORCH + "cuda/__init__.py:529 set_device"], "init"),
        ([TORCH + "utils/data/_utils/pin_memory.py:98 pin_memory"], "pinned"),
        ([TORCH + "nn/modules/module.py:1343 to", TORCH + "nn/modules/module.py:1329 convert"], "placement"),
        ([LIB + "deepspeed/runtime/zero/partition_parameters.py:1120 _post_init_method"], "placement"),
        ([TORCH + "serialization.py:1471 load", TORCH + "serialization.py:698 _cuda_deserialize"], "load"),
        ([LIB + "transformers/modeling_utils.py:4201 from_pretrained", *LAYERS[:1], TORCH + "nn/modules/module.py:2581 load_state_dict"], "load"),
        ([TORCH + "distributed/checkpoint/state_dict_loader.py:180 load"], "load"),
        (LAYERS, "forward"),
        ([*LAYERS, TORCH + "nn/functional.py:3104 cross_entropy"], "loss"),
        ([*LAYERS, LIB + "transformers/models/llama/modeling_llama.py:180 eager_attention_forward", TORCH + "nn/functional.py:1890 softmax"], "attention"),
        ([TORCH + "_tensor.py:626 backward", TORCH + "autograd/graph.py:823 _engine_run_backward"], "backward"),
        ([TORCH + "autograd/graph.py:823 _engine_run_backward", TORCH + "utils/checkpoint.py:1110 unpack_hook", *LAYERS], "recompute"),
        ([TORCH + "optim/adamw.py:220 step", TORCH + "optim/adamw.py:158 _init_group"], "optimizer-state"),
        ([TORCH + "optim/adamw.py:220 step", TORCH + "optim/adamw.py:601 _multi_tensor_adamw"], "optimizer"),
        ([LIB + "deepspeed/runtime/zero/stage3.py:2101 step"], "optimizer"),
        ([TORCH + "nn/utils/clip_grad.py:82 clip_grad_norm_"], "clipping"),
        ([*LAYERS, TORCH + "distributed/fsdp/_flat_param.py:1301 unshard"], "gather"),
        ([*LAYERS, TORCH + "distributed/fsdp/_fully_shard/_fsdp_collectives.py:201 foreach_all_gather"], "gather"),
        ([TORCH + "distributed/fsdp/_fully_shard/_fsdp_collectives.py:330 foreach_reduce"], "reduction"),
        ([TORCH + "distributed/checkpoint/_state_dict_utils.py:410 _gather_state_dict"], "checkpoint"),
        ([LIB + "deepspeed/runtime/engine.py:3601 _consolidated_16bit_state_dict"], "checkpoint"),
        (["/app/train.py:240 evaluate", *LAYERS], "evaluation"),
        ([LIB + "transformers/generation/utils.py:2210 generate", *LAYERS], "evaluation"),
        ([TORCH + "cuda/graphs.py:84 capture_begin"], "capture"),
        ([LIB + "triton/testing.py:117 do_bench"], "compile"),
        ([TORCH + "distributed/distributed_c10d.py:4601 barrier"], "barrier"),
        ([TORCH + "distributed/distributed_c10d.py:1801 _new_process_group_helper"], "communicator"),
        ([], None),
        (["/app/tools.py:3 <lambda>"], None),
    ],
)  # fmt: skip
def test_phase(frames, expected):
    assert phase([*OUTER, *frames])[0] == expected


def test_the_innermost_telling_frame_is_named():
    inner = TORCH + "optim/adamw.py:158 _init_group"
    assert phase([*OUTER, TORCH + "optim/adamw.py:220 step", inner]) == ("optimizer-state", inner)


def test_code_of_the_user_is_the_innermost_frame_outside_packages():
    assert users_frame([*OUTER, *LAYERS]) == "/app/model.py:88 forward"
    assert users_frame([TORCH + "_tensor.py:626 backward"]) is None
