"""All analyses: what follows from records taken together and stands in no single line.

Each line names a module, how it is asked, and what it starts from.
"""

from importlib import import_module

from diagnose.facts.derivations import Analysis

COMPLETING = (
    Analysis("nccl_calls", lambda of, given: of.count_repeats(given.named("nccl.ras_report")),
             events=("nccl.ras_report",)),
    Analysis("stacks", lambda of, given: of.name_pids(given.events), events=("stack.dump",)),
)  # fmt: skip
"""What others look at is completed by these."""

OF_RECORDS = (
    Analysis("checkpoints", lambda of, given: of.derive(given.reading, given.clocks),
             events=("ckpt.save_",)),
    Analysis("losses",
             lambda of, given: of.derive(
                 given.reading, given.attempts, given.clocks, given.by_file),
             events=("train.nan_loss", "train.overflow"),
             series={"loss": 1, "grad_norm": 1, "loss_scale": 2,
                     "skipped_steps": 1, "skipped_steps_total": 1}),
    Analysis("memory_growth", lambda of, given: of.growths(given.reading, given.by_file),
             series=dict.fromkeys(("memory_allocated", "memory_peak", "memory_used",
                                   "memory_reserved", "host_memory"), 50)),
    Analysis("pace",
             lambda of, given: of.derive(
                 given.reading, given.attempts, given.clocks, given.by_file),
             series={"data_time": 1, "checkpoint_time": 1, "step_time": 30, "tokens_per_s": 30,
                     "tokens_per_s_gpu": 30, "samples_per_s": 30, "loss": 30}),
    Analysis("bandwidth",
             lambda of, given: of.derive(given.events, given.reading.topology),
             events=("bench.", "nccl_tests.result")),
    Analysis("gpu_clocks", lambda of, given: of.derive(given.named("nvidia_smi.monitor")),
             events=("nvidia_smi.monitor",)),
    Analysis("fabric", lambda of, given: of.derive(given.records.named, given.clocks),
             events=("ib.", "net.", "pci.", "roce.", "nvidia_smi.topology")),
    Analysis("call_sites", lambda of, given: of.derive(given.events),
             events=("c10d.collective_site",)),
    Analysis("differences", lambda of, given: of.derive(given.events), events=("",)),
    Analysis("endpoints", lambda of, given: of.derive(given.reading),
             events=("nccl.ib.completion_error", "nccl.socket_closed", "nccl.socket_failed",
                     "nccl.connect_failed")),
    Analysis("ended_workers", lambda of, given: of.derive(given.events),
             events=("torchrun.sigterm",)),
    Analysis("exits", lambda of, given: of.derive(given.events, given.clocks),
             events=("torchrun.child_failed", "torchrun.process_failed", "launcher.exit",
                     "c10d.not_destroyed")),
    Analysis("fingerprints", lambda of, given: of.derive(given.events), events=("c10d.mismatch",)),
    Analysis("index_failures", lambda of, given: of.derive(given.reading),
             events=("python.error_line",)),
    Analysis("nccl_calls", lambda of, given: of.derive(given.events), events=("nccl.collective",)),
    Analysis("serving", lambda of, given: of.derive(given.events, given.clocks),
             events=("inference.",)),
    Analysis("several_jobs", lambda of, given: of.derive(given.named("nccl.comm_init")),
             events=("nccl.comm_init",)),
    Analysis("variables",
             lambda of, given: of.names(given.named("nccl.env"), given.job.version("nccl")),
             events=("nccl.env",)),
    Analysis("variable_values",
             lambda of, given: of.values(given.events, given.job.version("nccl")),
             events=("nccl.env",)),
    Analysis("stacks", lambda of, given: of.derive(given.events), events=("stack.dump",)),
)  # fmt: skip
"""What needs no more than the records."""

OF_THE_JOB = (
    Analysis("belonging",
             lambda of, given: of.relate_to_job(given.reading, given.job, given.clocks),
             events=("kernel.", "fabric.", "host.", "k8s.", "slurm.node_state",
                     "slurm.node_failure")),
    Analysis("host_ends",
             lambda of, given: of.relate_host_ends(
                 given.reading, given.job, given.clocks, given.by_file),
             events=("host.boot", "host.shutdown", "host.sensor"), whole=True),
    Analysis("scaling",
             lambda of, given: given.attempts.placed(
                 of.derive(given.reading, given.job, given.runs, given.by_file)),
             events=("job.argument", "scaling.point"), runs=True,
             series={"compute_time": 1, "tflops": 3, "mfu": 3}),
    Analysis("stragglers",
             lambda of, given: given.attempts.placed(
                 of.derive(given.reading, given.job, given.attempts, given.by_file)),
             series={"compute_time": 3, "data_time": 3, "step_time": 3}),
    Analysis("inits", lambda of, given: of.stuck_inits(given.named("nccl.comm_init"), given.job),
             events=("nccl.comm_init",)),
    Analysis("waiting",
             lambda of, given: of.hung_watchdogs(given.named("c10d.heartbeat_timeout"), given.job),
             events=("c10d.heartbeat_timeout",)),
    Analysis("waiting",
             lambda of, given: of.silent_ranks(given.records, given.job, given.clocks),
             events=("c10d.watchdog_timeout", "c10d.dump_signal_sent"), whole=True),
    Analysis("collectives",
             lambda of, given: of.derive(given.events, given.job.report.world_size, given.clocks),
             events=("c10d.", "fr.")),
)  # fmt: skip
"""What needs to know who is who and where logs end, each with what those before it found."""

AFTER_PROGRESS = (
    Analysis("cancels",
             lambda of, given: of.relate_cancels(
                 given.named("slurm.cancelled"), given.progress, given.clocks),
             events=("slurm.cancelled",)),
    Analysis("victims",
             lambda of, given: of.mark_victims(given.events, given.progress, given.clocks),
             events=("python.", "dataloader.")),
    Analysis("aftermath", lambda of, given: of.mark_aftermath(given.events, given.clocks),
             events=("torchrun.child_failed", "torchrun.process_failed", "launcher.exit",
                     "torch.oom", "cuda.oom_other")),
    Analysis("waiting",
             lambda of, given: of.mark_open_work(
                 given.events, given.progress, given.job.report.world_size),
             events=("train.preprocess",)),
    Analysis("gpu_memory",
             lambda of, given: of.complete(
                 given.reading, given.job, given.attempts, given.clocks, given.by_file),
             events=("torch.oom", "cuda.oom_other")),
    Analysis("gpu_holders", lambda of, given: of.add_foreign(given.events, given.job),
             events=("nvidia_smi.gpu",)),
    Analysis("resume_points",
             lambda of, given: given.attempts.placed(of.derive(given.reading, given.job.report)),
             events=("ckpt.",)),
)  # fmt: skip
"""What needs to know how far the job came."""

HELD_AGAINST = ("baseline.known", "topology.known")
"""Modules that name what follows from a baseline or an inventory."""


def derived_names() -> list[str]:
    """Return the names of all derived events, for which every analysis is imported."""
    analyses = (*COMPLETING, *OF_RECORDS, *OF_THE_JOB, *AFTER_PROGRESS)
    modules = dict.fromkeys([*HELD_AGAINST, *(analysis.module for analysis in analyses)])
    return [
        name
        for module in modules
        for name in getattr(import_module(f"diagnose.facts.{module}"), "EVENTS", ())
    ]
