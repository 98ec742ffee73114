import pytest
from communication import check_table, read

from diagnose.model.event import Nature
from diagnose.parsers import kernel_memory

GIB = 1 << 30


def kills(text):
    return [event for event in read(kernel_memory, text) if event.name == "kernel.oom_kill"]


def test_samples_match_and_patterns_are_safe():
    check_table(kernel_memory)


@pytest.mark.parametrize(
    ("text", "process", "pid", "constraint", "anon_rss"),
    [
        ("Out of memory: Killed process 12 (python3) total-vm:100kB, anon-rss:50kB, file-rss:0kB, shmem-rss:4kB, UID:0", "python3", 12, "none", 50 << 10),
        ("Memory cgroup out of memory: Kill process 812 (python) score 987 or sacrifice child", "python", 812, "memcg", None),
        ("Memory cgroup out of memory: Killed process 812 (python) total-vm:24", "python", 812, "memcg", None),
        ("Out of memory (oom_kill_allocating_task): Killed process 12 (ray::IDLE) total-vm:100kB, anon-rss:50kB, file-rss:0kB, shmem-rss:4kB", "ray::IDLE", 12, "none", 50 << 10),
        ("Killed process 12 (python) total-vm:100kB, anon-rss:50kB, file-rss:0kB", "python", 12, None, 50 << 10),
        ("Killed process 12 (python), UID 1001, total-vm:100kB, anon-rss:50kB, file-rss:0kB", "python", 12, None, 50 << 10),
        ("Killed process 12, UID 1001, (python) total-vm:100kB, anon-rss:50kB, file-rss:0kB", "python", 12, None, 50 << 10),
        ("oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=python3,pid=12,uid=0", "python3", 12, "cpuset", None),
        ("oom_reaper: reaped process 12 (VLLM::EngineCore), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB", "VLLM::EngineCore", 12, None, None),
    ],
)  # fmt: skip
def test_every_line_of_a_kill_names_the_victim(text, process, pid, constraint, anon_rss):
    (event,) = kills(f"[Mon Sep 14 04:48:45 2026] {text}")
    assert (event.fields["process"], event.pid) == (process, pid)
    assert (event.fields["constraint"], event.fields["anon_rss"]) == (constraint, anon_rss)


@pytest.mark.parametrize(("task", "local_rank"), [("3", 3), ("0", None), ("special", None)])
def test_the_task_of_slurm_is_a_local_rank_only_where_each_gpu_has_one(task, local_rank):
    (event,) = kills(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_77121,mems_allowed=0-1,"
        "oom_memcg=/slurm/job_77121,task_memcg=/slurm/job_77121/step_0/user/task_"
        f"{task},task=python3,pid=812345,uid=1001"
    )
    assert event.local_rank == local_rank


OLD_TABLE = """\
[Mon Sep 14 04:48:45 2026] Tasks state (memory values in pages):
[Mon Sep 14 04:48:45 2026] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[Mon Sep 14 04:48:45 2026] [    812]     0   812    10234      512    90112        0             0 slurmstepd
[Mon Sep 14 04:48:45 2026] [ 812345]  1001 812345 61234567  2097152 231276544        0             0 pt_main_thread
[Mon Sep 14 04:48:45 2026] [ 812346]  1001 812346 61234567  1048576 231276544        0             0 pt_data_worker
[Mon Sep 14 04:48:45 2026] [ 812347]  1001 812347 61234567  3145728 231276544        0             0 pt_data_worker
[Mon Sep 14 04:48:45 2026] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/,task=pt_data_worker,pid=812347,uid=1001
"""
NEW_TABLE = """\
[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[ 812345]  1001 812345 61234567  2097152  2097000      152         0 231276544        0             0 python3
"""


def test_the_table_says_who_held_the_memory():
    (table,) = [one for one in read(kernel_memory, OLD_TABLE) if one.name == "kernel.oom_tasks"]
    assert table.fields == {
        "process": "pt_data_worker", "rss": 12 * GIB, "tasks": 4, "total_rss": 24 * GIB + 512 * 4096,
        "alike": 2, "alike_rss": 16 * GIB,
    }  # fmt: skip
    assert table.pid == 812347
    assert (table.line, table.end_line) == (2, 6)


def test_the_columns_of_newer_kernels_are_found_by_their_names():
    (table,) = [one for one in read(kernel_memory, NEW_TABLE) if one.name == "kernel.oom_tasks"]
    assert (table.fields["process"], table.fields["rss"]) == ("python3", 8 * GIB)


@pytest.mark.parametrize(
    "text",
    [
        "pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    ],
)
def test_near_misses(text):
    assert read(kernel_memory, text) == []


def test_a_failed_allocation_of_pages_may_be_survived():
    text = "python3: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)"
    (event,) = read(kernel_memory, text)
    assert (event.fields["order"], event.nature) == (4, Nature.EFFECT)
