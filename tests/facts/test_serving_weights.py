import pytest

from diagnose.facts.serving import weights_need

from .of_text import read

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 112.00 MiB is free. Including non-PyTorch memory, this process has 78.98 GiB memory in use. Of the allocated memory 78.10 GiB is allocated by PyTorch, and 12.00 MiB is reserved by PyTorch but unallocated.\n"


@pytest.mark.parametrize(
    ("command", "each", "fits", "fit_gpus"),
    [
        ("vllm serve meta-llama/Llama-3.3-70B-Instruct --max-model-len 8192", 2, False, 2),
        ("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4", 2, True, 4),
        ("vllm serve Qwen/Qwen2.5-72B-Instruct-AWQ --max-model-len 8192", 0.55, True, 1),
        ("vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8", 1, False, 16),
        ("vllm serve Qwen/Qwen2.5-7B-Instruct --quantization fp8", 1, True, 1),
    ],
)
def test_what_the_weights_need(command, each, fits, fit_gpus):
    (event,) = weights_need.derive(read(f"$ {command}\n{OOM}")[0])
    fields = event.fields
    assert (fields["each"], fields["fits"], fields["fit_gpus"]) == (each, fits, fit_gpus)


def test_without_the_size_of_the_gpu_nothing_is_said():
    assert list(weights_need.derive(read("$ vllm serve Qwen/Qwen2.5-7B-Instruct -tp 2\n")[0])) == []
