"""How a text of PyTorch that memory is exhausted is split into causes, one row of figures each.

Each row has logs that satisfy it just so, and logs that miss it by little.
"""

from itertools import count

import pytest

from diagnose import api

LIB = "/opt/venv/lib/python3.11/site-packages/"
FRAMES = {
    "load": [("/app/train.py", "resume"), (LIB + "torch/serialization.py", "load")],
    "placement": [("/app/train.py", "main"), (LIB + "torch/nn/modules/module.py", "convert")],
    "forward": [("/app/train.py", "step"), (LIB + "torch/nn/modules/module.py", "_call_impl")],
    "backward": [("/app/train.py", "step"), (LIB + "torch/_tensor.py", "backward")],
    "first step": [("/app/train.py", "step"), (LIB + "torch/optim/adamw.py", "_init_group")],
    "step": [("/app/train.py", "step"), (LIB + "torch/optim/adamw.py", "_multi_tensor_adamw")],
    "evaluate": [("/app/train.py", "evaluate"), (LIB + "torch/nn/functional.py", "gelu")],
    "engine": [(LIB + "vllm/v1/worker/gpu_worker.py", "execute_model")],
    "save": [("/app/train.py", "save"), (LIB + "torch/distributed/checkpoint/_state_dict_utils.py", "_gather_state_dict")],
}  # fmt: skip


def text(
    asked,
    *,
    free=0.5,
    allocated=74.0,
    holes=0.5,
    other=0.0,
    outside=2.0,
    capacity=None,
    gpu=3,
    pools=None,
    limit=None,
    processes=(),
    rank=None,
):
    """Return one line; sizes are GiB, the capacity is what the parts add up to."""
    own = allocated + holes + outside
    whole = free + own + other if capacity is None else capacity
    parts = [
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked:.2f} GiB. GPU {gpu} has a total"
        f" capacity of {whole:.2f} GiB of which {free:.2f} GiB is free.",
        *(f"Process {9000 + n} has {used:.2f} GiB memory in use." for n, used in enumerate(processes)),
        f"Including non-PyTorch memory, this process has {own:.2f} GiB memory in use.",
    ]  # fmt: skip
    if limit is not None:
        parts.append(f"{limit:.2f} GiB allowed;")
    parts.append(f"Of the allocated memory {allocated:.2f} GiB is allocated by PyTorch,")
    if pools is not None:
        parts.append(f"with {pools:.2f} GiB allocated in private pools (e.g., CUDA Graphs),")
    parts.append(f"and {holes:.2f} GiB is reserved by PyTorch but unallocated.")
    return (f"[rank{rank}]: " if rank is not None else "") + " ".join(parts)


def raised(phase, last, rank=None):
    head = f"[rank{rank}]: " if rank is not None else ""
    frames = [f'{head}  File "{file}", line 70, in {name}' for file, name in FRAMES[phase]]
    return "\n".join([f"{head}Traceback (most recent call last):", *frames, last])


def steps(last, memory=None):
    rows = (
        f'{{"step": {n}, "loss": 2.5'
        + ("" if memory is None else f', "memory_allocated_gib": {memory(n):.4f}')
        + "}"
        for n in range(1, last + 1)
    )
    return "\n".join(rows)


def verdict(tmp_path, logs):
    numbers = count()
    if isinstance(logs, str):
        logs = {f"a{next(numbers)}.log": logs}
    for name, content in logs.items():
        (tmp_path / name).write_text(content + "\n")
    return api.run([tmp_path])


def roots(report):
    return [finding.id for finding in report.findings if finding.role == "root"]


CAPACITY, FRAGMENTED = "resources.gpu-oom-capacity", "resources.gpu-oom-fragmentation"
OTHER, MISPLACED = "resources.gpu-oom-other-process", "resources.gpu-oom-misplaced"
LEAK = "resources.gpu-oom-leak"

ROWS = {
    "1 request above the device": ("gpu-oom-request-too-large", CAPACITY, text(77.10, capacity=77.0), text(76.90, capacity=77.0)),
    "2 own limit": ("gpu-oom-own-limit", CAPACITY,
        text(2.0, free=30.0, allocated=38.0, capacity=79.0, limit=40.40, other=6.0),
        text(2.0, free=30.0, allocated=38.0, capacity=79.0, limit=40.60, other=6.0)),
    "3 others hold a GiB": ("gpu-oom-other-process", OTHER,
        text(1.0, free=0.3, other=1.1, processes=[1.1]), text(1.0, free=0.3, other=0.9, processes=[0.9])),
    "3 others hold what was missing": ("gpu-oom-other-process", OTHER,
        text(6.0, free=0.5, other=5.6, processes=[5.6]), text(6.0, free=0.5, other=5.4, processes=[5.4])),
    "4 three contexts on GPU 0": ("gpu-oom-misplaced", MISPLACED,
        text(1.0, gpu=0, other=1.5, processes=[0.5, 0.5, 0.5]), text(1.0, gpu=0, other=1.0, processes=[0.5, 0.5])),
    "4 contexts on another GPU": ("gpu-oom-misplaced", MISPLACED,
        text(1.0, gpu=0, other=1.5, processes=[0.5, 0.5, 0.5]), text(1.0, gpu=1, other=1.5, processes=[0.5, 0.5, 0.5])),
    "4 contexts from 0.3 GiB on": ("gpu-oom-misplaced", MISPLACED,
        text(1.0, gpu=0, other=0.93, processes=[0.31, 0.31, 0.31]), text(1.0, gpu=0, other=0.87, processes=[0.29, 0.29, 0.29])),
    "5 a tenth in holes": ("gpu-oom-fragmentation", FRAGMENTED,
        text(0.8, allocated=8.1, holes=0.91, outside=1.0, free=0.1), text(0.8, allocated=8.3, holes=0.91, outside=1.0, free=0.1)),
    "5 a GiB in holes": ("gpu-oom-fragmentation", FRAGMENTED, text(1.0, holes=1.01), text(0.98, holes=0.99)),
    "5 holes as large as the request": ("gpu-oom-fragmentation", FRAGMENTED, text(9.9, holes=10.0, allocated=65.0), text(10.1, holes=10.0, allocated=65.0)),
    "6 a fifth in holes": ("gpu-oom-fragmentation-partial", FRAGMENTED,
        text(17.0, free=3.0, holes=15.2, allocated=60.0), text(17.0, free=3.0, holes=14.8, allocated=60.0)),
    "6 holes and free memory together": ("gpu-oom-fragmentation-partial", FRAGMENTED,
        text(18.1, free=3.0, holes=15.2, allocated=60.0), text(18.3, free=3.0, holes=15.2, allocated=60.0)),
    "7 a tenth in graph pools": ("gpu-oom-graph-pools", CAPACITY, text(9.0, pools=7.5), text(9.0, pools=7.3)),
    "7 pools above what was missing": ("gpu-oom-graph-pools", CAPACITY, text(2.5, pools=2.1), text(2.5, pools=1.9)),
    "8 four GiB outside PyTorch": ("gpu-oom-non-torch", CAPACITY, text(1.0, outside=4.1), text(1.0, outside=3.9)),
    "8 a twelfth of the device outside": ("gpu-oom-non-torch", CAPACITY,
        text(1.0, allocated=20.0, outside=2.0, holes=0.2, free=0.2), text(1.0, allocated=20.0, outside=1.6, holes=0.2, free=0.2)),
    "9 the model fills the device": ("gpu-oom-model-states", CAPACITY,
        raised("placement", text(3.2, free=2.9, allocated=70.3, capacity=78.0, outside=3.9, holes=0.9)),
        raised("placement", text(3.2, free=2.9, allocated=70.1, capacity=78.0, outside=3.9, holes=0.9))),
    "10 the first step of the optimizer": ("gpu-oom-optimizer-states", CAPACITY, raised("first step", text(1.0)), raised("step", text(1.0))),
    "11 among the first steps": ("gpu-oom-activations", CAPACITY,
        {"m.jsonl": steps(99), "a.log": raised("backward", text(1.0))}, {"m.jsonl": steps(100), "a.log": raised("backward", text(1.0))}),
    "12 memory rises": ("gpu-oom-leak", LEAK,
        {"m.jsonl": steps(40, lambda n: 40 + 0.045 * n), "a.log": text(1.0)}, {"m.jsonl": steps(40, lambda n: 40 + 0.035 * n), "a.log": text(1.0)}),
    "12 over twenty records": ("gpu-oom-leak", LEAK,
        {"m.jsonl": steps(20, lambda n: 40 + n), "a.log": text(1.0)}, {"m.jsonl": steps(19, lambda n: 40 + n), "a.log": text(1.0)}),
    "12 on a line": ("gpu-oom-leak", LEAK,
        {"m.jsonl": steps(40, lambda n: 40 + n + 5 * (n % 2)), "a.log": text(1.0)}, {"m.jsonl": steps(40, lambda n: 40 + 0.1 * n + 5 * (n % 2)), "a.log": text(1.0)}),
    "13 after a hundred steps": ("gpu-oom-long-batch", CAPACITY,
        {"m.jsonl": steps(100), "a.log": raised("forward", text(1.0))}, {"m.jsonl": steps(99), "a.log": raised("forward", text(1.0))}),
    "13 a request that says something": ("gpu-oom-long-batch", CAPACITY,
        {"m.jsonl": steps(100), "a.log": text(0.4, free=0.01)}, {"m.jsonl": steps(100), "a.log": text(0.36, free=0.01)}),
    "14 evaluation": ("gpu-oom-evaluation", CAPACITY, raised("evaluate", text(1.0)), raised("forward", text(1.0))),
    "14 a save on all ranks": ("gpu-oom-checkpoint", CAPACITY,
        {f"rank{n}.log": raised("save", text(1.0, gpu=n, rank=n), n) for n in (0, 1)},
        {"rank0.log": raised("save", text(1.0, gpu=0, rank=0), 0), "rank1.log": steps(3)}),
    "14 a save on GPU 0 alone": ("gpu-oom-checkpoint-gather", MISPLACED,
        {"rank0.log": raised("save", text(1.0, gpu=0, rank=0), 0), "rank1.log": steps(3)},
        {"rank0.log": steps(3), "rank1.log": raised("save", text(1.0, gpu=1, rank=1), 1)}),
    "14 a second copy while loading": ("gpu-oom-load", CAPACITY,
        raised("load", text(3.2, free=2.9, allocated=70.1, capacity=78.0, outside=3.9, holes=0.9)),
        raised("load", text(3.2, free=2.9, allocated=70.3, capacity=78.0, outside=3.9, holes=0.9))),
    "14 loading onto GPU 0": ("gpu-oom-misplaced", MISPLACED,
        {f"rank{n}.log": raised("load", text(1.0, gpu=0, rank=n), n) for n in (1, 2)},
        {f"rank{n}.log": raised("load", text(1.0, gpu=n, rank=n), n) for n in (1, 2)}),
    "15 one rank": ("gpu-oom-one-rank", CAPACITY,
        {"rank0.log": steps(3), "rank1.log": text(1.0, rank=1, gpu=1)},
        {f"rank{n}.log": text(1.0, rank=n, gpu=n) for n in (0, 1)}),
    "16 enough is free": ("gpu-oom-despite-free", CAPACITY, text(1.0, free=1.1), text(1.2, free=1.1)),
    "none": ("gpu-oom-capacity", CAPACITY, text(1.0), text(1.0, holes=10.0, allocated=65.0)),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_row_holds(tmp_path, row):
    rule, cause, logs, _ = ROWS[row]
    report = verdict(tmp_path, logs)
    (root,) = [finding for finding in report.findings if finding.role == "root"]
    assert (root.id, root.cause) == (rule, cause)


@pytest.mark.parametrize("row", ROWS)
def test_row_is_just_missed(tmp_path, row):
    rule, _, _, logs = ROWS[row]
    assert rule not in roots(verdict(tmp_path, logs))


def test_the_first_row_that_holds_is_the_verdict(tmp_path):
    everything = raised("backward", text(1.0, other=3.0, processes=[3.0], holes=20.0, allocated=50.0, pools=9.0, outside=6.0))  # fmt: skip
    assert roots(verdict(tmp_path, everything)) == ["gpu-oom-other-process"]


def test_the_explanation_shows_its_arithmetic(tmp_path):
    report = verdict(tmp_path, raised("backward", text(1.0, rank=3), 3))
    (root,) = [finding for finding in report.findings if finding.role == "root"]
    for figure in ("1.0 GiB was asked for", "512.0 MiB free", "77.0 GiB", "74.0 GiB", "2.0 GiB"):
        assert figure in root.explanation
    assert root.culprit.ranks == [3]


def test_a_process_that_waits_for_a_rank_without_memory_is_a_consequence(tmp_path):
    wait = "[rank0]:[E914 04:31:15.900000000 ProcessGroupNCCL.cpp:685] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=61, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600013 milliseconds before timing out."  # fmt: skip
    closed = "[rank2]: RuntimeError: [gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.7]:41234"  # fmt: skip
    lost = "node-08:71:90 [2] transport/net_ib.cc:1910 NCCL WARN NET/IB : Got completion from peer 10.0.0.7<45231> with status=12 opcode=0 len=0 vendor err 129 (Recv)"  # fmt: skip
    swallowed = "WARNING skipping batch due to OOM: " + text(1.0, rank=None, gpu=1)
    report = verdict(
        tmp_path,
        {"rank0.log": wait, "rank1.log": swallowed, "rank2.log": closed, "rank3.log": lost},
    )
    assert [one.cause for one in report.findings if one.role == "root"] == [CAPACITY]
    assert len([one for one in report.findings if one.role == "cascade"]) >= 3


def test_a_failure_that_steps_follow_is_history(tmp_path):
    log = "\n".join(["step: 1 loss: 2.5", "WARNING: ran out of memory, retrying: " + text(1.0), *(f"step: {n} loss: 2.5" for n in range(2, 9))])  # fmt: skip
    assert verdict(tmp_path, log).verdict == "healthy"


def test_training_beside_a_serving_engine_is_judged_as_training(tmp_path):
    engine = '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 441, in execute_model'  # fmt: skip
    log = "\n".join([engine, "INFO: weights sent to the engine", raised("backward", text(1.0))])
    assert roots(verdict(tmp_path, log)) == ["gpu-oom-activations"]


def test_a_serving_engine_has_rules_of_its_own(tmp_path):
    log = raised("engine", text(1.0, holes=20.0, allocated=50.0))
    assert roots(verdict(tmp_path, log)) == ["serving-oom-fragments"]


FRAGMENTS = text(3.0, holes=11.0, allocated=63.0)


def commands(report):
    (root,) = [finding for finding in report.findings if finding.role == "root"]
    return [step.command for step in root.playbook.steps if step.group == "fix" and step.command]


@pytest.mark.parametrize(
    ("logs", "command"),
    [
        (FRAGMENTS, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        (FRAGMENTS.replace("torch.Out", "torch.cuda.Out"), "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        (FRAGMENTS + " If large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.", "export PYTORCH_ALLOC_CONF=expandable_segments:True"),
        (FRAGMENTS.replace("CUDA out", "HIP out"), "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 15.78 GiB total capacity; 10.10 GiB already allocated; 373.44 MiB free; 14.90 GiB reserved in total by PyTorch)", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:256"),
        ("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" + FRAGMENTS, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,roundup_power2_divisions:8"),
    ],
    ids=["2.4", "2.2", "2.10", "rocm", "1.13", "already on"],
)  # fmt: skip
def test_advice_fits_the_release_and_what_is_set(tmp_path, logs, command):
    assert commands(verdict(tmp_path, logs))[0] == command
