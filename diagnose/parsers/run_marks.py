r"""What tells one run from others: its name, its commit, and versions of data, model and engine.

Printed by experiment trackers, frameworks and serving engines as they start::

    wandb: Syncing run brisk-sea-12
    wandb: Run data is saved locally in /data/wandb/run-20260105_100000-k3x9q2ab
    INFO 01-05 10:00:00 [api_server.py:1043] vLLM API server version 0.8.5
    data_version: tokens-v3

*Empty*: the head of the log is missing, or nothing tracks the run. *Cut off*: a mark is one line.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import Convert, LineParser, Pattern

WANDB = "wandb sdk/wandb_run.py, 0.12 to 0.21"
TITAN = "torchtitan train.py, 0.1 to main 2026"
VLLM = "vLLM 0.2 to 0.19"
TRAINER = "[titan] 2026-01-05 10:00:00,123 - root - INFO - Trainer is initialized with local batch size 2, global batch size 16, gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup 200)"
COMMIT = r"[0-9a-f]{7,40}"


def _mark(
    name: str,
    regex: str,
    source: str,
    sample: str,
    literals: tuple[str, ...] = (),
    value: Convert = str,
) -> Pattern:
    return Pattern(
        event="run.mark",
        regex=regex,
        nature=Nature.SETTING,
        source=source,
        sample=sample,
        types={"value": value},
        constants={"name": name},
        literals=literals,
        fact=f"run.{name}",
        once_per_block=True,
    )


STATED = ("data_version", "dataset_version", "model_version", "engine_version", "config_hash",
          "hparams_hash")  # fmt: skip
RENAMED = {"dataset_version": "data_version", "hparams_hash": "config_hash"}

PARSERS = (
    LineParser(
        name="run-marks",
        title="Names, commits and versions that tell a run from others",
        patterns=(
            _mark("run_name", r"wandb: Syncing run (?P<value>\S+)", WANDB, "wandb: Syncing run brisk-sea-12"),
            _mark("run_name", r"wandb: (?:\S+ )?View run (?P<value>\S+) at:? https?://", WANDB,
                  "wandb: View run brisk-sea-12 at: https://tracker.example/team/llm/runs/k3x9q2ab"),
            _mark("run_name", r"\bStarting job: (?P<value>\S.{0,79})", TITAN, "[titan] 2026-01-05 10:00:00,123 - root - INFO - Starting job: Llama 3 8B training"),
            _mark("run_name", r"Experiments will be logged at (?P<value>\S+)", "NeMo utils/exp_manager.py, 1.0 to 2.4",
                  "[NeMo I 2026-01-05 10:00:00 exp_manager:396] Experiments will be logged at /data/runs/gpt/2026-01-05"),
            _mark("wandb_id", r"View run (?:\S+ )?at:? https?://\S+/runs/(?P<value>[\w-]+)", WANDB,
                  "wandb: View run at https://tracker.example/team/llm/runs/k3x9q2ab", ("View run ",)),
            _mark("wandb_id", r"Run data is saved locally in \S*run-\d{8}_\d{6}-(?P<value>\w+)", WANDB,
                  "wandb: Run data is saved locally in /data/wandb/run-20260105_100000-k3x9q2ab"),
            _mark("git_commit", rf"\"commit\": \"(?P<value>{COMMIT})\"", "wandb-metadata.json", '    "commit": "3f2a9c1d3f2a9c1d3f2a9c1d3f2a9c1d3f2a9c1d"'),
            _mark("git_commit", rf"\bgit_hash=(?P<value>{COMMIT})\b", "Megatron-DeepSpeed and GPT-NeoX, git info", "**** Git info for Megatron: git_hash=3f2a9c1 git_branch=main ****"),
            _mark("git_commit", rf"\b(?:[Gg]it[ _]commit|GIT_COMMIT|git_sha|GIT_SHA|[Gg]it SHA|[Cc]ommit hash)\b\W{{1,4}}(?P<value>{COMMIT})\b", "wording of training scripts",
                  "2026-01-05 10:00:00 INFO train: git commit: 3f2a9c1d"),
            _mark("model_version", r"Model (?P<value>\w[\w. -]{0,60}?) size: [\d,]+ total parameters", TITAN,
                  "[titan] 2026-01-05 10:00:00,123 - root - INFO - Model llama3 8B size: 8,030,261,248 total parameters"),
            _mark("model_version", r"LLM engine \(v[\w.+-]+\) with config: model='(?P<value>[^']{1,200})'", VLLM,
                  "INFO 01-05 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='/models/a-7b', speculative_config=None"),
            _mark("model_version", r"server_args=ServerArgs\(model_path='(?P<value>[^']{1,200})'", "SGLang srt/server.py, 0.3 to 0.5",
                  "[2026-01-05 10:00:00] server_args=ServerArgs(model_path='/models/a-7b', tokenizer_path='/models/a-7b')"),
            _mark("parameters", r"Model \w[\w. -]{0,60}? size: (?P<value>[\d,]+) total parameters", TITAN,
                  "[titan] 2026-01-05 10:00:00,123 - root - INFO - Model llama3 8B size: 8,030,261,248 total parameters"),
            _mark("parameters", r"Number of trainable parameters = (?P<value>[\d,]+)", "transformers trainer.py, 4.x and 5.x", "  Number of trainable parameters = 8,030,261,248"),
            _mark("engine_version", r"vLLM API server version (?P<value>\S+)", VLLM, "INFO 01-05 10:00:00 [api_server.py:1043] vLLM API server version 0.8.5"),
            _mark("engine_version", r"LLM engine \(v(?P<value>[\w.+-]+)\) with config: ", VLLM,
                  "INFO 01-05 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='/models/a-7b', speculative_config=None"),
            *(
                _mark(name, rf"\bTrainer is initialized with .*{words} (?P<value>\d+)", TITAN, TRAINER, value=int)
                for name, words in {"micro_batch_size": "local batch size", "global_batch_size": "global batch size", "gradient_accumulation_steps": "gradient accumulation steps", "seq_length": "sequence length"}.items()
            ),
            _mark("model_version", r"[a-z_]\{[^}]{0,200}\bmodel_name=\"(?P<value>[^\"]{1,200})\"", "labels of metrics, vLLM and SGLang",
                  'vllm:num_requests_running{engine="0",model_name="team/a-7b"} 3.0', ("model_name=",)),
            *(
                _mark(RENAMED.get(name, name), rf"\b{name}\b[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?(?P<value>[\w.@:/+-]{{1,80}})", "labels of runs and of metrics", f"{name}: v3")
                for name in STATED
            ),
        ),
    ),
)  # fmt: skip
