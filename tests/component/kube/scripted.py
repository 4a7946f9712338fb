"""An HTTP server on loopback that answers each request by the next step of a script: for what a real API server does
not do on demand. A step is a function of an Exchange; after the last one, requests are held open in silence."""

import collections
import http.server
import json
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

DEADLINE = 60


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, handler):
        self._handler = handler
        url = urllib.parse.urlsplit(handler.path)
        self.method = handler.command
        self.raw_path = url.path
        self.path = urllib.parse.unquote(url.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.headers = handler.headers
        self.at = time.monotonic()
        length = int(handler.headers.get("Content-Length") or 0)
        self.body = handler.rfile.read(length)

    def reply(self, status, body, headers=(), content_type="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", content_type)
        self._handler.send_header("Content-Length", str(len(data)))
        for name, value in dict(headers).items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def status(self, code, reason="", message="", headers=(), **details):
        body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
        self.reply(code, body, headers)

    def stream(self):
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        return self

    def raw(self, data):
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self._handler.wfile.flush()
        return self

    def flood(self, text):
        """The same chunk without an end, by another process: many threads of this one would wait for its interpreter."""
        subprocess.run(["yes", f"{len(text):x}\r\n{text}\r"], stdout=self._handler.connection, stderr=subprocess.DEVNULL, check=False)

    def event(self, kind, obj):
        return self.raw(json.dumps({"type": kind, "object": obj}).encode() + b"\n")

    def end(self):
        """The normal end of a watch."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def cut(self):
        """The connection breaks."""
        self._handler.close_connection = True
        self._handler.connection.shutdown(socket.SHUT_RDWR)

    def leave(self):
        """The connection ends after the answer, which did not say so."""
        self._handler.close_connection = True

    def hold(self):
        """Silence until the peer hangs up or the test ends."""
        self._handler.close_connection = True
        self._handler.connection.settimeout(DEADLINE)
        try:
            while self._handler.connection.recv(1024):
                pass
        except OSError:
            pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes

    def serve(self):
        exchange = Exchange(self)
        try:
            self.server.script.take(exchange)(exchange)
        except OSError:
            self.close_connection = True

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + self.server.script.clock_ahead_s)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def log_message(self, *args):
        pass


class Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a peer that hangs up in the middle is what many of the tests are about


class ScriptedServer:
    def __init__(self, port=0, certificate=None):
        """`certificate`: a file with a key and its certificate, for TLS."""
        self.seen, self.clock_ahead_s = [], 0
        self._steps = collections.deque()
        self._last = Exchange.hold
        self._changed = threading.Condition()
        self._http = Http(("127.0.0.1", port), Handler)
        self._http.script = self
        self.port = self._http.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def script(self, *steps):
        with self._changed:
            self._steps.extend(steps)

    def always(self, step):
        """What requests get when the script is over; silence otherwise."""
        self._last = step

    def take(self, exchange):
        with self._changed:
            self.seen.append(exchange)
            self._changed.notify_all()
            return self._steps.popleft() if self._steps else self._last

    def wait_for(self, count):
        """The request number `count`, counted from one."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.seen) >= count, DEADLINE), f"{len(self.seen)} requests"
            return self.seen[count - 1]

    def close(self):
        self._http.shutdown()
        self._http.server_close()


def kubeconfig_for(server, folder, user="token: first", ca=None):
    path = folder / "kubeconfig"
    port = server if isinstance(server, int) else server.port
    where = f'server: "https://127.0.0.1:{port}", certificate-authority: "{ca}"' if ca else f'server: "http://127.0.0.1:{port}"'
    path.write_text(
        f"""\
current-context: t
contexts: [{{name: t, context: {{cluster: t, user: t}}}}]
clusters: [{{name: t, cluster: {{{where}}}}}]
users: [{{name: t, user: {{{user}}}}}]
"""
    )
    return str(path)


def config_map(name, version, value="x", uid=None):
    return {
        "kind": "ConfigMap",
        "metadata": {"namespace": "n", "name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)},
        "data": {"v": value},
    }


def bookmark(version, end=False):
    metadata = {"resourceVersion": str(version)}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": "ConfigMap", "metadata": metadata}


def page(version, items, more=""):
    return {
        "kind": "ConfigMapList",
        "metadata": {"resourceVersion": str(version), "continue": more},
        "items": [{k: v for k, v in item.items() if k != "kind"} for item in items],
    }
