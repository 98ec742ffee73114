"""Root causes of failed or slow distributed AI jobs, found in their logs.

``run(["./logs"])`` and ``run_text(snippet)`` return a ``Report``, whose attributes are the keys of
the JSON report::

    import diagnose

    report = diagnose.run(["./logs"])
    for finding in report.findings:
        if finding.role == "root":
            print(finding.title, finding.culprit.hosts)

What can go wrong is a ``DiagnoseError``: a ``UsageError``, ``RuleErrors`` with all mistakes in
rules and playbooks, ``NoInputError``, whose ``report`` says what was tried, or ``ClusterError``.
"""

from typing import TYPE_CHECKING, Any

from diagnose.errors import ClusterError, DiagnoseError, NoInputError, RuleErrors, UsageError
from diagnose.version import VERSION

if TYPE_CHECKING:
    from diagnose.api import Report, run, run_text, scan

__all__ = [
    "VERSION",
    "ClusterError",
    "DiagnoseError",
    "NoInputError",
    "Report",
    "RuleErrors",
    "UsageError",
    "run",
    "run_text",
    "scan",
]


def __getattr__(name: str) -> Any:
    # The scan, Jinja and the parsers load on first use, so that ``diagnose --help`` is quick.
    if name in ("Report", "run", "run_text", "scan"):
        from diagnose import api

        return getattr(api, name)
    raise AttributeError(f"module 'diagnose' has no attribute {name!r}")
