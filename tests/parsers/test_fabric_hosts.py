"""Each port gets its host, however the output of many hosts was gathered in one paste."""

import pytest
from paste import events

PORT = """Infiniband device 'mlx5_{n}' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:a088:c203:00ab:12c0
\tbase lid:\t 0x83
\tsm lid:\t\t 0x1
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 400 Gb/sec (4X NDR)
\tlink_layer:\t InfiniBand

"""
STATUS = PORT.format(n=0) + PORT.format(n=1)
IBSTAT = (
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
)
RULE = "-" * 16


def before_each(prefix, text):
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def woven(*texts):
    return "".join(
        f"{line}\n" for group in zip(*map(str.splitlines, texts), strict=True) for line in group
    )


PDSH = before_each("node17: ", STATUS), before_each("node18: ", STATUS)


@pytest.mark.parametrize(
    "text",
    [
        "".join(PDSH),
        "".join(PDSH).replace(": \n", ":\n"),
        woven(*PDSH),
        f"{RULE}\nnode17\n{RULE}\n{STATUS}{RULE}\nnode18\n{RULE}\n{STATUS}",
        f"{RULE}\nnode[17-18]\n{RULE}\n{STATUS}",
        f"{RULE[1:]}\nnode[17-18] (2)\n{RULE[1:]}\n{STATUS}",
        f"node17 | CHANGED | rc=0 >>\n{STATUS}\nnode18 | SUCCESS | rc=0 >>\n{STATUS}",
        f"=== node17 ===\n{STATUS}=== node18 ===\n{STATUS}",
        f"## node17\n{STATUS}\n## node18:\n{STATUS}",
        f"***** Host: node17 *****\n{STATUS}***** Host: node18 *****\n{STATUS}",
        f"node17:\n{STATUS}\nnode18:\n{STATUS}",
        f"node17\n{STATUS}node18\n{STATUS}",
        f"$ ssh node17 ibstatus\n{STATUS}$ ssh -o ConnectTimeout=5 root@node18 'sudo ibstatus'\n{STATUS}",
        f"root@node17:~# ibstatus\n{STATUS}[admin@node18 ~]$ sudo ibstatus\n{STATUS}",
        f"(base) me@login1:~$ ssh node17 ibstatus\n{STATUS}(base) me@login1:~$ srun -w node18 ibstatus\n{STATUS}",
    ],
    ids=[
        "pdsh", "pdsh without blanks at ends", "pdsh, woven", "dshbak", "dshbak, folded", "clush",
        "ansible", "rules", "marks", "stars", "colon", "alone", "ssh", "prompts", "login",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_ports_of_both_hosts(text, end):
    found = {(one.host, one.nic) for one in events(text.replace("\n", end), "ib.port")}
    assert found == {(host, nic) for host in ("node17", "node18") for nic in ("mlx5_0", "mlx5_1")}


@pytest.mark.parametrize("weave", [woven, lambda *texts: "".join(texts)])
def test_names_that_are_no_clear_hosts(weave):
    text = weave(before_each("cl042: ", STATUS), before_each("lrdn0043: ", STATUS))
    found = {(one.host, one.nic) for one in events(text, "ib.port")}
    assert found == {(host, nic) for host in ("cl042", "lrdn0043") for nic in ("mlx5_0", "mlx5_1")}


def test_names_that_stand_before_few_lines_are_no_hosts():
    text = f"cl042: up\ncl043: up\n{IBSTAT}ens1f0: <UP>\nens2f0: <UP>\n"
    assert [one.host for one in events(text, "ib.port")] == [None]


@pytest.mark.parametrize(("prefix", "rank"), [("[1,3]<stdout>:", 3), ("3: ", 3), ("[rank3]: ", 3)])
def test_launchers_give_the_rank(prefix, rank):
    assert [one.rank for one in events(before_each(prefix, STATUS), "ib.port")] == [rank, rank]


def test_pods():
    text = before_each("[pod/trainer-0/pytorch] ", STATUS)
    assert {one.host for one in events(text, "ib.port")} == {"trainer-0"}
    text = f"$ kubectl exec -it trainer-3 -c main -- ibstat\n{IBSTAT}"
    assert [one.host for one in events(text, "ib.port")] == ["trainer-3"]


def test_folded_output_is_cited_where_it_stands():
    found = events(f"{RULE}\nnode-[07-09]\n{RULE}\n{IBSTAT}", "ib.port")
    assert [(one.host, one.line) for one in found] == [
        ("node-07", 6),
        ("node-08", 6),
        ("node-09", 6),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"root@login1:~# cat node-07/ibstat.log\n{IBSTAT}",
        f"$ ibstat\n{IBSTAT}",
        f"- node-17\n{IBSTAT}",
        f"nodes:\n{IBSTAT}",
        f"--- a/train.py ---\n{IBSTAT}",
    ],
    ids=["a log on a login host", "no host", "an item of a list", "a key", "a file"],
)
def test_no_host_where_none_is_said(text):
    assert [one.host for one in events(text, "ib.port")] == [None]


def test_a_command_holds_until_the_next_prompt():
    text = f"$ ssh node17 ibstat\n{IBSTAT}$ ibstat\n{IBSTAT}"
    assert [one.host for one in events(text, "ib.port")] == ["node17", None]
    text = f"=== node17 ===\n$ ibstat\n{IBSTAT}$ ssh node18 ibstat\n{IBSTAT}$ ibstat\n{IBSTAT}"
    assert [one.host for one in events(text, "ib.port")] == ["node17", "node18", "node17"]


@pytest.mark.parametrize("mark", ["#", "+", "$"])
def test_the_next_command_behind_the_same_mark_ends_it(mark):
    text = f"{mark} ssh node17 ibstat\n# Port counters: none\n{IBSTAT}{mark} ibstat\n{IBSTAT}"
    assert [one.host for one in events(text, "ib.port")] == ["node17", None]


def test_devices_interfaces_and_keys_are_no_hosts():
    text = "mlx5_0: 400 Gb/sec\ndriver: mlx5_core\n5: ens1f0np0: <BROADCAST,UP> mtu 1500\n" + IBSTAT
    assert [one.host for one in events(text, "ib.port")] == [None]
