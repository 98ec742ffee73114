"""The engines by their names."""

from collections.abc import Callable

from diagnose.errors import UsageError
from diagnose.scanning.engine import Engine
from diagnose.scanning.local import Local


def engine_named(
    name: str, jobs: int | None, scheduler: str | None, warn: Callable[[str], None] | None
) -> Engine:
    """Return the engine of a name.

    Args:
        name: ``local`` or ``dask``.
        jobs: Processes to read with; None takes the cores this process may use.
        scheduler: Of Dask, see ``Dask``.
        warn: Told of what went wrong and was mended.

    Raises:
        UsageError: There is no such engine, or its packages are missing.
    """
    if name == "local":
        return Local(jobs)
    if name != "dask":
        raise UsageError(f"there is no engine {name!r}; there are local and dask")
    try:
        from diagnose.scanning.cluster.engine import Dask
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the engine dask needs a package that is missing ({error}): "
            "pip install 'diagnose-ai[cluster]'"
        ) from error
    return Dask(scheduler, jobs, warn)
