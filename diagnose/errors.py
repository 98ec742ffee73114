"""What can go wrong for a user, each with the exit status it leads to.

::

    DiagnoseError                 exit 2, the base of all of them
    ├── UsageError                the command line or a setting is wrong
    ├── InstallationError         shipped files are missing
    ├── ClusterError              the cluster that should read cannot
    ├── RuleErrors                mistakes in rules, playbooks, a baseline or a topology
    └── NoInputError              exit 3, nothing could be read

``Unreadable`` is not among them: one bad file never ends a run, its reason goes to
``inputs.skipped``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnose.model.report import ReportData


INTERRUPTED = 130
"""Exit status after Ctrl-C."""


class DiagnoseError(Exception):
    """A mistake that the user can mend; the text says how."""

    exit_code = 2


class UsageError(DiagnoseError):
    """The command line or a setting is wrong."""


class InstallationError(DiagnoseError):
    """Files that ship with the program are missing."""


class ClusterError(DiagnoseError):
    """The cluster that should read the logs cannot be reached, or cannot read them."""


class NoInputError(DiagnoseError):
    """Nothing that was named could be read.

    Args:
        message: What was tried and why it failed.
        report: The report that says so; its verdict is ``no-evidence``.
    """

    exit_code = 3

    def __init__(self, message: str, report: "ReportData | None" = None) -> None:
        self.report = report
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a rule, overlay, playbook, baseline or topology file.

    Args:
        file: The file as the user named it.
        line: 1-based, 0 where the whole file is meant.
        column: 1-based, 0 where the whole line is meant.
        message: What was found, what was expected and what to do.
        fatal: False for a warning, which is shown but stops nothing.
    """

    file: str
    line: int
    column: int
    message: str
    fatal: bool = True

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{where}: {'' if self.fatal else 'warning: '}{self.message}"


class MistakeFound(Exception):
    """A file cannot be read at all.

    Args:
        problem: Why, and where.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class RuleErrors(DiagnoseError):
    """Mistakes in rule, overlay, playbook, baseline or topology files, all of them at once.

    Args:
        problems: In order of file and line, at least one.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Unreadable(Exception):
    """One source cannot be read or parsed; the text is the reason shown to the user."""
