"""Small logs in which something goes on across any place where one may cut."""

import json

OOM = """[rank{r}]: Traceback (most recent call last):
[rank{r}]:   File "/app/train.py", line 14, in <module>
[rank{r}]:     main()
[rank{r}]:   File "/app/train.py", line 9, in main
[rank{r}]:     loss.backward()
[rank{r}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {r} has a total capacity of 79.11 GiB of which 1.02 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.
"""
NESTED = b"""Traceback (most recent call last):
  File "/app/read.py", line 1, in open
    fetch()
ValueError: one

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/data.py", line 2, in load
    open()
RuntimeError: two
"""
STACKS = b"""Process 4121: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 4121 (active): "MainThread"
    recv (socket.py:100)
    wait (train.py:10)
    <module> (train.py:44)
Thread 4130 (idle): "Thread-1"
    wait (threading.py:324)
    run (tqdm/_monitor.py:60)
"""
KILLED = b"""[ 1234.500000] python invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
[ 1234.500001] CPU: 3 PID: 4121 Comm: python Not tainted 5.15.0 #1
[ 1234.500002] Mem-Info:
[ 1234.500003] Tasks state (memory values in pages):
[ 1234.500004] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[ 1234.500005] [   4121]     0  4121 90000000 80000000   600000        0             0 python
[ 1234.500006] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/,task=python,pid=4121,uid=0
[ 1234.500007] Out of memory: Killed process 4121 (python) total-vm:360000000kB, anon-rss:320000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:600000kB oom_score_adj:0
"""
ADAPTER = b"""CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
\t\tLink layer: InfiniBand
"""
STEPS = b"".join(
    b"2026-01-02 10:00:%02d step %d loss %.3f\n" % (n, n, 3 - n / 50) for n in range(40)
)
BAR = b"".join(
    b"\r %3d%%|##  | %d/90 [00:%02d<01:00, 1.5it/s]" % (n, n, n) for n in range(0, 60, 4)
)
ITERATIONS = b"".join(
    b" [2026-01-14 03:00:%02d] iteration %8d/ 500000 | consumed samples: %12d | elapsed time per"
    b" iteration (ms): %.1f | lm loss: %.6E | loss scale: 1.0 | number of skipped iterations:   0 |"
    b" number of nan iterations:   0 |\n" % (n, n, n * 256, 400 + n % 7, 2.5 + n / 1000)
    for n in range(1, 25)
)
NCCL = b"".join(
    b"node-07:4121:4388 [3] NCCL INFO Channel %02d/0 : 8[0] -> %d[0] [receive] via NET/IB/%d/GDRDMA\n"
    b"node-07:4121:4388 [3] NCCL INFO AllReduce: opCount %x sendbuff 0x7f01 recvbuff 0x7f02 count 1024"
    b" datatype 7 op 0 root 0 comm 0x55d%d [nranks=8] stream 0x56a1\n" % (n, n % 4, n % 3, n, n % 2)
    for n in range(12)
)  # fmt: skip


def oom(rank: int) -> bytes:
    """Return a traceback that ends in a full GPU."""
    return OOM.replace("{r}", str(rank)).encode()


def woven(*texts: bytes) -> bytes:
    """Return texts with a line of each in turn."""
    rows = [text.splitlines(keepends=True) for text in texts]
    longest = max(map(len, rows))
    return b"".join(row[at] for at in range(longest) for row in rows if at < len(row))


def of_runtime(text: bytes) -> bytes:
    """Return a text as a container runtime writes it."""
    lines = text.splitlines(keepends=True)
    return b"".join(
        b"2026-01-14T03:00:%02dZ stderr F " % (n % 60) + one for n, one in enumerate(lines)
    )


def of_docker(text: bytes) -> bytes:
    """Return a text as docker keeps it."""
    lines = text.decode().splitlines(keepends=True)
    return b"".join(
        json.dumps({"log": one, "stream": "stderr", "time": f"2026-01-14T03:00:{n % 60:02d}Z"}).encode()
        + b"\n"
        for n, one in enumerate(lines)
    )  # fmt: skip


def under(host: bytes, text: bytes) -> bytes:
    """Return a text under a heading of ``clush -b``."""
    return b"----------------\n" + host + b"\n----------------\n" + text


TEXTS = {
    "tracebacks": STEPS[:30] + oom(0) + oom(1) + STEPS[-60:],
    "tracebacks of three ranks, line by line": STEPS[:400] + woven(oom(0), oom(1), oom(2)) + STEPS[:30],
    "tracebacks in tracebacks": STEPS[:200] + NESTED * 4 + b"bye\n",
    "two bytes end a line": (STEPS[:200] + woven(oom(0), oom(1)) + NESTED).replace(b"\n", b"\r\n"),
    "redrawn bars": b"start" + BAR + b"\n" + oom(1) + BAR,
    "colour": STEPS[:300].replace(b"step", b"\x1b[1mst\x1b[0mep") + oom(0).replace(b"Err", b"\x1b[31mErr"),
    "a container runtime": of_runtime(STEPS[:200] + oom(0) + NESTED),
    "docker": of_docker(STEPS[:200] + oom(0) + NESTED),
    "letters of several bytes": "10:00:07 Schritt größer … 损失 1.5 ✓\n".encode() * 20 + NESTED,
    "under headings": under(b"node-01", ADAPTER) + under(b"node-[02-03] (2)", ADAPTER) + under(b"node-04", ADAPTER),
    "the kernel": STEPS[:200] + KILLED * 2,
    "NCCL": NCCL + NESTED,
    "iterations": ITERATIONS + NESTED,
    "stacks": STACKS * 3,
    "no end": STEPS + NESTED.rstrip(b"\n"),
    "a long line": STEPS[:200] + b"x" * 3000 + b" CUDA out of memory\n" + NESTED + b"y" * 2000,
    "empty lines": STEPS[:200] + b"\n" * 300 + NESTED + b"\n\n\n",
    "many speak": b"".join(b"%d: 2026-01-02 10:00:%02d step\n" % (n % 8, n) for n in range(60)),
    "records": b"".join(b'{"step": %d, "loss": %.3f}\n' % (n, 3 - n / 50) for n in range(60)),
}  # fmt: skip
