"""An HTTP proxy before the API server: it sees every request of the operator, and can do to it what networks and
crashes do. Towards the operator it speaks plain HTTP/1.1, with a kubeconfig that says so."""

import http.client
import http.server
import json
import re
import socket
import threading
import time
import urllib.parse

STREAM_TIMEOUT_S = 600
FORBIDDEN = "the rules were changed"


class Seen:
    """One request, as it arrived."""

    def __init__(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        self.method, self.path, self.target = handler.command, url.path, handler.path
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.agent = handler.headers.get("User-Agent", "")
        self.body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.at = time.monotonic()

    @property
    def is_watch(self):
        return "watch" in self.query

    @property
    def is_lease(self):
        return "/leases" in self.path

    @property
    def is_write(self):
        return self.method != "GET" and "dryRun" not in self.query

    def __str__(self):
        named = re.search(rb'"name":"([^"]*)"', self.body)
        return f"{self.method} {self.target}" + (f" ({named[1].decode()})" if named else "")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = None

    def serve(self):
        proxy, seen = self.server.proxy, Seen(self)
        with proxy.changed:
            proxy.seen.append(seen)
            proxy.changed.notify_all()
        try:
            if proxy.rejects(seen):
                self._reject()
            elif proxy.before(seen):
                self._pass_on(proxy, seen)
            else:
                self._hang_up()
        except (OSError, http.client.HTTPException):
            self._hang_up()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def _hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was faster

    def _reject(self):
        """As an API server does whose roles do not allow it."""
        output = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "message": FORBIDDEN, "code": 403}
        data = json.dumps(output).encode()
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _ask(self, proxy, seen):
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() not in ("host", "connection", "content-length", "te", "upgrade", "http2-settings")}
        self.upstream = self.upstream or proxy.connect()
        self.upstream.timeout = STREAM_TIMEOUT_S
        try:
            self.upstream.request(seen.method, seen.target, seen.body or None, headers)
            return self.upstream.getresponse()
        except (OSError, http.client.HTTPException):
            self.upstream.close()
            self.upstream = None
            raise

    def _pass_on(self, proxy, seen):
        response = self._ask(proxy, seen)
        if seen.is_watch and response.status == 410:
            proxy.expired.append(seen)
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date"):
                self.send_header(name, value)
        if seen.is_watch and response.status == 200:
            self._stream(proxy, seen, response)
            return
        data = response.read()
        if not proxy.after(seen):
            self._hang_up()
            return
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, proxy, seen, response):
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with proxy.streaming(self):
            while data := response.read1(65536):
                if b'"code":410' in data:
                    proxy.expired.append(seen)
                if proxy.withholds(seen):
                    continue
                kept = proxy.cut(seen, data)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(kept), kept))
                self.wfile.flush()
                if len(kept) < len(data):
                    self._hang_up()
                    break
            else:
                self.wfile.write(b"0\r\n\r\n")
        self.upstream.close()
        self.upstream = None

    def log_message(self, *args):
        pass


class Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a peer that is killed in the middle is what the tests are about


class ApiProxy:
    def __init__(self, server):
        self._server = server
        self.seen = []
        self.changed = threading.Condition()
        self.rejects = lambda seen: False  # True: it is answered with 403, and goes no further
        self.before = lambda seen: True  # False: the request never arrives
        self.after = lambda seen: True   # False: done, and its answer is lost
        self.withholds = lambda seen: False  # True: what a watch would tell does not arrive, and it stays open
        self._streams = set()
        self.expired = []  # watches that the API server answered with 410
        self._cuts = set()  # parts of paths: watches of them are to be cut in the middle of their next line
        self._http = Http(("127.0.0.1", 0), Handler)
        self._http.proxy = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def connect(self):
        return self._server.connect(self._server.anonymous)

    def streaming(self, handler):
        return Stream(self, handler)

    def streams(self):
        with self.changed:
            return list(self._streams)

    def cut_next(self, part_of_path):
        """The next data of that watch arrives by half."""
        with self.changed:
            self._cuts.add(part_of_path)

    def is_cut(self, part_of_path):
        with self.changed:
            return part_of_path not in self._cuts

    def cut(self, seen, data):
        with self.changed:
            for part in self._cuts:
                if part in seen.path and len(data) > 1:
                    self._cuts.discard(part)
                    return data[: len(data) // 2]
        return data

    def hang_up_streams(self):
        for handler in self.streams():
            handler._hang_up()

    def mark(self):
        """A place in the list of requests."""
        with self.changed:
            return len(self.seen)

    def since(self, mark):
        with self.changed:
            return self.seen[mark:]

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self.hang_up_streams()


class Stream:
    def __init__(self, proxy, handler):
        self._proxy, self._handler = proxy, handler

    def __enter__(self):
        with self._proxy.changed:
            self._proxy._streams.add(self._handler)

    def __exit__(self, *_):
        with self._proxy.changed:
            self._proxy._streams.discard(self._handler)
