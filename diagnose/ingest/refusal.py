"""Why a store gives nothing, in plain words, from what its library raises.

The libraries are many and none of them is loaded for this: kinds of exception are known by name.
The text of an exception is never used, since it may hold an address with a signature.
"""

from collections.abc import Iterator

from diagnose.errors import Unreadable
from diagnose.ingest.stream import DENIED, MISSING

EXTRA = frozenset({"gcs", "gs", "hf", "http", "https", "s3", "s3a", "sftp", "ssh"})
"""Kinds of address for which the extra brings what is needed."""

UNREACHABLE = (
    "the server cannot be reached from this machine; see to its name, the network and a proxy "
    "(HTTPS_PROXY), or copy the logs to a folder"
)

REASONS = (
    (
        "no valid credentials were found",
        ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError")
        + ("TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError")
        + ("ProfileNotFound", "DefaultCredentialsError", "RefreshError")
        + ("AuthenticationException", "LocalTokenNotFoundError"),
    ),
    ("the host key is not the one that is known", ("BadHostKeyException",)),
    (
        "no connection to the server can be trusted",
        ("SSLError", "ClientConnectorCertificateError", "ClientConnectorSSLError"),
    ),
    (
        "gave no answer in time",
        ("TimeoutError", "ConnectTimeoutError", "ReadTimeoutError", "FSTimeoutError")
        + ("ConnectTimeout", "ReadTimeout"),
    ),
    (
        UNREACHABLE,
        ("ConnectionError", "ClientConnectionError", "EndpointConnectionError", "HTTPClientError")
        + ("NoValidConnectionsError", "ConnectError", "TransportError", "gaierror")
        + ("SSHException",),
    ),
    ("not an address of this kind of store", ("ParamValidationError", "InvalidURL")),
)
"""Kinds of exception of botocore, google-auth, aiohttp, requests, httpx and paramiko."""

STATUSES = {401: DENIED, 403: DENIED, 404: MISSING, 410: MISSING}


class Missing(Unreadable):
    """Nothing is at an address."""


def refusal(error: BaseException, scheme: str) -> Unreadable:
    """Return in plain words why a store gives nothing.

    Args:
        error: What its library raised.
        scheme: Of the address, such as ``s3``.
    """
    if isinstance(error, Unreadable):
        return error
    if isinstance(error, ImportError):
        if scheme.lower() in EXTRA:
            return Unreadable(f"to read {scheme}:// run pip install 'diagnose-ai[remote]'")
        return Unreadable(f"to read {scheme}:// fsspec needs a package that is not installed")
    for one in _from_the_first(error):
        reason = _reason(one)
        if reason is not None:
            return Missing(reason) if reason == MISSING else Unreadable(reason)
    if isinstance(error, ValueError) and "Protocol not known" in str(error):
        return Unreadable(f"{scheme}:// is no kind of address that can be read")
    return Unreadable(f"cannot be read ({type(error).__name__})")


def _from_the_first(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception behind those that led to it."""
    if error.__cause__ is not None:
        yield from _from_the_first(error.__cause__)
    yield error


def _reason(error: BaseException) -> str | None:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    for reason, names in REASONS:
        if not kinds.isdisjoint(names):
            return reason
    status = _status(error)
    if status is not None:
        return STATUSES.get(status, f"the server answered with status {status}")
    if isinstance(error, PermissionError):
        return DENIED
    if isinstance(error, FileNotFoundError):
        return MISSING
    return None


def _status(error: BaseException) -> int | None:
    """Return the status of HTTP that an exception tells of."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        response = response.get("ResponseMetadata", {})
        status = response.get("HTTPStatusCode")
    else:
        status = getattr(response, "status_code", None)
    for name in ("status", "code"):
        status = getattr(error, name, None) if status is None else status
    return status if isinstance(status, int) and 400 <= status < 600 else None
