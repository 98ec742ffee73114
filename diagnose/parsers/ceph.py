"""Health of a Ceph cluster: its log, ``ceph health detail`` and ``ceph status``, also as Rook's pods print them.

::

    cluster [WRN] Health check update: 3 slow ops, oldest one blocked for 65 sec, daemons [osd.12,osd.6] have slow ops. (SLOW_OPS)
    mds.cephfs-a(mds.0): 17 slow metadata IOs are blocked > 30 secs, oldest blocked for 3065 secs
    1 full osd(s)

``storage.slow_requests`` has ``count`` of waiting requests, ``seconds`` of the oldest one, ``what`` they are
and, where one is named, ``daemon``. ``storage.full`` has the ``count`` of full OSDs, for which
the cluster refuses every write; ``nearfull`` still writes and is not read. The host that prints it is a monitor
or an administrator's, not the one at fault.

*Empty*: no such line says nothing of the storage. *Cut off*: each message is one line.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern

_SOURCE = "Ceph 14 to 19, src/mon and src/mds"


HEALTH = LineParser(
    name="ceph-health",
    title="Ceph's slow requests and full OSDs",
    patterns=(
        Pattern(
            event="storage.slow_requests",
            regex=r"(?P<count>\d+) (?P<what>slow ops), oldest one blocked for (?P<seconds>\d+) sec(?:, (?P<daemon>\w+\.\w+) has slow ops)?",
            nature=Nature.ERROR,
            source=_SOURCE,
            sample="cluster [WRN] Health check update: 3 slow ops, oldest one blocked for 65 sec, osd.12 has slow ops (SLOW_OPS)",
            types={"count": int, "seconds": float},
        ),
        Pattern(
            event="storage.slow_requests",
            regex=r"(?P<daemon>\bmds\.[\w-]+)\(mds\.\d+\): (?P<count>\d+) (?P<what>slow metadata IOs) are blocked > \d+ secs, oldest blocked for (?P<seconds>\d+) secs",
            nature=Nature.ERROR,
            source=_SOURCE,
            sample="    mds.cephfs-a(mds.0): 17 slow metadata IOs are blocked > 30 secs, oldest blocked for 3065 secs",
            types={"count": int, "seconds": float},
        ),
        Pattern(
            event="storage.full",
            regex=r"\b(?P<count>\d+) full osd\(s\)",
            nature=Nature.ERROR,
            source=_SOURCE,
            sample="HEALTH_ERR 1 full osd(s); 13 pool(s) full",
            types={"count": int},
        ),
    ),
)

PARSERS = (HEALTH,)
