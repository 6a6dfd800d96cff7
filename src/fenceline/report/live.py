"""A report that follows a run: a page on this machine alone, drawn anew whenever the run has gone on."""

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from fenceline.errors import FencelineError, StoreError

SECONDS = 1.0
"""How often a run is looked at ..."""
PAUSES = 5
"""... but at most for this share of the time: 1 part drawing to so many parts of rest."""
HEARTBEAT_SECONDS = 10.0
"""How often a browser is told that nothing has happened, so that a connection that is gone is noticed."""
_HOST = "127.0.0.1"


class LiveServer:
    """Serves one page on the loopback address, and tells browsers when it has changed.

    Nothing can be asked of it but the page and its events, and only under the address of this
    machine: a page of somebody else's that has its name resolve to it is refused.

    Parameters
    ----------
    render : callable
        Returns the page as it is now.
    stamp : callable
        Returns something that differs once the page would.
    port : int
        To listen on; 0 for any that is free.
    seconds : float
        How often the stamp is looked at.
    """

    def __init__(
        self,
        render: Callable[[], str],
        stamp: Callable[[], object],
        *,
        port: int = 0,
        seconds: float = SECONDS,
    ) -> None:
        self._render, self._stamp, self._seconds = render, stamp, seconds
        self._lock = threading.Lock()
        self._seen: object = None
        self._page = ""
        self._rest_until = 0.0
        self._closed = threading.Event()
        live = self

        class Handler(_Handler):
            server_of = live

        try:
            self._server = ThreadingHTTPServer((_HOST, port), Handler)
        except (OSError, OverflowError) as problem:
            raise StoreError(
                f"The report cannot be served on port {port} ({problem}); choose another --port, or 0 "
                "for any that is free."
            ) from problem
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{_HOST}:{self._server.server_port}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which a browser may ask."""
        port = self._server.server_port
        return f"{_HOST}:{port}", f"localhost:{port}"

    def serve(self) -> None:
        """Answer until :meth:`close` is called, or Ctrl-C."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """End the server and its connections."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def page(self) -> str:
        """Return the page, drawn anew if the run has gone on and the last drawing has been paid for."""
        with self._lock:
            stamp = self._stamp()
            start = time.monotonic()
            if not self._page or (stamp != self._seen and start >= self._rest_until):
                self._page, self._seen = self._render(), stamp
                now = time.monotonic()
                self._rest_until = now + PAUSES * (now - start)
            return self._page

    def wait(self, seen: object) -> object:
        """Return the stamp once it differs from one that was seen, or after a heartbeat."""
        end = time.monotonic() + HEARTBEAT_SECONDS
        while not self._closed.wait(self._seconds) and time.monotonic() < end:
            if time.monotonic() >= self._rest_until and (stamp := self._stamp()) != seen:
                return stamp
        return seen

    @property
    def closed(self) -> bool:
        """Whether the server has ended."""
        return self._closed.is_set()

    @property
    def now(self) -> object:
        """The stamp of the page that was drawn last."""
        return self._seen


class _Handler(BaseHTTPRequestHandler):
    """Answers for the page and its events, and refuses everything else."""

    server_of: LiveServer

    def do_GET(self) -> None:
        live = self.server_of
        if self.headers.get("Host") not in live.hosts:
            self.send_error(HTTPStatus.FORBIDDEN, "Only this machine may ask")
        elif self.path == "/":
            self._send_page()
        elif self.path == "/events":
            self._send_events()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _send_page(self) -> None:
        try:
            body = self.server_of.page().encode("utf-8", "backslashreplace")
        except FencelineError as problem:  # the run was moved away, say
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "No report", str(problem))
            return
        self._head("text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self) -> None:
        self._head("text/event-stream")
        self.end_headers()
        live = self.server_of
        seen = live.now
        try:
            while not live.closed:
                stamp = live.wait(seen)
                # A comment where nothing has happened.
                self.wfile.write(
                    b": still here\n\n" if stamp == seen else b"event: changed\ndata:\n\n"
                )
                self.wfile.flush()
                seen = stamp
        except OSError:  # the browser has gone
            return

    def _head(self, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal for the run."""
