"""`ipu-launch progress` against a server with a certificate of its own."""

import http.server
import json
import os
import socket
import ssl
import subprocess
import threading

import pytest

from waiting import DEADLINE_S

URL, CA, TOKEN = (f"KUBEFLOW_TRAINER_SERVER_{name}" for name in ("URL", "CA_CERT", "TOKEN"))


class Server:
    def __init__(self, folder):
        self.seen, self.status = [], 200
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key", "-out", folder / "ca"],
                       check=True, capture_output=True, timeout=DEADLINE_S)
        (folder / "token").write_text("secret\n")
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.seen.append((self.path, self.headers["Authorization"], json.loads(body)))
                self.send_response(server.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "ca", folder / "key")
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.env = {**os.environ, URL: f"https://localhost:{self.http.server_port}/status", CA: str(folder / "ca"),
                    TOKEN: str(folder / "token")}

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server(tmp_path):
    one = Server(tmp_path)
    yield one
    one.close()


def call(launcher, env, *words):
    done = subprocess.run([launcher, "progress", *words], env=env, capture_output=True, text=True, timeout=DEADLINE_S)
    return done.returncode, done.stderr


def test_a_report_arrives(launcher, server):
    assert call(launcher, server.env, "42", "--eta", "900", "loss=0.23") == (0, "")
    assert server.seen == [("/status", "Bearer secret", {"trainerStatus": {
        "progressPercentage": 42, "estimatedRemainingSeconds": 900, "metrics": [{"name": "loss", "value": "0.23"}]}})]


def test_a_server_that_hangs_up(launcher, server, tmp_path):
    """After its part of the handshake, so that the request has no reader."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca", tmp_path / "key")
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = context.wrap_bio(received, sent, server_side=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        env = {**server.env, URL: f"https://localhost:{listener.getsockname()[1]}/status"}
        client = subprocess.Popen([launcher, "progress", "42"], env=env, stderr=subprocess.PIPE, text=True)
        with listener.accept()[0] as conn:
            received.write(conn.recv(65536))
            with pytest.raises(ssl.SSLWantReadError):
                handshake.do_handshake()
            conn.sendall(sent.read())
        message = client.communicate(timeout=DEADLINE_S)[1]
    assert client.returncode > 0 and message.startswith("ipu-launch: cannot send the report of progress"), message


def test_a_server_that_is_not_trusted_gets_no_token(launcher, server):
    wrong = {**server.env, URL: server.env[URL].replace("localhost", "127.0.0.1")}
    status, message = call(launcher, wrong, "42")
    assert status == 125 and "cannot verify the certificate" in message
    assert not server.seen


@pytest.mark.parametrize("change, message", [
    ({URL: ""}, "KUBEFLOW_TRAINER_SERVER_URL is not set"),
    ({URL: "http://x/"}, "expected https://HOST:PORT/PATH"),
    ({URL: "https://localhost:1/"}, "cannot connect to localhost:1"),
    ({CA: "/none"}, "cannot read the CA in /none"),
    ({TOKEN: "/none"}, "/none"),
])
def test_what_is_missing_is_named(launcher, server, change, message):
    status, printed = call(launcher, {**server.env, **change}, "42")
    assert status == 125 and message in printed


def test_a_rejection_is_an_error(launcher, server):
    server.status = 403
    assert call(launcher, server.env, "42") == (125, "ipu-launch: the operator rejects the report of progress: HTTP 403\n")
