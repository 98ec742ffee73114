import pytest

from diagnose.parsers.stack_frames import native_frame, python_frame
from diagnose.parsers.stack_sites import is_helper, locate


def stack(*texts):
    """Frames from ``get queue.py``, and ``read`` for native code; innermost first."""
    found = []
    for text in texts:
        name, _, path = text.partition(" ")
        found.append(python_frame(name, path, 1) if path else native_frame(name, "lib.so"))
    return found


C10D = "torch/distributed/distributed_c10d.py"
LOADER = "torch/utils/data/dataloader.py"


@pytest.mark.parametrize(
    ("frames", "doing", "call"),
    [
        ((f"all_reduce {C10D}", "step train.py"), "collective", "all_reduce"),
        (("cudaStreamSynchronize", f"barrier {C10D}", "step train.py"), "collective", "barrier"),
        (("cudaStreamSynchronize", "step train.py"), "device", "cudaStreamSynchronize"),
        ((f"_store_based_barrier {C10D}", f"init_process_group {C10D}", "main train.py"), "collective", "init_process_group"),
        (("_verify_param_shape_across_processes torch/distributed/utils.py", "__init__ torch/nn/parallel/distributed.py", "main train.py"), "collective", "_verify_param_shape_across_processes"),
        (("clock_nanosleep", "groupLaunch", "ncclGroupEnd", "main train.py"), "collective", "ncclGroupEnd"),
        ((f"recv {C10D}", "step train.py"), "p2p", "recv"),
        (("ncclGroupEnd", f"batch_isend_irecv {C10D}", "step train.py"), "p2p", "batch_isend_irecv"),
        (("_communicate megatron/core/pipeline_parallel/p2p_communication.py", "step train.py"), "p2p", "_communicate"),
        (("_engine_run_backward torch/autograd/graph.py", "backward torch/autograd/__init__.py", "step train.py"), "backward", "_engine_run_backward"),
        (("wait threading.py", "get queue.py", f"_try_get_data {LOADER}", "main train.py"), "loader", "_try_get_data"),
        (("read", "_recv multiprocessing/connection.py", f"_try_get_data {LOADER}", "main train.py"), "loader", "_try_get_data"),
        (("open64", "__getitem__ data.py", "fetch torch/utils/data/_utils/fetch.py", "main train.py"), "storage", "open64"),
        (("__getitem__ data.py", "fetch torch/utils/data/_utils/fetch.py", "main train.py"), "loader", "fetch"),
        (("fsync", "_save torch/serialization.py", "main train.py"), "storage", "fsync"),
        (("_save torch/serialization.py", "save torch/serialization.py", "main train.py"), "save", "_save"),
        ((f"gather_object {C10D}", "reduce_scatter torch/distributed/checkpoint/utils.py", "main train.py"), "collective", "gather_object"),
        (("acquire filelock/_api.py", "main train.py"), "storage", "acquire"),
        (("_map_single datasets/arrow_dataset.py", "main train.py"), "preprocess", "_map_single"),
        (("_build_index_mappings gpt_dataset.py", "main train.py"), "preprocess", "_build_index_mappings"),
        (("forward torch/nn/modules/linear.py", "evaluate train.py"), "eval", "evaluate"),
        (("forward torch/nn/modules/linear.py", "step train.py"), "compute", "forward"),
        (("read ssl.py", "get requests/api.py", "_hf_fetch huggingface_hub/file_download.py"), "download", "_hf_fetch"),
        (("wait subprocess.py", "main train.py"), "subprocess", "wait"),
        (("compile triton/compiler/compiler.py", "main train.py"), "compile", "compile"),
        (("take_gil", "step train.py"), "gil", "take_gil"),
        (("wait threading.py", "put telemetry.py"), "lock", "wait"),
        (("clock_nanosleep", "poll train.py"), "sleep", "clock_nanosleep"),
        (("acquire_read vllm/distributed/device_communicators/shm_broadcast.py", "main worker.py"), "queue", "acquire_read"),
        (("score metrics.py", "main train.py"), "python", "score"),
        (("foo",), "unknown", "foo"),
    ],
)  # fmt: skip
def test_what_a_stack_says(frames, doing, call):
    found = locate(stack(*frames))
    assert (found.doing, found.frame.function) == (doing, call)


@pytest.mark.parametrize(
    ("library", "doing"),
    [("/lib64/libcuda.so.1", "device"), ("/opt/libnccl.so.2", "collective"), ("/lib64/libc.so.6", "unknown")],
)  # fmt: skip
def test_a_frame_without_a_name_is_told_by_its_library(library, doing):
    assert locate([native_frame("??", library)]).doing == doing


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", "cuda/__init__.py"),
        ("/usr/lib/python3.11/queue.py", "queue.py"),
        ("/app/train.py", "train.py"),
    ],
)
def test_a_frame_is_shown_with_its_file(path, shown):
    assert str(python_frame("f", path, 7)) == f"f ({shown}:7)"


def test_a_class_or_namespace_is_no_part_of_a_function():
    assert python_frame("Condition.wait", "threading.py", 1).function == "wait"
    native = native_frame("at::native::_local_scalar_dense_cuda(at::Tensor const&)")
    assert native.function == "_local_scalar_dense_cuda"


@pytest.mark.parametrize(
    ("frames", "helper"),
    [
        (("get multiprocessing/queues.py", "_worker_loop torch/utils/data/_utils/worker.py"), True),
        (("_invoke_run torch/distributed/elastic/agent/server/api.py",), True),
        (("serve_forever multiprocessing/managers.py",), True),
        ((f"barrier {C10D}", "main train.py"), False),
        (("wrapper torch/distributed/elastic/multiprocessing/errors/__init__.py", "main train.py"), False),
    ],
)  # fmt: skip
def test_who_is_a_helper(frames, helper):
    assert is_helper(stack(*frames), None) is helper
