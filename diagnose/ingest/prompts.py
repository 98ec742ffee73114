"""Prompts of a shell in a pasted text, and whose machine the command behind one shows.

``root@node17:~# ibstat`` shows node17, ``$ ssh node17 ibstatus`` too, and so does
``kubectl exec trainer-3 -- ibstat`` the pod. ``root@login1:~# cat rank3.log`` shows no machine.
"""

from collections.abc import Iterator

from diagnose.ingest.host import short, states_host
from diagnose.ingest.lazy import LazyPattern

NAME = rb"[A-Za-z0-9][\w.-]{0,100}"
"""What a name of a host looks like, also one that is no clear case."""

PROMPT = LazyPattern(
    rb"\n(?:\([\w.-]{1,60}\) )?(?:\[(?:[\w.-]+@)(" + NAME + rb")[ :][^\]\n]{0,200}\][#$]"
    rb"|[\w.-]{1,60}@(" + NAME + rb"):[^\s#$]{0,200} ?[#$]"
    rb"|(" + NAME + rb")(?::[^\s#$]{0,200})? ?[#$>](?= |\r?\n)"
    rb"|[$#+](?= )) ?([^\n]{0,400})"
)
SENT = LazyPattern(
    rb"^(?:sudo )?(?:ssh (?:-[oplFiJ] \S+ |-\w+ ){0,6}(?:[\w.-]+@)?(" + NAME + rb")"
    rb"|kubectl (?:-n \S+ )?exec (?:-[nc] \S+ |--?[\w=-]+ ){0,4}(" + NAME + rb")(?: -[nc] \S+)? --"
    rb"|srun (?:-\S+ ){0,4}(?:-w ?|--nodelist[= ])(" + NAME + rb")(?: -\S+){0,4}) (.*)$"
)
LOCAL = LazyPattern(
    rb"^[\"']?(?:sudo )?(?:\S*/)?(?:ibstat|ibstatus|ibv_devinfo|ibv_devices|rdma|ip|ethtool|lspci"
    rb"|nvidia-smi|mlxlink|show_gids|show_counters|ibdev2netdev|cma_roce_mode|mlnx_qos|lldpctl"
    rb"|lldpcli|ucx_info|dmesg|journalctl|numactl|lscpu|free|ulimit|df|mstflint"
    rb"|perfquery(?: -[a-zA-Z]+)*\s*$"
    rb"|(?:cat|grep|head|tail) (?:-\S+ ){0,4}(?:\. )?/(?:sys|proc|dev)/\S*)(?![\w-]|\.\w)"
)
"""Commands whose output speaks of the machine they run on, and not of the logs of others."""

WORD = LazyPattern(rb"[a-z./~]")
"""How a command begins, and a comment seldom does."""


def local(line: bytes) -> bool:
    """Return whether a line is a bare prompt and a command that shows the machine it runs on."""
    return line[:2] in (b"$ ", b"# ") and LOCAL.match(line[2:]) is not None


def commands(text: bytes) -> Iterator[tuple[int, str | None]]:
    """Yield the place of the line end before each prompt, and the host that its command shows.

    The host is None where the command shows no machine.

    Args:
        text: Whole lines behind a line end.
    """
    mark = b"$"
    for found in PROMPT.finditer(text):
        command = found[4].strip()
        name = next((one for one in found.groups()[:3] if one), b"").decode()
        if found[3] and not states_host(name):
            continue
        own = text[found.start() + 1 : found.start() + 2]
        bare = not name
        sent = SENT.match(command)
        if sent is not None:
            name, command = next(one for one in sent.groups()[:3] if one).decode(), sent[4]
        if name and LOCAL.match(command):
            mark = own if bare else b"$"
            yield found.start(), short(name)
        elif not bare or own == b"$" or (own == mark and WORD.match(command)):
            # a line with "#" may as well be a comment of the output
            yield found.start(), None
