"""Addresses such as ``s3://bucket/run-17``, told from paths of this machine."""

import re

from diagnose.ingest.lazy import LazyPattern

ADDRESS = LazyPattern(r"[A-Za-z][A-Za-z0-9+.-]*://")

WEB = LazyPattern(r"https?://", re.IGNORECASE)


def shown(path: str) -> str:
    """Return a path as it may be printed: an address without what gives access to it.

    That is a user with a password before the host, and in the web what is asked behind the path,
    since it may be a signature.
    """
    if not ADDRESS.match(path):
        return path
    if WEB.match(path):
        path = re.split("[?#]", path, maxsplit=1)[0]
    return re.sub("(?<=://)[^/]*@", "", path)
