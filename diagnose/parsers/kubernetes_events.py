"""The table of ``kubectl get events``: whom a row is about.

::

    LAST SEEN   TYPE      REASON    OBJECT         MESSAGE
    12m         Warning   Evicted   pod/worker-3   The node was low on resource: memory. ...

With ``-o wide`` the source stands behind the object, ``kubelet, node-07``. The pattern that knows a
message gives the event; this adds the object, where the message does not name it.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.convert import short_host

_ROW = LazyPattern(
    r"^(?:[a-z0-9-]+ +)?(?:<unknown>|\d+[smhdy]\S*(?: \(x\d+ over \S+\))?) +(?:Normal|Warning) +\w+ +(?P<kind>pod|node)/(?P<name>[\w.-]+)(?: +(?:\S+ +)?kubelet, (?P<node>[\w.-]+))?"
)


def name_object(event: Event, line: Line) -> None:
    """Give an event the pod and the node that its row of the table names, in place."""
    row = _ROW.search(line.text)
    if row is None:
        return
    node = row["name"] if row["kind"] == "node" else row["node"]
    if node and event.host in (None, line.host):
        event.host = short_host(node)
    if row["kind"] == "pod" and not event.fields.get("pod"):
        event.fields["pod"] = row["name"]
