"""Reading on a cluster, through the scheduler of Dask; the extra ``cluster`` installs that.

The workers open the files themselves: they lie on storage that all machines see under the same
path, or behind URLs. Units, their order and what they give together stay with the client, so the
report is the one that a single machine gives.
"""
