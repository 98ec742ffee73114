import pytest
from communication import read

from diagnose.parsers import kernel_stalls

HUNG = "INFO: task pt_main_thread:81234 blocked for more than 122 seconds."
NEW = """\
      Tainted: P           OE     6.1.0-21-amd64 #1 Debian 6.1.90-1
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
task:pt_main_thread  state:D stack:0     pid:81234 ppid:81001 flags:0x00004002
Call Trace:
 <TASK>
 __schedule+0x34d/0x9e0
 schedule+0x5a/0xd0
 ? __pfx_wake+0x10/0x10
{frames}
 do_syscall_64+0x5b/0xc0
 </TASK>
"""
OLD = """\
      Tainted: P           OE     4.18.0-477.el8.x86_64 #1
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
pt_main_thread  D    0 81234  81001 0x00004082
Call Trace:
 __schedule+0x2d1/0x870
 schedule+0x55/0xf0
{frames}
 do_syscall_64+0x5b/0x1b0
"""


def stamped(text):
    return "".join(f"[Mon Sep 14 04:48:45 2026] {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("layout", [NEW, OLD], ids=["6.1", "4.18"])
@pytest.mark.parametrize(
    ("frames", "doing", "function"),
    [
        (" rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]\n nfs4_run_open_task+0x13/0x20 [nfsv4]", "storage", "rpc_wait_bit_killable"),
        (" cl_sync_io_wait+0x1c/0x40 [obdclass]\n ll_fsync+0x11/0x30 [lustre]", "storage", "cl_sync_io_wait"),
        (" io_schedule+0x42/0x70\n folio_wait_bit_common+0x13d/0x350", "storage", "io_schedule"),
        (" request_wait_answer+0x12/0x20 [fuse]", "storage", "request_wait_answer"),
        (" rwsem_down_write_slowpath+0x1/0x2\n os_acquire_rwlock_write+0x35/0x40 [nvidia]\n _nv037922rm+0x10/0x30 [nvidia]", "device", "os_acquire_rwlock_write"),
        (" uvm_va_space_mm_enabled+0x1f/0x30 [nvidia_uvm]", "device", "uvm_va_space_mm_enabled"),
        (" wait_for_completion+0x1/0x2\n mlx5_cmd_exec+0x1f/0x30 [mlx5_core]\n ib_dereg_mr_user+0x51/0xa0 [ib_core]", "network", "mlx5_cmd_exec"),
    ],
)  # fmt: skip
def test_the_stack_of_a_hung_task_says_what_it_waits_for(layout, frames, doing, function):
    text = stamped(HUNG + "\n" + layout.format(frames=frames))
    (event,) = read(kernel_stalls, text)
    assert event.name == "kernel.hung_task"
    assert (event.fields["process"], event.pid, event.fields["seconds"]) == (
        "pt_main_thread",
        81234,
        122,
    )
    assert event.fields["doing"] == doing
    assert str(event.fields["waits_in"]).startswith(function)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("watchdog: BUG: soft lockup - CPU#23 stuck for 26s! [python3:81234]", {"kind": "soft", "cpu": 23, "seconds": 26, "process": "python3"}),
        ("NMI watchdog: BUG: soft lockup - CPU#23 stuck for 22s! [kworker/23:1:812]", {"kind": "soft", "process": "kworker/23:1"}),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 23", {"kind": "hard", "cpu": 23}),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", {"kind": "rcu"}),
        ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", {"kind": "rcu"}),
        ("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {", {"kind": "rcu"}),
    ],
)  # fmt: skip
def test_processors_that_do_not_get_on(text, fields):
    (event,) = read(kernel_stalls, text)
    assert event.name == "kernel.lockup"
    assert {name: event.fields[name] for name in fields} == fields
    assert event.fields["doing"] is None


def test_the_instruction_of_a_stuck_processor_counts_as_its_innermost_frame():
    text = (
        "watchdog: BUG: soft lockup - CPU#23 stuck for 26s! [python3:81234]\n"
        "CPU: 23 PID: 81234 Comm: python3 Tainted: P           OE\n"
        "RIP: 0010:_nv041234rm+0x12/0x30 [nvidia]\n"
        "Call Trace:\n"
        " rm_ioctl+0x12/0x30 [nvidia]\n"
    )
    (event,) = read(kernel_stalls, text)
    assert event.fields["doing"] == "device"


def test_two_tasks_behind_each_other_keep_their_own_stacks():
    first = HUNG + "\nCall Trace:\n nfs_wait_bit_killable+0x1f/0x60 [nfs]\n"
    second = HUNG.replace("81234", "81235") + "\nCall Trace:\n _nv037922rm+0x10/0x30 [nvidia]\n"
    events = read(kernel_stalls, first + second)
    assert [(one.pid, one.fields["doing"]) for one in events] == [
        (81234, "storage"),
        (81235, "device"),
    ]


def test_a_message_of_another_within_the_stack_does_not_end_it():
    text = f"{HUNG}\nCall Trace:\nnfs: server 10.0.3.4 not responding, still trying\n nfs_wait_bit_killable+0x1f/0x60 [nfs]\n"
    (event,) = read(kernel_stalls, text)
    assert event.fields["doing"] == "storage"


@pytest.mark.parametrize(
    "text",
    [
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        "the request was blocked for more than 3 retries",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "rcu: INFO: rcu_sched kthread starved for 2 jiffies",
    ],
)
def test_near_misses(text):
    assert read(kernel_stalls, text) == []
