"""An object store on this machine that writes down what is asked of it.

Run as a program it prints its port and serves until it is ended: ``python -m
tests.ingest.object_store LOG``. What is below ``/locked`` is refused.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

REFUSAL = b"<Error><Code>AccessDenied</Code><Message>signature=s3cret</Message></Error>"


class Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def serve(log: Path) -> None:
    moto = DomainDispatcherApplication(create_backend_app)

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        asked = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE", "-")
        with log.open("a") as file:
            file.write("\t".join(asked) + "\n")
        if environ["PATH_INFO"].startswith("/locked"):
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [] if asked[0] == "HEAD" else [REFUSAL]
        answer: Iterable[bytes] = moto(environ, start)
        return answer

    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    print(server.server_port, flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
