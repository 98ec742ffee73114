"""Log text of large training jobs, from stated facts.

``job`` holds who runs where and by which clock, one module a program its line formats, ``book`` the
entries in time and the files they end up in, ``delivery`` what collectors and people do to files.
The samples, the tests and the speed measurement all write their logs with this. The same facts give
the same bytes.
"""
