"""In which phase of a job a traceback ends, as far as memory is concerned.

Not a parser: the facts about memory ask it.

================== ===============================================================================
``init``            The process's first call to CUDA: the context is created
``pinned``          Host memory that is pinned for transfers; no memory of the device
``placement``       The model is moved to the device, or wrapped and sharded
``load``            A checkpoint or weights are loaded
``checkpoint``      A checkpoint is gathered or written
``evaluation``      Evaluation or generation
``capture``         A CUDA graph is captured
``compile``         Kernels are tuned, or buffers of a compiled graph
``barrier``         A barrier of torch.distributed
``communicator``    A communicator is created, or its first collective
``gather``          Sharded parameters are gathered
``reduction``       Gradients are reduced
``clipping``        Gradients are clipped
``optimizer-state`` The optimizer creates its states, which it does in its first step
``optimizer``       Another step of the optimizer
``recompute``       Activations are computed again inside the backward pass
``backward``        The backward pass
``loss``            Loss and logits
``attention``       Attention that is not fused
``forward``         Another part of the forward pass
================== ===============================================================================

The innermost frame that tells a phase counts. ``loss``, ``attention`` and ``forward`` say which
layer ran, so they count only where no frame says what it ran for.
"""

from collections.abc import Sequence

from diagnose.ingest.lazy import LazyPattern

Table = tuple[tuple[str, LazyPattern[str]], ...]

WORK: Table = (
    ("pinned", LazyPattern(r"/pin_memory\.py:|pin_memory(?:_loop)?$|cudaHostAlloc")),
    ("init", LazyPattern(r"/torch/(?:cuda|xpu|hip)/__init__\.py:\d+ (?:_lazy_init|set_device|current_device)")),
    ("optimizer-state", LazyPattern(r"/optim\w*/\w+\.py:\d+ _init_group|init_optimizer_states?$|initialize_optimizer_states$")),
    ("clipping", LazyPattern(r"/clip_grad\.py:|clip_grad_norm_?$|get_total_norm$")),
    ("optimizer", LazyPattern(
        r"_multi_tensor_\w+$|_single_tensor_\w+$|_foreach_\w+$|_fused_adam\w*$|/zero/stage_1_and_2\.py:\d+ step|/stage3\.py:\d+ step"
        r"|/distrib_optimizer\.py:|/(?:optim|optimizers?)/\w+\.py:\d+ step")),
    ("checkpoint", LazyPattern(
        r"/_state_dict_utils\.py:|_full_post_state_dict_hook|summon_full_params|gather_16bit_weights|_consolidated_16bit_state_dict"
        r"|/state_dict_saver\.py:| save_(?:checkpoint|pretrained|model|state)$|/serialization\.py:\d+ (?:save|_save)$")),
    ("load", LazyPattern(
        r"/torch/serialization\.py:\d+ (?:load|_load|_legacy_load|persistent_load|load_tensor|restore_location|default_restore_location|_cuda_deserialize|_deserialize)"
        r"|load_state_dict$|from_pretrained$| load_(?:checkpoint|model|weights)$|/state_dict_loader\.py:|load_sharded_optimizer_state_dict"
        r"|/safetensors/\w+\.py:\d+ load_file|/modeling_utils\.py:\d+ _load")),
    ("gather", LazyPattern(
        r"/_flat_param\.py:\d+ (?:unshard|_alloc_padded_unsharded_flat_param|_alloc_storage)|/_runtime_utils\.py:\d+ _unshard"
        r"|foreach_all_gather$|/_fsdp_param_group\.py:\d+ unshard|/partition_parameters\.py:\d+ _?all_gather|/partitioned_param_coordinator\.py:")),
    ("reduction", LazyPattern(r"foreach_reduce$|_reduce_grad\w*$|reduce_scatter\w*$|average_tensor$|/reducer\.cpp")),
    ("placement", LazyPattern(
        r"/module\.py:\d+ (?:_apply|convert|to|cuda)$|/partition_parameters\.py:|/fsdp/_init_utils\.py:|_fsdp_init\.py:|dispatch_model$")),
    ("capture", LazyPattern(r"/cuda/graphs\.py:|/cudagraph_trees\.py:")),
    ("compile", LazyPattern(r"/_inductor/.{0,200}autotun|/triton/testing\.py:\d+ do_bench|/torchinductor_")),
    ("barrier", LazyPattern(r"/distributed_c10d\.py:\d+ barrier|/comm/\w+\.py:\d+ barrier")),
    ("communicator", LazyPattern(r"/distributed_c10d\.py:\d+ (?:new_group|_new_process_group_helper|init_process_group|all_reduce|broadcast|all_gather)")),
    ("recompute", LazyPattern(r"/utils/checkpoint\.py:\d+ (?:unpack_hook|recompute_fn|backward)|/checkpointing\.py:\d+ backward|/tensor_parallel/random\.py:\d+ backward")),
    ("backward", LazyPattern(r"/torch/_tensor\.py:\d+ backward|/autograd/__init__\.py:\d+ (?:backward|grad)|_engine_run_backward$|run_backward$")),
    ("evaluation", LazyPattern(r"/generation/utils\.py:\d+ (?:generate|_sample|_beam_search)| (?:evaluate|evaluation_loop|evaluation|validate|validation_step|run_validation|eval_epoch|generate)$|prediction_step$")),
)  # fmt: skip

LAYERS: Table = (
    ("loss", LazyPattern(r"/functional\.py:\d+ (?:cross_entropy|log_softmax|nll_loss)|vocab_parallel_cross_entropy|CrossEntropy|lm_head|compute_logits|/loss/loss_\w+\.py:|/modules/loss\.py:")),
    ("attention", LazyPattern(r"scaled_dot_product_attention|eager_attention_forward| baddbmm| _attn$|/functional\.py:\d+ softmax|(?:CoreAttention|core_attention)")),
)  # fmt: skip

MODULES: Table = (("forward", LazyPattern(r"/module\.py:\d+ _(?:wrapped_)?call_impl| forward$")),)
"""Sources: PyTorch 1.13 to 2.14, DeepSpeed 0.3 to 0.19, Megatron-LM, transformers 4."""

_LIBRARY = LazyPattern(
    r"(?:site-packages|dist-packages|lib/python3[.\d]*|importlib\b.*)/|^<|/torch(?:ch)?inductor_"
)


def phase(frames: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the phase that some frames tell and the frame that tells it.

    Args:
        frames: ``path:line function``, the innermost last.
    """
    for table in (WORK, LAYERS, MODULES):
        for frame in reversed(frames):
            for name, expression in table:
                if expression.search(frame):
                    return name, frame
    return None, None


_ENGINE = LazyPattern(r"/(?:vllm|sglang|lmdeploy|text_generation_server)/")


def of_engine(frames: Sequence[str]) -> bool:
    """Return whether any frame is of a serving engine."""
    return any(_ENGINE.search(frame) for frame in frames)


def users_frame(frames: Sequence[str]) -> str | None:
    """Return the innermost frame that is not of an installed package, None if there is none."""
    return next((frame for frame in reversed(frames) if not _LIBRARY.search(frame)), None)
