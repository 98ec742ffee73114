import pytest
from stacks import dumps

PYSTACK = """\
Traceback for thread 6682 (python3) [Has the GIL] (most recent call last):
    (Python) File "/usr/lib/python3.11/threading.py", line 1002, in _bootstrap
        self._bootstrap_inner()
    (Python) File "/app/metrics.py", line 9, in busy
        while True: x += 1

Traceback for thread 6639 (python3) [] (most recent call last):
    (Python) File "/app/train.py", line 340, in <module>
        main(10)
    (Python) File "/app/train.py", line 210, in main
        loss = loss.item()
"""

NATIVE = """\
    (C) File "???", line 0, in cudaStreamSynchronize (/usr/local/cuda/lib64/libcudart.so.12)
"""

GDB = """\
[New LWP 9122]
0x00007f6ae38ff485 in cudaStreamSynchronize () from /usr/lib/libcudart.so.12

Thread 2 (Thread 0x7f6ae30986c0 (LWP 9122) "python3"):
#0  0x00007f6ae36a3f7b in __futex_abstimed_wait_common64 (private=0) at ./nptl/futex-internal.c:57
#1  0x00007f6ae36a71f5 in start_thread (arg=<optimized out>) at ./nptl/pthread_create.c:442

Thread 1 (Thread 0x7f6ae3dfbb80 (LWP 9080) "python3"):
#0  0x00007f6ae36a3f7b in cudaStreamSynchronize () from /usr/lib/libcudart.so.12
#1  0x00007f6ae3958ba3 in _PyEval_EvalFrameDefault (f=Frame 0x55d0, for file /app/train.py, line 210, in step (loss=<Tensor at remote 0x7f>), throwflag=0) at Python/ceval.c:4769
#2  0x00007f6ae3a50a40 in Py_RunMain () at Modules/main.c:680
"""

NFS = """\
[<0>] nfs_wait_bit_killable+0x23/0x90 [nfs]
[<0>] __x64_sys_fsync+0x37/0x60
[<0>] do_syscall_64+0x71/0x280
"""


def test_pystack_prints_the_innermost_call_last():
    (event,) = dumps(PYSTACK)
    assert (event.pid, event.line, event.end_line) == (6639, 7, 10)
    assert event["frames"] == ["main (train.py:210)", "<module> (train.py:340)"]
    assert event["holder"] == "busy (metrics.py:9)"


def test_the_line_of_the_program_tells_what_native_code_hides():
    assert [event["doing"] for event in dumps(PYSTACK)] == ["device"]
    other = PYSTACK.replace("loss.item()", "score(loss)")
    assert [event["doing"] for event in dumps(other)] == ["python"]


def test_native_frames_of_pystack():
    (event,) = dumps(PYSTACK + NATIVE)
    assert event["site"] == "cudaStreamSynchronize (libcudart.so.12)"


def test_two_runs_of_pystack_are_two_events():
    assert len(dumps(PYSTACK + "\n" + PYSTACK)) == 2


def test_the_first_thread_of_gdb_is_the_process():
    (event,) = dumps(GDB)
    assert (event.pid, event["tool"], event["threads"]) == (9080, "gdb", 2)
    assert (event["doing"], event["site"], event["code"]) == (
        "device", "cudaStreamSynchronize (libcudart.so.12)", "step (train.py:210)",
    )  # fmt: skip


def test_without_a_thread_library_gdb_prints_the_number_alone():
    text = "Thread 1 (LWP 9080):\n#0  0x00007f6a in read () from /lib/libc.so.6\n#1  0x00007f6b in main ()\n"
    assert [(event.pid, event["doing"]) for event in dumps(text)] == [(9080, "storage")]


@pytest.mark.parametrize(
    ("name", "host", "pid", "rank"),
    [
        ("stack-node-07-1234.txt", "node-07", 1234, None),
        ("node-07/stack_81234.txt", "node-07", 81234, None),
        ("stack_rank3.txt", None, None, 3),
        ("stack-node-07.txt", "node-07", None, None),
    ],
)
def test_the_kernels_stack_is_of_the_process_that_the_file_is_named_after(name, host, pid, rank):
    (event,) = dumps(NFS, name)
    assert (event.host, event.pid, event.rank) == (host, pid, rank)
    assert (event["doing"], event["site"]) == ("storage", "nfs_wait_bit_killable (nfs)")


@pytest.mark.parametrize(
    ("frame", "doing"),
    [
        ("futex_do_wait+0x46/0x90", "lock"),
        ("hrtimer_nanosleep+0x9e/0x110", "sleep"),
        ("os_acquire_rwlock_write+0x35/0x50 [nvidia]", "device"),
        ("cl_sync_io_wait+0x1d/0x90 [obdclass]", "storage"),
        ("request_wait_answer+0x13/0x210 [fuse]", "storage"),
        ("ep_poll+0x2fe/0x3b0", "unknown"),
    ],
)
def test_what_a_process_does_in_the_kernel(frame, doing):
    text = f"[<0>] {frame}\n[<0>] do_syscall_64+0x71/0x280\n"
    assert [event["doing"] for event in dumps(text)] == [doing]
